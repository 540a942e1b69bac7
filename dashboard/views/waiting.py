"""Why a task waits, in a few words."""

from collections.abc import Sequence

from dashboard.views.amounts import counted, remaining
from dashboard.views.digest import Digest
from engine.core.state import Agent, Queue, State, Task, TaskStatus


def why(state: State, task: Task, counts: Digest, now_ms: int) -> str:
    """Return what a task waits for; empty where it does not wait."""
    if task.status is TaskStatus.IN_DOUBT:
        return "in doubt: it may have run before the engine ended; retry or cancel it"
    if task.status is TaskStatus.RUNNING:
        return _at_work(task)
    if task.status not in (TaskStatus.WAITING, TaskStatus.RETRYING, TaskStatus.PREEMPTED):
        return ""
    run = state.runs.get(task.run_id)
    if run is not None and run.suspended:
        return "its run is suspended: no engine"
    if task.status is TaskStatus.RETRYING and task.retry_at_ms is not None:
        return f"backing off {remaining(task.retry_at_ms - now_ms)}"
    if run is not None and (run.paused or task.held_back):
        return "its run is paused"
    if task.blockers:
        return _after(state, task)
    queue = state.queues.get(task.queue or "")
    return _in_queue(state, task, queue, counts) if queue is not None else ""


def _at_work(task: Task) -> str:
    if task.attempt is None or not task.attempt.parked:
        return ""
    if task.attempt.owed:
        return "waits for a free slot to go on"
    left = sum(call.open for call in task.calls.values())
    return f"waits for {counted(left, 'delegated task')}"


def _after(state: State, task: Task) -> str:
    open_ones = [state.tasks[other] for other in task.after if other in state.tasks and not state.tasks[other].ended]
    if not open_ones:
        return ""
    more = f" and {len(open_ones) - 1} more" if len(open_ones) > 1 else ""
    return f"waits for {open_ones[0].title}{more}"


def _in_queue(state: State, task: Task, queue: Queue, counts: Digest) -> str:
    agents = [state.agents[agent_id] for agent_id in queue.agents if agent_id in state.agents]
    supervisor = state.supervisors.get(queue.supervisor_id)
    if not agents:
        return f"no agent can {_capability(queue)}"
    if supervisor is not None and supervisor.paused:
        return f"supervisor {supervisor.name} is paused"
    if hindrance := _nobody_takes(agents):
        return hindrance
    if supervisor is not None and supervisor.running >= supervisor.max_parallel:
        return f"all {counted(supervisor.max_parallel, 'slot')} of {supervisor.name} are in use"
    ahead = counts.ahead(queue, task.id)
    whose = f"{agents[0].name}'s queue" if len(agents) == 1 else f"the {_capability(queue)} queue"
    if ahead:
        return f"behind {ahead:,} in {whose}"
    return f"next in {whose}"


def _nobody_takes(agents: Sequence[Agent]) -> str:
    """Say why none of the agents takes tasks at all; empty where one does or will."""
    reasons = [_refuses(agent) for agent in agents]
    if not all(reasons):
        return ""
    return reasons[0] if len(agents) == 1 else f"none of {len(agents)} agents takes tasks: {reasons[0]}"


def _refuses(agent: Agent) -> str:
    if agent.error is not None:
        return f"{agent.name} is in error"
    if agent.removing is not None:
        return f"{agent.name} is leaving"
    return f"{agent.name} is paused" if agent.paused else ""


def _capability(queue: Queue) -> str:
    return queue.key.rpartition(":")[2] if queue.key.startswith("able:") else "do it"
