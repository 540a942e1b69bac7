"""A supervisor that is being removed with everything under it: it goes once nothing of its work is open."""

from typing import Literal

from engine.core.context import Context
from engine.core.decide.progress import stop
from engine.core.events import AgentRemoving, Event, SupervisorLeaving, SupervisorRemoved
from engine.core.hierarchy import below_of
from engine.core.prompts import CheckLeaving
from engine.core.state import State, Supervisor, Task


def is_used(state: State, supervisor: Supervisor) -> bool:
    """Return True while an open run or task is of `supervisor`."""
    if any(run.supervisor_id == supervisor.id for run in state.runs.values()):
        return True
    return any(_is_of(task, {supervisor.id}) for task in state.tasks.values())


def _is_of(task: Task, supervisor_ids: set[str]) -> bool:
    return not task.ended and (task.supervisor_id in supervisor_ids or task.worker_id in supervisor_ids)


def sent_away(state: State, supervisor: Supervisor, mode: Literal["drain", "abort"], ctx: Context) -> list[Event]:
    """Return the events by which a supervisor and all below it begin to leave.

    Args:
        state: Where it stands.
        supervisor: Who is to leave.
        mode: Whether its open work goes on to its end or is stopped.
        ctx: The moment.
    """
    subtree = list(below_of(state, supervisor))
    events: list[Event] = [
        SupervisorLeaving(at_ms=ctx.now_ms, supervisor_id=one.id, mode=mode)
        for one in subtree
        if one.leaving is None or (one.leaving == "drain" and mode == "abort")
    ]
    if mode == "abort":
        ids = {one.id for one in subtree}
        tops = [task for task in state.tasks.values() if _is_of(task, ids) and not _is_under(state, task, ids)]
        events += [stop(state, task, f"{supervisor.name} is removed", ctx) for task in tops if not task.cancelling]
    return events


def _is_under(state: State, task: Task, supervisor_ids: set[str]) -> bool:
    """Tell whether `task` is part of another task of these supervisors, with which it is stopped."""
    above = task.parent_id
    while above is not None:
        if _is_of(state.tasks[above], supervisor_ids):
            return True
        above = state.tasks[above].parent_id
    return False


def check_leaving(state: State, prompt: CheckLeaving, ctx: Context) -> list[Event]:
    """Let go the agents of leaving supervisors of which nothing is open, and then those supervisors."""
    events: list[Event] = []
    for supervisor in (state.supervisors[one] for one in state.leaving):
        if is_used(state, supervisor):
            continue
        agents = [state.agents[one] for one in supervisor.members if one in state.agents]
        events += [
            AgentRemoving(at_ms=ctx.now_ms, agent_id=agent.id, mode="drain") for agent in agents if not agent.removing
        ]
        if not supervisor.members:
            events.append(SupervisorRemoved(at_ms=ctx.now_ms, supervisor_id=supervisor.id))
    return events
