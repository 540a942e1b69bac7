"""The part of the app that goes back in time: which moment every screen shows, and what the time bar is made of."""

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
from store.journals.records import Span

if TYPE_CHECKING:
    from engine.history.forking import Fork

T = TypeVar("T")
MINUTE_MS = 60_000
SUMMED_EVERY_MS = 1_000
"""The time bar is made anew at most this often while events come in; of full blocks nothing is read twice."""
FINEST_COLUMNS = 200
"""Columns of a wide time bar: what happened is summed up as finely as they need."""


class TimeTravel(BackgroundReading):
    """An app that shows one moment of a file."""

    view: ViewState
    """The team as of the last redraw."""

    def __init__(self, db: Path, feed: Feed, clock: Callable[[], int]) -> None:
        super().__init__(db, feed, clock)
        self.playback = Playback(db, ready=self._on_past_ready, stay=feed.check_same_file)
        self.spans: Sequence[Span] = ()
        """What happened when, in the whole file."""
        self._summaries = Summaries()
        self._summed_ms, self._summed_seq, self._summing = 0, -1, False
        self._told_trouble: str | None = None
        self.acts: set[str] = set()
        """What was done in this session that the journal does not tell."""

    def _on_past_ready(self) -> None:
        """Called in the thread that builds past moments."""
        self.call_later(self.flush)

    def flush(self) -> None:
        """Fold what has arrived."""
        raise NotImplementedError

    @property
    def in_past(self) -> bool:
        """Whether a moment of the past is shown, where nothing can be changed."""
        return self.playback.past is not None

    def goto_seq(self, seq: int) -> None:
        """Show every screen as of an event."""
        self.playback.to_seq(seq)

    def goto_time(self, at_ms: int) -> None:
        """Show every screen as of a time, in UTC milliseconds; of what is still to come nothing can be shown."""
        self.playback.to_time(min(at_ms, self.view.present_ms))

    def goto_mark(self, by: int) -> None:
        """Show the next swap, switch, failure or question, or where `by` is negative the one before."""
        if self._begun(by):
            self.playback.to_mark(by, partial(self.say, no_mark_message(by), "muted"))

    def step_events(self, by: int) -> None:
        """Go some events on or back."""
        if self._begun(by):
            self.playback.by_events(by)

    def step_time(self, by_ms: int) -> None:
        """Go some time on or back."""
        if self._begun(by_ms):
            self.playback.by_time(by_ms, self.view.present_ms)

    def freeze(self) -> None:
        """Freeze at the moment that is shown; when frozen already, go back to live."""
        playing = self.view.past is not None and bool(self.view.past.speed)
        if self.in_past and not playing:
            self.live()
        elif self.in_past:
            self.playback.play()
            self.flush()
        else:
            self.playback.begin(self.feed.state)

    def play(self) -> None:
        if self._begun(1):
            self.playback.play()
            self.flush()

    def play_faster(self, by: int) -> None:
        """Play twice as fast, or half as fast."""
        if self._begun(1):
            self.say(f"plays at ×{self.playback.faster(by)}", "muted")
            self.flush()

    def live(self) -> None:
        """Show the newest event again."""
        if self.in_past:
            self.playback.leave()
            self.flush()
        else:
            self.say(fill_keys(ALREADY_LIVE), "muted")

    def _begun(self, by: int) -> bool:
        if not self.in_past and by > 0:
            self.say(fill_keys(ALREADY_LIVE), "muted")
            return False
        self.playback.begin(self.feed.state)
        return True

    def advance_past(self, now_ms: int) -> bool:
        """Take in the moment that was asked for, and go on where it plays; return whether another one is shown."""
        was_past = self.in_past
        changed = self.playback.advance(now_ms, self.feed.state.seq)
        if was_past and not self.in_past:
            self.say(CAUGHT_UP, "muted")
        if (trouble := self.playback.trouble) != self._told_trouble:
            self._told_trouble = trouble
            # Where the feed has trouble, the banner shows it, and an answer would be lost.
            if trouble is not None and self.feed.trouble is None:
                self.say(trouble, "error")
        return changed

    def update_summaries(self, now_ms: int) -> None:
        """Bring up to date what the time bar is made of, where there is something new."""
        seq = self.feed.file_seq
        if self._summing or seq == self._summed_seq or self.feed.trouble:
            return  # what cannot be read is said once, by the feed
        if 0 <= now_ms - self._summed_ms < SUMMED_EVERY_MS and self.spans:
            return
        self._summing, self._summed_ms, self._summed_seq = True, now_ms, seq

        def receive(spans: Sequence[Span]) -> None:
            is_first = not self.spans
            self._summing, self.spans = False, spans
            if is_first or self.animation_level != "none":  # else the bar moves with everything, at the next second
                self.flush()
                self.show_time()

        def work(reader: Reader) -> Sequence[Span]:
            self._summaries.read(reader, columns=FINEST_COLUMNS)
            return self._summaries.spans()

        def failed() -> None:
            self._summing, self._summed_seq = False, -1

        self.read(work, receive, failed=failed)

    def show_time(self) -> None:
        """Let every time bar that can be seen be drawn anew."""
        raise NotImplementedError

    def fork(self, target: Path, seq: int) -> None:
        """Make a database that goes on from an event of this one."""
        from engine.history.forking import fork  # only who forks needs it

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
        """Return how a fork that was made is opened."""
        return f"9, then enter on {fork.name} opens it"
