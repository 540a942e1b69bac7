"""Garbage collection in a process that holds a team's state: large, long-lived, and without cycles.

By default it walks the whole state again and again: a sixth of an engine's time, and in a dashboard pauses of 200 ms. A
program that embeds the engine keeps its own settings.
"""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_NEW_OBJECTS, _YOUNG, _OLD = 20_000, 20, 100


def collect_rarely() -> None:
    """Freeze existing objects and raise the collection thresholds; for the whole process."""
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS, _YOUNG, _OLD)


@contextmanager
def paused() -> Iterator[None]:
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


_lock = threading.Lock()
_pauses = 0
"""How many ask for it at the moment; 0 where a program has turned the collector off by itself."""
