"""The pane about one member: what an agent does and has done, or the work and the members of a supervisor."""

from dashboard.deck.live_screen import LiveScreen
from dashboard.frame.remembered import RecentEvents
from dashboard.views.arrangement import Arrangement
from dashboard.views.drawing.graph_slot import GraphSlot
from dashboard.views.drawing.lines import BLANK, Line, Span
from dashboard.views.drawing.sections import draw_frame
from dashboard.views.facts.agent_pane import agent_pane
from dashboard.views.facts.supervisor_pane import supervisor_pane
from dashboard.views.measures.progress import Progress, ProgressCache
from dashboard.views.view_state import ViewState

_NOTHING = [BLANK, Line((Span("what is under the cursor is told here", "faint"),))]


class MemberPane:
    """The lines of the pane, with the events and the graph that they show."""

    def __init__(self, screen: LiveScreen, progresses: ProgressCache) -> None:
        self._recent, self._progresses, self._graph = RecentEvents(screen), progresses, GraphSlot()

    def lines(self, view: ViewState, key: str, arranged: Arrangement, height: int, *, calm: bool) -> list[Line]:
        """Return the pane about a member; the graph of a supervisor's members is left out if the tree has one below.

        Args:
            calm: Whether the graph stands still.
        """

        def graph_lines(width: int, height: int) -> list[Line]:
            return self._graph.lines(view, key, width, height + 1, calm=calm)[1:]  # without its heading

        width = arranged.pane
        joins = frozenset({arranged.tree, arranged.tree + arranged.graph} if arranged.tail else ())
        if (agent := view.state.agents.get(key)) is not None:
            entries = self._recent.entries_of_agent(key, view)
            return agent_pane(self._recent.pane_data(key, view), agent, entries, width, height, joins=joins)
        if (supervisor := view.state.supervisors.get(key)) is not None:
            progress = self._progresses.of(view).get(key, Progress())
            pane_data, graph = self._recent.pane_data(key, view), None if arranged.graph else graph_lines
            return supervisor_pane(pane_data, supervisor, progress, width, height, joins=joins, graph=graph)
        return draw_frame(_NOTHING, (), width, height, joins=joins)
