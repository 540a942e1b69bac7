"""Time travel of the app: the moment that every screen shows, and the data of the time bar."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from dashboard.deck.background import BackgroundReading
from dashboard.deck.playback import Playback
from dashboard.reading.feed import Feed
from dashboard.reading.summaries import Summaries
from dashboard.views.past import ALREADY_LIVE, CAUGHT_UP, describe_fork, no_mark_message
from dashboard.views.view_state import ViewState
from dashboard.views.words.keyed import fill_keys
from engine.core.errors import CoreError
from store import Reader, StoreError
from store.journals.records import EventSpan

if TYPE_CHECKING:
    from engine.history.forking import Fork

T = TypeVar("T")
MINUTE_MS = 60_000
SUMMED_EVERY_MS = 1_000
"""Minimum interval of updates of the time bar, in milliseconds; full blocks are read only once."""
FINEST_COLUMNS = 200
"""Columns of a wide time bar, which determine the resolution of the summaries."""


class TimeTravel(BackgroundReading):
    """An app that shows one moment of a file."""

    view: ViewState
    """The team as of the last redraw."""

    def __init__(self, db: Path, feed: Feed, clock: Callable[[], int]) -> None:
        super().__init__(db, feed, clock)
        self.playback = Playback(db, ready=self._on_past_ready, check_same_file=feed.check_same_file)
        self.spans: Sequence[EventSpan] = ()
        """Summaries of the whole file."""
        self._summaries = Summaries()
        self._summed_ms, self._summed_seq, self._summing = 0, -1, False
        self._reported_trouble: str | None = None
        self.acts: set[str] = set()
        """Actions of this session that are not in the journal."""

    def _on_past_ready(self) -> None:
        """Called in the thread that builds past moments."""
        self.call_later(self.flush)

    def flush(self) -> None:
        """Fold what has arrived."""
        raise NotImplementedError

    @property
    def in_past(self) -> bool:
        """Whether a moment of the past is shown; nothing can be changed there."""
        return self.playback.past is not None

    def goto_seq(self, seq: int) -> None:
        """Show every screen as of an event."""
        self.playback.to_seq(seq)

    def goto_time(self, at_ms: int) -> None:
        """Show every screen as of a time, in UTC milliseconds, at most the present."""
        self.playback.to_time(min(at_ms, self.view.present_ms))

    def goto_mark(self, by: int) -> None:
        """Show the next swap, switch, failure or question, or the previous one if `by` is negative."""
        if self._begin_travel(by):
            self.playback.to_mark(by, partial(self.say, no_mark_message(by), "muted"))

    def step_events(self, by: int) -> None:
        """Go `by` events forward, or back if negative."""
        if self._begin_travel(by):
            self.playback.by_events(by)

    def step_time(self, by_ms: int) -> None:
        """Go forward in time, or back if negative."""
        if self._begin_travel(by_ms):
            self.playback.by_time(by_ms, self.view.present_ms)

    def freeze(self) -> None:
        """Freeze at the current moment; if frozen already, go back to live."""
        playing = self.view.past is not None and bool(self.view.past.speed)
        if self.in_past and not playing:
            self.live()
        elif self.in_past:
            self.playback.play()
            self.flush()
        else:
            self.playback.begin(self.feed.state)

    def play(self) -> None:
        if self._begin_travel(1):
            self.playback.play()
            self.flush()

    def play_faster(self, by: int) -> None:
        """Double the speed, or halve it if `by` is negative."""
        if self._begin_travel(1):
            self.say(f"plays at ×{self.playback.faster(by)}", "muted")
            self.flush()

    def live(self) -> None:
        """Show the newest event again."""
        if self.in_past:
            self.playback.leave()
            self.flush()
        else:
            self.say(fill_keys(ALREADY_LIVE), "muted")

    def _begin_travel(self, by: int) -> bool:
        if not self.in_past and by > 0:
            self.say(fill_keys(ALREADY_LIVE), "muted")
            return False
        self.playback.begin(self.feed.state)
        return True

    def advance_past(self, now_ms: int) -> bool:
        """Take over a requested moment, and continue playing; return whether another moment is shown."""
        was_past = self.in_past
        changed = self.playback.advance(now_ms, self.feed.state.seq)
        if was_past and not self.in_past:
            self.say(CAUGHT_UP, "muted")
        if (trouble := self.playback.trouble) != self._reported_trouble:
            self._reported_trouble = trouble
            # The banner shows trouble of the feed, which would hide this message.
            if trouble is not None and self.feed.trouble is None:
                self.say(trouble, "error")
        return changed

    def update_summaries(self, now_ms: int) -> None:
        """Read new summaries for the time bar, in a thread."""
        seq = self.feed.file_seq
        if self._summing or seq == self._summed_seq or self.feed.trouble:
            return  # the feed reports an unreadable file
        if 0 <= now_ms - self._summed_ms < SUMMED_EVERY_MS and self.spans:
            return
        self._summing, self._summed_ms, self._summed_seq = True, now_ms, seq

        def receive(spans: Sequence[EventSpan]) -> None:
            is_first = not self.spans
            self._summing, self.spans = False, spans
            if is_first or self.animation_level != "none":  # else the bar is redrawn with the next clock tick
                self.flush()
                self.show_time()

        def work(reader: Reader) -> Sequence[EventSpan]:
            self._summaries.read(reader, columns=FINEST_COLUMNS)
            return self._summaries.spans()

        def failed() -> None:
            self._summing, self._summed_seq = False, -1

        self.read(work, receive, failed=failed)

    def show_time(self) -> None:
        """Redraw every visible time bar."""
        raise NotImplementedError

    def fork(self, target: Path, seq: int) -> None:
        """Create a database that continues from an event of this one."""
        from engine.history.forking import fork  # needed only for forks

        def announce(new_fork: "Fork") -> None:
            self.acts.add("fork")
            outcome = describe_fork(asked_seq=seq, at_seq=new_fork.at_seq, runs=new_fork.runs, tasks=new_fork.tasks)
            self.say(f"{outcome} · {self.hand_over(new_fork.path)}", "busy")

        self.say("… forking", "muted")
        errors = (StoreError, CoreError, OSError)

        def forking() -> "Fork":
            self.feed.check_same_file()
            return fork(self.path, target, at_seq=seq)

        self.run_in_thread(forking, announce, errors, "not forked: ")

    def hand_over(self, fork: Path) -> str:
        """Return how to open a new fork."""
        return f"9, then enter on {fork.name} opens it"
