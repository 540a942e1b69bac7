"""Ends of attempts and reports of usage over the longest window of time, of the feed and of the journal before it."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from dashboard.deck.live_screen import LiveScreen
from dashboard.reading.feed import entries_before
from dashboard.views.measures.activity import END_KINDS, SPEND_KINDS, AttemptEnd, AttemptSpend, ends_of, spends_of
from dashboard.views.measures.metrics import WINDOWS_MS
from dashboard.views.measures.usage import is_metered
from dashboard.views.view_state import ViewState
from store import Reader

MAX_RECORDS, PAGE = 20_000, 1_000
"""Maximum ends of attempts and reports of usage that are kept, so that a longer window is incomplete; and events of one
page.
"""
READ_AGAIN_MS = 1_000
"""Time until a failed read is repeated, in milliseconds."""
_T = TypeVar("_T", AttemptEnd, AttemptSpend)


class _Records(NamedTuple):
    ends: Sequence[AttemptEnd]
    spends: Sequence[AttemptSpend]


class AttemptRecords:
    """Collects the records of a team up to the shown moment.

    Args:
        ready: Called when older records have been read.
    """

    def __init__(self, screen: LiveScreen, ready: Callable[[], None]) -> None:
        self._screen, self._ready = screen, ready
        self.ends: deque[AttemptEnd] = deque(maxlen=MAX_RECORDS)
        self.spends: deque[AttemptSpend] = deque(maxlen=MAX_RECORDS)
        self.generation = 0
        """Changes with all records; it stays while new ones are only added."""
        self._counts = (0, 0)
        """Counts of ends and usage in the feed at the last update."""
        self._source: object = None
        self._failed_ms: int | None = None
        """Time of a failed read; None after a successful one."""

    def update(self, view: ViewState) -> _Records:
        """Add new records, and return them; after a jump in time, replace all records and read older ones again."""
        activity = view.activity
        again = self._failed_ms is not None and view.is_due(self._failed_ms + READ_AGAIN_MS)
        if (activity is not self._source or again) and not view.situation.opening:  # it has no moment yet
            self._source, self._counts, self._failed_ms = activity, (activity.ended_count, activity.spend_count), None
            self._replace(activity.ends, activity.spends)
            self._read(view)
        (end_count, spend_count), self._counts = self._counts, (activity.ended_count, activity.spend_count)
        new = _Records(
            _last_records(activity.ends, activity.ended_count - end_count),
            _last_records(activity.spends, activity.spend_count - spend_count),
        )
        self.ends.extend(new.ends)
        self.spends.extend(new.spends)
        return new

    def _replace(self, ends: Iterable[AttemptEnd], spends: Iterable[AttemptSpend]) -> None:
        self.ends, self.spends = deque(ends, MAX_RECORDS), deque(spends, MAX_RECORDS)
        self.generation += 1

    def _read(self, view: ViewState) -> None:
        """Read older records than the feed has, in a thread."""
        source, seq, names = self._source, view.state.seq, view.names
        from_ms = window_end_ms(view) - max(WINDOWS_MS.values())
        kinds = SPEND_KINDS if is_metered(view.state) else END_KINDS

        def read(reader: Reader) -> _Records:
            ends, spends, before = list[AttemptEnd](), list[AttemptSpend](), seq + 1
            for _ in range(MAX_RECORDS // PAGE):
                entries = entries_before(reader, before, PAGE, names, kinds=kinds)
                near = [entry for entry in entries if entry.at_ms >= from_ms]
                events = [entry.event for entry in near]
                ends[:0], spends[:0] = ends_of(events), spends_of(events)
                if len(near) < PAGE:
                    break
                before = near[0].seq
            return _Records(ends, spends)

        def receive(records: _Records) -> None:
            ends, spends = records
            if source is self._source and (ends or spends):
                self._replace(
                    [*ends, *_records_after(self.ends, ends)], [*spends, *_records_after(self.spends, spends)]
                )
                self._ready()

        def handle_failure() -> None:
            if source is self._source:
                self._failed_ms = self._screen.deck.view.wall_ms

        self._screen.deck.background.read(read, receive, on_failure=handle_failure)


def _last_records(records: Sequence[_T], count: int) -> list[_T]:
    return list(records)[-count:] if count > 0 else []


def _records_after(records: Iterable[_T], read: Sequence[_T]) -> list[_T]:
    """Return the records after the newest one of `read`."""
    return [record for record in records if not read or record.at_ms > read[-1].at_ms]


def window_end_ms(view: ViewState) -> int:
    """Return the end of the window: now, or the newest event of a file without an engine."""
    return view.now_ms if view.working or view.past is not None else view.state.at_ms
