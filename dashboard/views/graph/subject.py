"""Chooses the graph to draw: that of a run, or the network of the team or of one supervisor."""

from collections.abc import Mapping

from dashboard.views.graph.model import Graph
from dashboard.views.graph.nodes import Sight
from dashboard.views.graph.run import run_graph
from dashboard.views.graph.team import hand_overs, is_crowded, team_graph
from engine.core.state import Run, State

TEAM = "team"


def run_to_show(state: State) -> Run | None:
    """Return the run that is shown where none is asked for: the newest that is at work, else the newest."""
    newest = list(reversed(state.runs.values()))
    return next((run for run in newest if run.running), newest[0] if newest else None)


def graph_of(
    sight: Sight,
    subject: str,
    flows: Mapping[tuple[str, str], int] | None = None,
    *,
    opened: str | None = None,
    lines: int = 0,
    folded: bool = False,
) -> Graph:
    """Return a graph.

    Args:
        subject: The id of an open run or of a supervisor, `team`, or empty for the run that is at work.
        flows: Who handed work to whom, by ids, and when last; by default as `team.hand_overs` finds it.
        opened: A supervisor whose members are shown even where too many fold them; of a run a node, whose graph is.
        lines: Into how many lines it should fit; where it cannot, supervisors stand for their members.
        folded: Whether they do in any case.
    """
    state = sight.state
    run = state.runs.get(subject) if subject else run_to_show(state)
    if run is not None:
        folded = folded or (bool(lines) and is_crowded(sight, run.supervisor_id, lines))
        return run_graph(sight, run, opened=opened, folded=folded)
    if (summary := state.summary(subject)) is not None:
        return Graph(
            title=f"RUN {summary.id} {summary.title}",
            is_run=True,
            empty=("its tasks are read from the journal …", "of a run that was imported they are not there"),
        )
    below = subject if subject in state.supervisors else None
    folded = folded or (bool(lines) and is_crowded(sight, below, lines))
    flows = hand_overs(state) if flows is None else flows
    return team_graph(sight, flows, below=below, opened=opened, folded=folded)
