"""Ends of attempts over the longest window of time, of the feed and of the journal before it."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence

from dashboard.deck.live_screen import LiveScreen
from dashboard.reading.feed import entries_before
from dashboard.views.measures.activity import END_KINDS, AttemptEnd, ends_of
from dashboard.views.measures.metrics import WINDOWS_MS
from dashboard.views.view_state import ViewState
from store import Reader

MAX_RECORDS, PAGE = 20_000, 1_000
"""Maximum ends of attempts that are kept, so that a longer window is incomplete; and events of one page."""
READ_AGAIN_MS = 1_000
"""Time until a failed read is repeated, in milliseconds."""


class AttemptRecords:
    """Collects the ends of a team up to the shown moment.

    Args:
        ready: Called when older ends have been read.
    """

    def __init__(self, screen: LiveScreen, ready: Callable[[], None]) -> None:
        self._screen, self._ready = screen, ready
        self.ends: deque[AttemptEnd] = deque(maxlen=MAX_RECORDS)
        self.generation = 0
        """Changes with all ends; it stays while new ones are only added."""
        self._count = 0
        """Count of ends in the feed at the last update."""
        self._source: object = None
        self._failed_ms: int | None = None
        """Time of a failed read; None after a successful one."""

    def update(self, view: ViewState) -> list[AttemptEnd]:
        """Add new ends, and return them; after a jump in time, replace all and read older ones again."""
        activity = view.activity
        again = self._failed_ms is not None and view.is_due(self._failed_ms + READ_AGAIN_MS)
        if (activity is not self._source or again) and not view.situation.opening:  # it has no moment yet
            self._source, self._count, self._failed_ms = activity, activity.ended_count, None
            self._replace(activity.ends)
            self._read(view)
        new_count, self._count = activity.ended_count - self._count, activity.ended_count
        new = list(activity.ends)[-new_count:] if new_count > 0 else []
        self.ends.extend(new)
        return new

    def _replace(self, ends: Iterable[AttemptEnd]) -> None:
        self.ends = deque(ends, MAX_RECORDS)
        self.generation += 1

    def _read(self, view: ViewState) -> None:
        """Read older ends than the feed has, in a thread."""
        source, seq, names = self._source, view.state.seq, view.names
        from_ms = window_end_ms(view) - max(WINDOWS_MS.values())

        def read(reader: Reader) -> list[AttemptEnd]:
            ends, before = list[AttemptEnd](), seq + 1
            for _ in range(MAX_RECORDS // PAGE):
                entries = entries_before(reader, before, PAGE, names, kinds=END_KINDS)
                near = [entry for entry in entries if entry.at_ms >= from_ms]
                ends[:0] = ends_of([entry.event for entry in near])
                if len(near) < PAGE:
                    break
                before = near[0].seq
            return ends

        def receive(ends: list[AttemptEnd]) -> None:
            if source is self._source and ends:
                self._replace([*ends, *_ends_after(self.ends, ends)])
                self._ready()

        def handle_failure() -> None:
            if source is self._source:
                self._failed_ms = self._screen.deck.view.wall_ms

        self._screen.deck.background.read(read, receive, on_failure=handle_failure)


def _ends_after(ends: Iterable[AttemptEnd], read: Sequence[AttemptEnd]) -> list[AttemptEnd]:
    """Return the ends after the newest one of `read`."""
    return [end for end in ends if not read or end.at_ms > read[-1].at_ms]


def window_end_ms(view: ViewState) -> int:
    """Return the end of the window: now, or the newest event of a file without an engine."""
    return view.now_ms if view.working or view.past is not None else view.state.at_ms
