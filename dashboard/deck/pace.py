"""When the app folds and when it redraws: the answer to a key comes before either.

A key passes through several queues of the event loop before it is drawn: folding, and a redraw that has begun, give way
to it within a few milliseconds, and so does the thread that decodes events; a redraw of everything waits for longer.
"""

import asyncio
import time
from collections.abc import Callable

from dashboard.reading.feed import Feed
from engine.platform.garbage import collect_young

FLUSH_S = 0.1
"""How often arrived events are folded, in seconds; after a silence they are shown at once."""
LOOK_S = 0.2
"""Shortest time between two redraws under load, in seconds: a redraw costs as much as folding 500 events."""
SLICE_S, CATCHING_UP_S = 0.03, 0.05
"""Longest time of a flush that goes into folding: in general, and while the file is being read from far behind."""
CATCH_UP_MIN_EVENTS = 5_000
STEP_S = 0.002
"""Longest time for which folding keeps the event loop, in seconds."""
KEY_S, STARVED_S = 0.1, 1.5
"""How long a redraw waits after a key, and the longest time between two redraws however many keys come, in seconds."""
PAINT_S = 1 / 120
"""Shortest time between two frames of one key that are painted at once, in seconds."""
ANSWER_S = 0.02
"""How long everything else waits for the frame of a key, in seconds: a key that changes nothing has none."""


class Pace:
    """What was done last, and when."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._looked_s = 0.0
        self._pressed_s = self._painted_s = -KEY_S

    def note_key(self) -> None:
        """Note that a key or a button of the mouse was pressed; any thread."""
        self._pressed_s = self._clock()

    def note_redraw(self) -> None:
        """Note that everything is being redrawn."""
        self._looked_s = self._clock()

    @property
    def key_is_first(self) -> bool:
        """Whether a redraw would hold up the answer to a key."""
        now_s = self._clock()
        return now_s - self._pressed_s < KEY_S and now_s - self._looked_s < STARVED_S

    @property
    def is_answering(self) -> bool:
        """Whether a key has come that has no frame yet; any thread."""
        return self._pressed_s > self._painted_s and self._clock() - self._pressed_s < ANSWER_S

    async def give_way(self) -> None:
        """Let other tasks run, and a key that has come be answered."""
        await asyncio.sleep(0)
        for _ in range(round(ANSWER_S / STEP_S)):
            if not self.is_answering:
                break
            await asyncio.sleep(STEP_S)

    def should_paint(self) -> bool:
        """Return whether a frame is painted at once, because it answers a key, and note it."""
        now_s = self._clock()
        # A frame of before, painted when the key had just come, must not keep its own waiting for Textual's timer.
        is_next = self._pressed_s > self._painted_s or now_s - self._painted_s >= PAINT_S
        answers = is_next and now_s - self._pressed_s < KEY_S
        if answers:
            self._painted_s = now_s
        return answers

    @property
    def should_redraw(self) -> bool:
        """Whether the last redraw is long enough ago for another one."""
        return self._clock() - self._looked_s >= LOOK_S

    async def fold(self, feed: Feed) -> bool:
        """Fold what has arrived, in steps between which other tasks run; return whether the state changed."""
        await self.give_way()
        changed = False
        until_s = self._clock() + (CATCHING_UP_S if feed.behind > CATCH_UP_MIN_EVENTS else SLICE_S)
        while self._clock() < until_s and feed.advance(STEP_S):
            changed = True
            await self.give_way()
            collect_young()  # after each step, so that none takes long
            await self.give_way()
        return changed
