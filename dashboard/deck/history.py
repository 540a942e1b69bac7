"""Summaries of the whole file, which the time bar shows."""

from collections.abc import Callable, Sequence

from dashboard.deck.background import Background
from dashboard.reading.feed import Feed
from dashboard.reading.summaries import Summaries
from store import Reader
from store.journals.records import EventSpan

READ_EVERY_MS = 1_000
"""Minimum interval of updates of the time bar, in milliseconds; full blocks are read only once."""
FINEST_COLUMNS = 200
"""Columns of a wide time bar, which determine the resolution of the summaries."""


class History:
    """Reads the summaries anew, in a thread, when the file has grown.

    Args:
        redraw: Redraws the time bar, after the first summaries, and after others unless motion is reduced.
        is_reduced: Whether motion is reduced: the bar is redrawn with the next clock tick.
    """

    def __init__(
        self, background: Background, feed: Feed, *, redraw: Callable[[], None], is_reduced: Callable[[], bool]
    ) -> None:
        self._background, self._feed, self._redraw, self._is_reduced = background, feed, redraw, is_reduced
        self.spans: Sequence[EventSpan] = ()
        """Summaries of the whole file."""
        self._summaries = Summaries()
        self._read_ms, self._read_seq, self._reading = 0, -1, False

    def update(self, now_ms: int) -> None:
        """Read new summaries if there are any."""
        seq = self._feed.file_seq
        if self._reading or seq == self._read_seq or self._feed.trouble:
            return  # the feed reports an unreadable file
        if 0 <= now_ms - self._read_ms < READ_EVERY_MS and self.spans:
            return
        self._reading, self._read_ms, self._read_seq = True, now_ms, seq

        def receive(spans: Sequence[EventSpan]) -> None:
            is_first = not self.spans
            self._reading, self.spans = False, spans
            if is_first or not self._is_reduced():
                self._redraw()

        def read(reader: Reader) -> Sequence[EventSpan]:
            self._summaries.read(reader, columns=FINEST_COLUMNS)
            return self._summaries.spans()

        def handle_failure() -> None:
            self._reading, self._read_seq = False, -1

        self._background.read(read, receive, on_failure=handle_failure)
