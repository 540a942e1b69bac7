"""An agent, or a supervisor with everything under it, that is being removed: it goes once its work has ended."""

from collections.abc import Iterator
from typing import Literal

from engine.core.context import Context
from engine.core.decide.find import left_behind
from engine.core.decide.progress import stop
from engine.core.events import AgentRemoved, AgentRemoving, Event, SupervisorLeaving, SupervisorRemoved
from engine.core.fold.queues import own_queue
from engine.core.hierarchy import below_of
from engine.core.prompts import CheckLeaving
from engine.core.state import Agent, State, Supervisor, Task


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


def own_tasks(state: State, agent: Agent) -> Iterator[Task]:
    """Yield open tasks that only this agent may do and that are not at work on it: others may bring them yet."""
    key = own_queue(agent.id)
    for task in state.tasks.values():
        if task.queue == key and not task.ended and (task.attempt is None or task.attempt.agent_id != agent.id):
            yield task


def check_leaving(state: State, prompt: CheckLeaving, ctx: Context) -> list[Event]:
    """Let go an agent whose work is done; the agents of a supervisor of which nothing is open; then the supervisor."""
    events: list[Event] = []
    for one in state.leaving:
        agent = state.agents.get(one)
        if agent is not None and not (agent.running or agent.parked or any(own_tasks(state, agent))):
            # One at a time: who takes over its queues depends on who is left.
            return [AgentRemoved(at_ms=ctx.now_ms, agent_id=agent.id), *left_behind(state, agent, (), ctx.now_ms)]
    for supervisor in (state.supervisors[one] for one in state.leaving if one in state.supervisors):
        if is_used(state, supervisor):
            continue
        agents = [state.agents[one] for one in supervisor.members if one in state.agents]
        events += [
            AgentRemoving(at_ms=ctx.now_ms, agent_id=agent.id, mode="drain") for agent in agents if not agent.removing
        ]
        if not supervisor.members:
            events.append(SupervisorRemoved(at_ms=ctx.now_ms, supervisor_id=supervisor.id))
    return events
