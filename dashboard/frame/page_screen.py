"""A page of paragraphs about one object; see `dashboard/pages`."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.widget import Widget

from dashboard.frame.frame import Frame, OwnKey
from dashboard.frame.page_reading import PageReading
from dashboard.views.drawing.rows import Cell
from dashboard.views.event_log import Entry
from dashboard.views.facts.pages import History
from dashboard.views.view_state import ViewState
from dashboard.views.words.names import JournalTexts
from dashboard.widgets.pane import Pane
from store import Reader


class PageScreen(Frame):
    """Shows one object as paragraphs to scroll through."""

    FINDS = True
    KEYS: ClassVar[tuple[OwnKey, ...]] = (
        ("esc", "back"),
        "priority",
        "deadline",
        "reassign",
        "cancel",
        "retry",
        ("↑↓", "scroll"),
    )

    def __init__(self, subject_id: str) -> None:
        super().__init__(subject_id)
        self.reading = PageReading(self, self.read, self.show_body)

    def page(self, view: ViewState, texts: JournalTexts, history: History) -> Sequence[Cell]:
        """Return the paragraphs of the page."""
        raise NotImplementedError

    def read(self, reader: Reader, view: ViewState) -> list[Entry]:
        """Read the events of the object, the newest last."""
        return []

    def body(self) -> Iterable[Widget]:
        yield Pane(id="body")

    def show(self, view: ViewState) -> None:
        self.reading.begin(view)
        page = self.page(view, self.reading.texts, self.reading.sentences(view))
        self.query_one("#body", Pane).show(page)
        self.reading.proceed(view)
