"""Time travel: the moment of the file that every screen shows."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from dashboard.deck.messages import Messages
from dashboard.deck.playback import Playback
from dashboard.reading.feed import Feed
from dashboard.views.past import ALREADY_LIVE, CAUGHT_UP, no_mark_message
from dashboard.views.view_state import ViewState
from dashboard.views.words.keyed import fill_keys

MINUTE_MS = 60_000


class TimeTravel:
    """The newest event of a file, or a moment of its past.

    Args:
        view: Returns the team as of the last redraw.
        flush: Redraws the screens.
        flush_later: Redraws the screens soon; thread-safe.
    """

    def __init__(
        self,
        path: Path,
        feed: Feed,
        messages: Messages,
        *,
        view: Callable[[], ViewState],
        flush: Callable[[], None],
        flush_later: Callable[[], object],
    ) -> None:
        self._feed, self._messages, self._view, self._flush = feed, messages, view, flush
        self.playback = Playback(path, on_ready=flush_later, check_same_file=feed.check_same_file)
        self._reported_trouble: str | None = None

    @property
    def is_shown(self) -> bool:
        """Whether a moment of the past is shown; nothing can be changed there."""
        return self.playback.past is not None

    def goto_seq(self, seq: int) -> None:
        """Show every screen as of an event."""
        self.playback.to_seq(seq)

    def goto_time(self, at_ms: int) -> None:
        """Show every screen as of a time, in UTC milliseconds, at most the present."""
        self.playback.to_time(min(at_ms, self._view().present_ms))

    def goto_mark(self, by: int) -> None:
        """Show the next swap, switch, failure or question, or the previous one if `by` is negative."""
        if self._begin_travel(by):
            self.playback.to_mark(by, partial(self._messages.say, no_mark_message(by), "muted"))

    def step_events(self, by: int) -> None:
        """Go `by` events forward, or back if negative."""
        if self._begin_travel(by):
            self.playback.by_events(by)

    def step_time(self, by_ms: int) -> None:
        """Go forward in time, or back if negative."""
        if self._begin_travel(by_ms):
            self.playback.by_time(by_ms, self._view().present_ms)

    def freeze(self) -> None:
        """Freeze at the current moment; if frozen already, go back to live."""
        past = self._view().past
        playing = past is not None and bool(past.speed)
        if self.is_shown and not playing:
            self.live()
        elif self.is_shown:
            self.playback.toggle()
            self._flush()
        else:
            self.playback.begin(self._feed.state, self._view().present_ms)

    def play(self) -> None:
        if self._begin_travel(1):
            self.playback.toggle()
            self._flush()

    def play_faster(self, by: int) -> None:
        """Double the speed, or halve it if `by` is negative."""
        if self._begin_travel(1):
            self._messages.say(f"plays at ×{self.playback.change_speed(by)}", "muted")
            self._flush()

    def live(self) -> None:
        """Show the newest event again."""
        if self.is_shown:
            self.playback.leave()
            self._flush()
        else:
            self._messages.say(fill_keys(ALREADY_LIVE), "muted")

    def _begin_travel(self, by: int) -> bool:
        if not self.is_shown and by > 0:
            self._messages.say(fill_keys(ALREADY_LIVE), "muted")
            return False
        self.playback.begin(self._feed.state, self._view().present_ms)
        return True

    def advance(self, now_ms: int) -> bool:
        """Take over a requested moment, and continue playing; return whether another moment is shown."""
        was_past = self.is_shown
        changed = self.playback.advance(now_ms, self._feed.state.seq)
        if was_past and not self.is_shown:
            self._messages.say(CAUGHT_UP, "muted")
        if (trouble := self.playback.trouble) != self._reported_trouble:
            self._reported_trouble = trouble
            # The banner shows trouble of the feed, which would hide this message.
            if trouble is not None and self._feed.trouble is None:
                self._messages.say(trouble, "error")
        return changed
