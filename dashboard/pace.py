"""When the app folds and when it redraws: the answer to a key comes before either.

A key passes through several queues of the event loop before it is drawn: folding gives way to it after a few
milliseconds, and a redraw of everything waits until it is on the screen.
"""

import asyncio
import time
from collections.abc import Callable

from dashboard.feed import Feed

FLUSH_S = 0.1
"""How often arrived events are folded, in seconds; after a silence they are shown at once."""
LOOK_S = 0.2
"""Shortest time between two redraws under load, in seconds: a redraw costs as much as folding 500 events."""
SLICE_S, CATCHING_UP_S = 0.015, 0.05
"""Longest time of a flush that goes into folding: in general, and while the file is being read from far behind."""
FAR_BEHIND = 5_000
STEP_S = 0.002
"""Longest time for which folding keeps the event loop, in seconds."""
KEY_S, STARVED_S = 0.1, 1.5
"""How long a redraw waits after a key, and the longest time between two redraws however many keys come, in seconds."""
PAINT_S = 1 / 120
"""Shortest time between two frames that are painted at once, in seconds."""


class Pace:
    """What was done last, and when."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._looked_s = 0.0
        self._pressed_s = self._painted_s = -KEY_S

    def pressed(self) -> None:
        """Note that a key or a button of the mouse was pressed; any thread."""
        self._pressed_s = self._clock()

    def looked(self) -> None:
        """Note that everything is being redrawn."""
        self._looked_s = self._clock()

    @property
    def key_is_first(self) -> bool:
        """Whether a redraw would hold up the answer to a key."""
        now_s = self._clock()
        return now_s - self._pressed_s < KEY_S and now_s - self._looked_s < STARVED_S

    def may_paint(self) -> bool:
        """Return whether a frame is painted at once, because it answers a key, and note it."""
        now_s = self._clock()
        answers = now_s - self._pressed_s < KEY_S and now_s - self._painted_s >= PAINT_S
        if answers:
            self._painted_s = now_s
        return answers

    @property
    def may_look(self) -> bool:
        """Whether the last redraw is long enough ago for another one."""
        return self._clock() - self._looked_s >= LOOK_S

    async def fold(self, feed: Feed) -> bool:
        """Fold what has arrived, in steps between which other tasks run; return whether the state changed."""
        began_s, changed = self._clock(), False
        until_s = began_s + (CATCHING_UP_S if feed.behind > FAR_BEHIND else SLICE_S)
        while self._pressed_s < began_s and self._clock() < until_s and feed.advance(STEP_S):
            changed = True
            await asyncio.sleep(0)
        return changed
