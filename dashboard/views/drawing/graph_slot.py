"""A graph in a pane of another screen: drawn again at most twice a second, less often for a large team."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dashboard.views.drawing.lines import Line
from dashboard.views.drawing.still import Stillness
from dashboard.views.measures.digest import Digest
from dashboard.views.view_state import ViewState

if TYPE_CHECKING:
    from dashboard.views.graph.nodes import Sight

EVERY_MS = 500
ENTITIES_PER_MS = 20


class GraphSlot:
    """The lines of a graph with its heading, cached between redraws."""

    def __init__(self) -> None:
        self._request: tuple[object, ...] = ()
        self._counts: Digest | None = None
        self._live: Mapping[str, str] = {}
        self._still = Stillness()
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
        final_sight: "Sight | None" = None,
    ) -> list[Line]:
        """Return the graph of a run, of the members of a supervisor or, for an empty subject, of the run at work.

        Args:
            final_sight: The team at the end of the run; its graph is drawn once.
        """
        request = (subject, selected, width, height, id(final_sight))
        quiet = self._counts is not None and view.counts.counts_as(self._counts) and view.live == self._live
        every_ms = max(EVERY_MS, (len(view.state.tasks) + len(view.state.agents)) // ENTITIES_PER_MS)
        if request != self._request or (
            final_sight is None and self._still.is_due(view, quiet=quiet, every_ms=every_ms)
        ):
            from dashboard.views.graph import graph_lines  # needed only for teams with a graph
            from dashboard.views.graph.nodes import Sight

            before, sight = self._lines, final_sight or Sight.of(view)
            self._lines = graph_lines(sight, subject=subject, width=width, height=height, selected=selected, calm=calm)
            self._still.record_draw(view, moved=not quiet or request != self._request or self._lines != before)
            self._request, self._counts, self._live = request, view.counts, view.live
        return self._lines
