"""What is known of a supervisor, worded once for every place that shows it."""

from dashboard.views.drawing.rows import Cell
from dashboard.views.measures.digest import Digest
from dashboard.views.words.amounts import pluralize
from dashboard.views.words.glyphs import SUSPENDED, task_mark
from engine.core.queries.team.tree import supervisors_from
from engine.core.scheduler.waiting import describe_stuck_slots
from engine.core.state import State, Supervisor, Task

MAX_PLAN_NODES = 6
"""Nodes of a graph that are listed in one line."""
_MAX_STATE_WIDTH = 8
"""Cells for the number of busy agents in a column."""


def state_of_supervisor(supervisor: Supervisor, counts: Digest) -> Cell:
    """Return the state of a supervisor: its problem, or the number of busy agents below it."""
    if supervisor.error is not None:
        return Cell("✕ error", "error")
    if supervisor.leaving is not None:
        return Cell("◐ leaving", "draining")
    if supervisor.paused:
        return Cell("‖ paused", "paused")
    busy, agents = counts.busy_of[supervisor.id], counts.agents_of[supervisor.id]
    if counts.errors_of[supervisor.id] == agents and agents:
        return Cell("✕ error", "error")
    if busy and not counts.working:
        return Cell(SUSPENDED.text, SUSPENDED.tone)
    if not busy:
        return Cell("○ idle", "idle")
    forms = (f"{busy} of {agents}", f"{busy}/{agents}", f"{busy}")  # a cut number would be wrong
    return Cell(f"● {next(form for form in forms if len(form) <= _MAX_STATE_WIDTH or form is forms[-1])}", "busy")


def now_of_supervisor(state: State, supervisor: Supervisor, counts: Digest) -> Cell:
    """Return the error, the obstacle, the graph or the queue of a supervisor."""
    if supervisor.error is not None:
        return Cell(supervisor.error, "error")
    waiting = counts.waiting_of[supervisor.id]
    if supervisor.held or supervisor.exhausted is not None:
        consequence = "a person is asked" if supervisor.held else "nothing under it starts"
        return Cell(f"its budget is spent: {consequence}", "error")
    paused_supervisor = paused_above(state, supervisor.parent_id or "")
    if paused_supervisor is not None and not counts.busy_of[supervisor.id]:
        return Cell(f"{paused_supervisor.name} is paused" + (f", {waiting:,} waiting" if waiting else ""), "paused")
    if (stuck := counts.stuck_in.get(supervisor.id)) is not None:
        return Cell(f"{stuck.name}: {describe_stuck_slots(stuck)}", "draining")
    runs = [run for run in state.runs.values() if run.supervisor_id == supervisor.id]
    if runs:
        run = next((run for run in runs if run.running), runs[-1])
        nodes = [state.tasks[child] for child in state.tasks[run.root_id].children if child in state.tasks]
        others = f", and {pluralize(len(runs) - 1, 'other run')}" if len(runs) > 1 else ""
        title = plan_line(nodes) or run.title
        return Cell(f"{run.id}: {title}{others}" if others else title, "muted")
    return Cell(f"{waiting:,} waiting" if waiting else "", "muted")


def plan_line(nodes: list[Task]) -> str:
    """Return the nodes of a graph with their glyphs in one line, or a count of them."""
    if len(nodes) > MAX_PLAN_NODES:
        ended_count = sum(node.ended for node in nodes)
        return f"{ended_count} of {len(nodes)} done"
    return "  ".join(f"{task_mark(node).glyph} {node.title}" for node in nodes)


def paused_above(state: State, supervisor_id: str) -> Supervisor | None:
    """Return the nearest paused supervisor, from `supervisor_id` upwards."""
    return next((supervisor for supervisor in supervisors_from(state, supervisor_id) if supervisor.paused), None)
