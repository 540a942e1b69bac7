"""Garbage collection and memory of a process with a team's state, which is large, long-lived and free of cycles.

By default the collector scans the whole state again and again: a sixth of an engine's time, and in a dashboard pauses
of 200 ms. A program that embeds the engine keeps its own settings.
"""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

_NEW_OBJECTS, _YOUNG, _OLD = 20_000, 20, 100
"""Thresholds of the three generations of the collector, as `gc.set_threshold` takes them."""
_NEVER = 1_000_000_000
_MIN_NEW_OBJECTS = 1_000
"""Fewer new objects are not worth a collection; these take half a millisecond."""
_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8
"""From `malloc.h` of glibc."""


def collect_rarely(*, is_manual: bool = False) -> None:
    """Freeze existing objects and raise the collection thresholds; for the whole process.

    Args:
        is_manual: The program calls `collect_young` and `collect_all` itself; only new objects are collected
            automatically.
    """
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS, _NEVER if is_manual else _YOUNG, _OLD)


def collect_young() -> None:
    """Collect new objects if there are enough of them; call it when idle, so that no collection delays urgent work."""
    if gc.isenabled() and gc.get_count()[0] >= _MIN_NEW_OBJECTS:
        gc.collect(0)


def collect_all() -> None:
    """Run a full collection, and return free memory to the system, also between blocks in use; 50 ms in a dashboard.

    By default glibc returns only the free end of its heap: 13 MB stayed after a run of 25,000 tasks.
    """
    gc.collect()
    with suppress(AttributeError, OSError):
        _c_library().malloc_trim(0)


def keep_memory_small() -> None:
    """Make glibc share one heap among threads, and return large freed blocks to the system; for the whole process.

    By default glibc has a heap for each thread, whose free memory no other thread can use: 5 to 6 MB in a dashboard. It
    also raises the size from which freed blocks are returned to that of the largest freed block, such as the text of a
    snapshot, and keeps smaller ones: 10 MB for a large team. Other C libraries do neither.
    """
    with suppress(AttributeError, OSError):  # OSError in a static build, which cannot load libraries
        tune = _c_library().mallopt
        tune(_M_ARENA_MAX, 1)
        tune(_M_MMAP_THRESHOLD, 128 * 1024)


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pause collection while a state is built, since its new objects are not garbage; from any thread."""
    global _pauses  # the process has one collector
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
    """Prevent full collections during the import of a large package, and freeze its objects; from any thread.

    A full collection blocks the interpreter, and with it the event loop: 80 ms in the first import of `mcp`. Imported
    objects live as long as the program, so they are frozen, with all others that exist by then.
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
_imports = _full_after = 0
"""Number of imports under way, and the threshold of full collections before them."""
_pauses = 0
"""Number of open pauses; stays 0 if the program itself has disabled the collector."""


def _c_library() -> Any:
    from ctypes import CDLL  # 2 ms

    return CDLL(None)
