"""The page of an event; static."""

from collections.abc import Sequence

from dashboard.frame.once_screen import OnceScreen
from dashboard.reading.feed import entries_of
from dashboard.views.drawing.rows import Cell
from dashboard.views.facts.pages import event_page
from dashboard.views.words.place import parse_seq
from dashboard.views.words.sentences import sentence
from store import Reader


class EventScreen(OnceScreen):
    """The event with a seq."""

    KEYS = (("esc", "back"), ("↑↓", "scroll"), "back here", ("y", "JSON"), ("Y", "copy"))

    def build_cells(self, now_ms: int) -> Sequence[Cell]:
        names = self.deck.feed.names
        if (seq := parse_seq(self.subject_id)) is None:
            return [Cell(f"{self.subject_id} is not the seq of an event", "warn")]
        with Reader(self.deck.path) as reader:
            record = reader.record(seq)
            entry = entries_of(reader, [record], names)[0]
        text = sentence(entry.event, names)
        return event_page(record.seq, record.at_ms, record.kind, record.body, text, now_ms=now_ms)


PAGE = EventScreen
