"""Chooses the graph to draw: of a run, of the team, or of one supervisor."""

from collections.abc import Mapping
from dataclasses import replace

from dashboard.views.graph.model import Graph
from dashboard.views.graph.nodes import Sight
from dashboard.views.graph.run import run_graph
from dashboard.views.graph.team import hand_overs, is_crowded, team_graph
from engine.core.state import Run, State

TEAM = "team"
MAX_KEPT_TASKS, MAX_KEPT_LAYERS, KEPT_NODE_LINES = 100, 5, 4
"""Tasks and layers of a run whose finished members stay in its graph, and the lines that each node then has."""


def run_to_show(state: State) -> Run | None:
    """Return the default run: the newest one at work, else the newest one."""
    newest = list(reversed(state.runs.values()))
    return next((run for run in newest if run.running), newest[0] if newest else None)


def _whole_graph(sight: Sight, run: Run, opened: str | None, lines: int) -> Graph | None:
    """Return the graph of a small run with the members that have finished; None if its boxes would be small."""
    if len(run.tasks) > MAX_KEPT_TASKS:
        return None
    graph = run_graph(replace(sight, idle=True), run, opened=opened)
    layers = graph.layering().layers if graph.nodes else []
    fits = len(layers) <= MAX_KEPT_LAYERS and max(map(len, layers), default=0) * KEPT_NODE_LINES <= lines
    return graph if fits else None


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
        subject: The id of an open run or of a supervisor, `team`, or empty for the current run.
        flows: Time of the last hand-over by the ids of giver and receiver; by default from `team.hand_overs`.
        opened: A supervisor, or a node of a run, that stays unfolded.
        lines: Available lines; if the graph cannot fit, members are folded into their supervisors. 0 is no bound.
        folded: Whether members are folded in any case.
    """
    state = sight.state
    run = state.runs.get(subject) if subject else run_to_show(state)
    if run is not None:
        if lines and not folded and (whole := _whole_graph(sight, run, opened, lines)) is not None:
            return whole
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
