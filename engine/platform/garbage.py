"""Memory of a process that holds a team's state: large, long-lived, and without cycles.

By default garbage collection walks the whole state again and again: a sixth of an engine's time, and in a dashboard
pauses of 200 ms. A program that embeds the engine keeps its own settings.
"""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_NEW_OBJECTS, _YOUNG, _OLD = 20_000, 20, 100
_MIN_NEW_OBJECTS = 1_000
"""New objects that are looked through in half a millisecond."""
_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8
"""From `malloc.h` of glibc."""


def collect_rarely(*, is_told: bool = False) -> None:
    """Freeze existing objects and raise the collection thresholds; for the whole process.

    Where the program tells when to collect (`is_told`), only a heap of new objects is ever looked through unasked.
    """
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS, _NEVER if is_told else _YOUNG, _OLD)


def collect_young() -> None:
    """Look through what is new where there is some of it: now, so that no collection falls into what is urgent."""
    if gc.isenabled() and gc.get_count()[0] >= _MIN_NEW_OBJECTS:
        gc.collect(0)


def collect_all() -> None:
    """Collect what is garbage, and give back to the system what is free between blocks in use; 50 ms in a dashboard.

    glibc by itself gives back only what is free at the end of its heap: 13 MB stayed after a run of 25,000 tasks.
    """
    import ctypes

    gc.collect()
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


def keep_memory_small() -> None:
    """Have the C library share what is free among threads, and give large blocks back; for the whole process.

    glibc otherwise has a heap for each thread: what one of them read and freed no other can use, 5 to 6 MB in a
    dashboard. And it raises the bound from which on freed blocks go back to the system to the largest that was freed,
    such as the text of a snapshot, and keeps what is smaller: 10 MB for a large team. Other C libraries do neither.
    """
    import ctypes  # 2 ms, which other readers of this module need not pay

    with suppress(AttributeError, OSError):  # the second where nothing can be loaded, as in a static build
        tune = ctypes.CDLL(None).mallopt
        tune(_M_ARENA_MAX, 1)
        tune(_M_MMAP_THRESHOLD, 128 * 1024)


@contextmanager
def collection_paused() -> Iterator[None]:
    """Collect nothing while a state is built: all of it is new, and none of it garbage. Any thread."""
    global _pauses  # the collector is one for the process
    with _lock:
        if gc.isenabled():
            gc.disable()
            _pauses = 1
        elif _pauses:
            _pauses += 1
    try:
        yield
    finally:
        with _lock:
            if _pauses:
                _pauses -= 1
                if not _pauses:
                    gc.enable()


@contextmanager
def importing_package() -> Iterator[None]:
    """Let no full collection fall into the import of a large package, nor walk through what it made later. Any thread.

    A full collection holds the interpreter, and with it the event loop: 80 ms in the first import of `mcp`. What an
    import makes lives as long as the program, so that it is frozen; so is everything else that lives by then.
    """
    global _imports, _full_after
    with _lock:
        young, middle, full = gc.get_threshold()
        if not _imports:
            _full_after = full
        _imports += 1
        gc.set_threshold(young, middle, _NEVER)
    try:
        yield
    finally:
        with _lock:
            _imports -= 1
            if not _imports:
                gc.freeze()
                young, middle, _ = gc.get_threshold()
                gc.set_threshold(young, middle, _full_after)


_lock = threading.Lock()
_NEVER = 1_000_000_000
_imports = _full_after = 0
"""How many packages are imported at the moment, and the threshold of full collections before."""
_pauses = 0
"""How many ask for it at the moment; 0 where a program has turned the collector off by itself."""
