"""A graph in a pane of another screen: drawn again at most twice a second, less often for a large team."""

from dashboard.views.graph import graph_lines
from dashboard.views.graph.nodes import Sight
from dashboard.views.header import ViewState
from dashboard.views.lines import Line

EVERY_MS = 500
ENTITIES_A_MS = 20


class GraphSlot:
    """The lines of a graph with its heading, kept from look to look."""

    def __init__(self) -> None:
        self._asked: tuple[object, ...] = ()
        self._next_ms = 0
        self._lines: list[Line] = []

    def lines(
        self,
        view: ViewState,
        subject: str,
        width: int,
        height: int,
        *,
        selected: str | None = None,
        calm: bool = False,
        then: Sight | None = None,
    ) -> list[Line]:
        """Return the graph of a run, of what is under a supervisor, or, of an empty subject, of the run at work.

        Args:
            then: The team as it was when the run ended; its graph is drawn once.
        """
        asked = (subject, selected, width, height, id(then))
        if asked != self._asked or (then is None and view.due(self._next_ms)):
            sight = then or Sight.of(view)
            self._lines = graph_lines(sight, subject=subject, width=width, height=height, selected=selected, calm=calm)
            self._asked, self._next_ms = asked, view.wall_ms + self._pause_ms(view)
        return self._lines

    def _pause_ms(self, view: ViewState) -> int:
        return max(EVERY_MS, (len(view.state.tasks) + len(view.state.agents)) // ENTITIES_A_MS)
