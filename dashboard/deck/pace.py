"""Decides when the app folds and when it redraws; the answer to a key takes precedence over both.

A key passes through several queues of the event loop before it is drawn. Folding, a redraw that has begun and the
thread that decodes events yield to it within a few milliseconds; a new redraw waits for longer.
"""

import asyncio
import time
from collections.abc import Callable

from dashboard.reading.feed import Feed
from engine.platform.garbage import collect_young

FLUSH_S = 0.1
"""Interval of folding, in seconds; after a pause events are folded at once."""
REDRAW_S = 0.2
"""Minimum time between two redraws under load, in seconds: a redraw costs as much as folding 500 events."""
SLICE_S, CATCHING_UP_S = 0.03, 0.05
"""Maximum time that a flush folds, in seconds: usually, and while more than `CATCH_UP_MIN_EVENTS` are missing."""
CATCH_UP_MIN_EVENTS = 5_000
STEP_S = 0.002
"""Maximum time that folding blocks the event loop, in seconds."""
KEY_S, STARVED_S = 0.1, 1.5
"""How long a redraw waits after a key, and the maximum time between two redraws during steady typing, in seconds."""
PAINT_S = 1 / 120
"""Minimum time between two immediate frames of one key, in seconds."""
ANSWER_S = 0.02
"""How long other work waits for the frame of a key, in seconds: a key that changes nothing has no frame."""


class Pace:
    """Records the times of the last key, frame and redraw, and schedules by them."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._redrawn_s = 0.0
        self._pressed_s = self._painted_s = -KEY_S

    def note_key(self) -> None:
        """Record a press of a key or mouse button; thread-safe."""
        self._pressed_s = self._clock()

    def note_redraw(self) -> None:
        self._redrawn_s = self._clock()

    @property
    def key_is_first(self) -> bool:
        """Whether a redraw would delay the answer to a key."""
        now_s = self._clock()
        return now_s - self._pressed_s < KEY_S and now_s - self._redrawn_s < STARVED_S

    @property
    def is_answering(self) -> bool:
        """Whether a key was pressed that has no frame yet; thread-safe."""
        return self._pressed_s > self._painted_s and self._clock() - self._pressed_s < ANSWER_S

    async def give_way(self) -> None:
        """Let other tasks run until a pressed key is answered, for at most `ANSWER_S`."""
        await asyncio.sleep(0)
        for _ in range(round(ANSWER_S / STEP_S)):
            if not self.is_answering:
                break
            await asyncio.sleep(STEP_S)

    def should_paint(self) -> bool:
        """Return whether to paint a frame at once, as the answer to a key; True counts as painted."""
        now_s = self._clock()
        # An older frame, painted just after the key arrived, must not delay the frame of the key.
        is_next = self._pressed_s > self._painted_s or now_s - self._painted_s >= PAINT_S
        answers = is_next and now_s - self._pressed_s < KEY_S
        if answers:
            self._painted_s = now_s
        return answers

    @property
    def should_redraw(self) -> bool:
        """Whether `LOOK_S` has passed since the last redraw."""
        return self._clock() - self._redrawn_s >= REDRAW_S

    async def fold(self, feed: Feed) -> bool:
        """Fold arrived events in steps, with other tasks in between; return whether the state changed."""
        await self.give_way()
        changed = False
        until_s = self._clock() + (CATCHING_UP_S if feed.behind > CATCH_UP_MIN_EVENTS else SLICE_S)
        while self._clock() < until_s and feed.advance(STEP_S):
            changed = True
            await self.give_way()
            collect_young()  # after each step, so that no collection takes long
            await self.give_way()
        return changed
