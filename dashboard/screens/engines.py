"""Which engines lead, stand by, and led before."""

from dashboard.frame.journal_screen import JournalScreen
from dashboard.frame.table_screen import BELOW
from dashboard.views.engines import KINDS, engines, of_engine
from dashboard.views.header import ViewState
from dashboard.views.row_pane import More
from dashboard.views.rows import Listing


class EnginesScreen(JournalScreen):
    """Leader, standby engines and takeovers."""

    PLACE = "engines"
    KINDS = KINDS
    GRIPS = (BELOW,)
    BELOW_FROM, FILLS = 34, True
    KEYS = (("enter", "open"), ("E", "start, hand over"), ("/", "filter"))

    def listing(self, view: ViewState) -> Listing:
        return engines(self.entries, view.situation, needle=self.needle, looked=self.looked)

    def more(self, view: ViewState, key: str, width: int, height: int) -> More | None:
        return of_engine(self.entries, view.situation, view.state, key, width, height)

    def open_row(self, key: str) -> None:
        if key.isdigit():  # else an engine of now, whose events have not been read
            super().open_row(key)


SCREEN = EnginesScreen
