"""The operator's position in the history of the file: its newest event, or a moment of the past.

Rule: only the drawing thread uses it; `Past` builds past states in a thread of its own. Until the first of them has
arrived, the newest event stays visible.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from dashboard.views.past import PastMoment
from engine.core.state import State

if TYPE_CHECKING:
    from dashboard.reading.past import Past

FASTEST = 64
GAP_MS = 1_000
"""While playing, a gap without events is skipped after this wall-clock time, in milliseconds."""
STEP_MS = 50
"""While playing, the minimum wall-clock time between two moments, in milliseconds: each arrival requests the next
moment, which would otherwise keep a processor busy."""


class Playback:
    """The current position, and playing from there."""

    def __init__(
        self, path: Path, *, on_ready: Callable[[], object], check_same_file: Callable[[], None] = lambda: None
    ) -> None:
        """Show the newest event of `path`.

        Args:
            on_ready: Called in another thread when `advance` has work.
            check_same_file: As in `Past`.
        """
        self._path, self._on_ready, self._check_same_file = path, on_ready, check_same_file
        self._past: Past | None = None
        self._arrived = False
        self._speed, self._chosen_speed = 0, 1
        self._at_ms: int | None = None
        """Requested time, or the time while playing; None if an event was requested."""
        self._played_ms = 0
        """Wall-clock time at which the moment that is played was requested; 0 before the first."""
        self._changed_ms = 0
        """Wall-clock time at which another moment arrived."""
        self._before_seq = 0
        """Seq shown when the last moment was requested."""
        self._fallback: Callable[[], None] | None = None
        """Called if the requested moment is already shown."""
        self._live_seq = 0

    @property
    def past(self) -> "Past | None":
        """The past moment that is shown; None for the newest event."""
        return self._past if self._arrived else None

    @property
    def busy(self) -> bool:
        """True while a requested moment is not shown yet."""
        return self._past is not None and (self._past.busy or not self._arrived)

    @property
    def trouble(self) -> str | None:
        """Why the last requested moment cannot be shown."""
        return self._past.trouble if self._past is not None else None

    def moment(self, live_seq: int, now_ms: int) -> PastMoment | None:
        """Return the moment that is shown; None for the newest event."""
        if (past := self.past) is None:
            return None
        at_ms = max(past.state.at_ms, self._at_ms or 0)
        return PastMoment(past.state.seq, at_ms, live_seq, now_ms, speed=self._speed)

    def to_seq(self, seq: int) -> None:
        """Show the moment after an event."""
        self._reset()
        self._open_past().to_seq(seq)

    def to_time(self, at_ms: int) -> None:
        """Show a time, in UTC milliseconds."""
        self._reset(at_ms)
        self._open_past().to_time(at_ms)

    def by_events(self, by: int) -> None:
        """Go `by` events forward, or back if negative."""
        self._reset()
        self._open_past().by_events(by)

    def by_time(self, by_ms: int, now_ms: int) -> None:
        """Go forward in time, or back if negative, up to `now_ms`; forward at least to the next event."""
        past = self._open_past()
        at_ms = min((self._at_ms if self._at_ms is not None else past.state.at_ms) + by_ms, now_ms)
        self._reset(at_ms)
        if by_ms > 0:
            self._fallback = self._to_next
        past.to_time(at_ms)

    def _to_next(self) -> None:
        """Go to the next event, unless the newest one is shown."""
        if self._open_past().state.seq < self._live_seq:
            self.by_events(1)

    def to_mark(self, by: int, fallback: Callable[[], None]) -> None:
        """Go to the next mark, or to the previous one if `by` is negative; call `fallback` if there is none."""
        self._reset()
        self._fallback = fallback
        self._open_past().to_mark(by)

    def begin(self, live: State, now_ms: int) -> None:
        """Start time travel at the present moment, unless a past moment is shown."""
        if self._past is None:
            self._open_past().to_seq(live.seq)
            self._at_ms, self._before_seq = now_ms, live.seq

    def toggle(self) -> None:
        """Play, or stop playing."""
        if self._speed:
            self._reset()
        else:
            self._speed, self._played_ms = self._chosen_speed, 0
            self._at_ms = max(self._open_past().state.at_ms, self._at_ms or 0)

    def change_speed(self, by: int) -> int:
        """Double the speed, or halve it if `by` is negative; return the speed."""
        self._chosen_speed = min(FASTEST, self._chosen_speed * 2) if by > 0 else max(1, self._chosen_speed // 2)
        if self._speed:
            self._speed = self._chosen_speed
        return self._chosen_speed

    def leave(self) -> None:
        """Show the newest event again."""
        if self._past is not None:
            self._past.stop()
        self._past, self._arrived, self._fallback = None, False, None
        self._reset()

    def advance(self, wall_ms: int, live_seq: int) -> bool:
        """Take over arrived moments, and continue playing.

        Returns:
            True if another moment is shown.
        """
        past, self._live_seq = self._past, live_seq
        if past is None:
            return False
        changed = past.advance()
        self._arrived |= changed
        if changed:
            self._changed_ms = wall_ms
        if self._fallback is not None and not past.busy:
            fallback, self._fallback = self._fallback, None
            if past.state.seq == self._before_seq:
                fallback()
        if self._speed and not past.busy:
            self._play_on(past, wall_ms)
            if past.state.seq >= live_seq:
                self.leave()
                return True
        return changed

    def _play_on(self, past: "Past", wall_ms: int) -> None:
        passed_ms = max(0, wall_ms - self._played_ms) if self._played_ms else 0
        if self._played_ms <= wall_ms < self._played_ms + STEP_MS:
            return
        self._played_ms = wall_ms
        self._at_ms = max(self._at_ms or 0, past.state.at_ms) + passed_ms * self._speed
        if 0 <= wall_ms - self._changed_ms < GAP_MS:
            past.to_time(self._at_ms)
        else:
            self._changed_ms = wall_ms  # the time of the next event becomes the current time
            past.by_events(1)

    def _reset(self, at_ms: int | None = None) -> None:
        """Stop playing, at a requested time, and note which event is shown."""
        self._speed, self._at_ms = 0, at_ms
        self._fallback = None
        if (past := self.past) is not None:
            self._before_seq = past.state.seq

    def _open_past(self) -> "Past":
        if self._past is None:
            from dashboard.reading.past import Past  # needed only for the past

            self._past = Past(self._path, ready=self._on_ready, check_same_file=self._check_same_file)
            self._past.start()
        return self._past
