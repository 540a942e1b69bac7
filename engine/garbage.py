"""The garbage collector of a process of our own that holds a team's state: large, long-lived, and without cycles.

Left as it is, it walks the whole state again and again: a sixth of an engine's time, and in a dashboard pauses of
200 ms. A program that merely uses the engine keeps its own settings.
"""

import gc

_NEW_OBJECTS, _YOUNG, _OLD = 20_000, 20, 100


def collect_rarely() -> None:
    """Leave out of every collection what there is by now, and look at what is new less often; for a whole process."""
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS, _YOUNG, _OLD)
