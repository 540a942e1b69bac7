"""An agent, with the keys that change it."""

from collections.abc import Sequence

from dashboard.frame.page_screen import HISTORY, PageScreen
from dashboard.views.header import Glimpse
from dashboard.views.names import Texts
from dashboard.views.pages import History, agent_page
from dashboard.views.rows import Cell
from store import Reader, Record


class AgentScreen(PageScreen):
    """An agent, with the keys that change it."""

    KEYS = (("esc", "back"), "swap", "rollback", "pause or resume", "capability", "move", "remove", ("↑↓", "scroll"))

    def page(self, glimpse: Glimpse, texts: Texts, history: History) -> Sequence[Cell]:
        return agent_page(
            glimpse.state, self._key, glimpse.counts, glimpse.live, history, now_ms=glimpse.now_ms, steps=self.events
        )

    def records(self, reader: Reader, glimpse: Glimpse) -> list[Record]:
        return reader.records_before(glimpse.state.seq + 1, HISTORY, agent_id=self._key)


PAGE = AgentScreen
