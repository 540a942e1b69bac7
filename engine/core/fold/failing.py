"""Fold: failovers and retries of failed tasks, circuits, restarts.

Failures in a row are counted here, for the circuit; all failures of an agent in `accounting`.
"""

from engine.core import events
from engine.core.fold.completion import end, reset_policies
from engine.core.fold.queues import dequeue, enqueue, is_ready
from engine.core.fold.slots import ask_to_stop, mark_changed, refresh_agent
from engine.core.fold.timers import drop_timer, set_timer
from engine.core.state import Agent, State, Task, TaskStatus


def begin_probe(state: State, agent: Agent, task: Task) -> None:
    """Make an attempt the probe of a half-open circuit, which lets no other attempt begin."""
    if agent.circuit == "half_open" and agent.probe is None:
        agent.probe = task.id
        refresh_agent(state, agent)


def give_up_probe(state: State, agent: Agent, task: Task) -> None:
    """End the probe of a half-open circuit when its attempt has ended or waits for delegated work.

    That work may be for the same agent: it would wait for the circuit, and the circuit for the probe.
    """
    if agent.probe == task.id:
        agent.probe = None
        refresh_agent(state, agent)


def count_failure(agent: Agent, task: Task) -> None:
    """Count a failed attempt; while the circuit is not closed, only the probe counts."""
    if agent.circuit == "closed" or agent.probe == task.id:
        agent.failures_in_a_row += 1


def reset_circuit(state: State, agent: Agent) -> None:
    """Close the circuit and reset its counts."""
    agent.failures_in_a_row = 0
    agent.circuit, agent.cool_s, agent.probe = "closed", None, None
    drop_timer(state, "circuit", agent.id)


def _circuit_opened(state: State, event: events.CircuitOpened) -> None:
    agent = state.agents[event.agent_id]
    agent.circuit, agent.cool_s, agent.probe = "open", event.cool_s, None
    set_timer(state, "circuit", agent.id, event.due_ms)
    refresh_agent(state, agent)


def _circuit_half_opened(state: State, event: events.CircuitHalfOpened) -> None:
    agent = state.agents[event.agent_id]
    agent.circuit, agent.failures_in_a_row = "half_open", 0
    drop_timer(state, "circuit", agent.id)
    refresh_agent(state, agent)


def _circuit_closed(state: State, event: events.CircuitClosed) -> None:
    agent = state.agents[event.agent_id]
    reset_circuit(state, agent)
    refresh_agent(state, agent)


def _agents_restarted(state: State, event: events.AgentsRestarted) -> None:
    supervisor = state.supervisors[event.supervisor_id]
    if event.period_s is not None:
        since = event.at_ms - round(event.period_s * 1000)
        supervisor.restarts_ms = [at_ms for at_ms in supervisor.restarts_ms if at_ms > since] + [event.at_ms]
    for agent_id in event.agent_ids:
        agent = state.agents[agent_id]
        agent.restarts += 1
        for task_id in (*agent.running, *agent.parked):
            ask_to_stop(state.tasks[task_id], "crash")


def _supervisor_failed(state: State, event: events.SupervisorFailed) -> None:
    supervisor = state.supervisors[event.supervisor_id]
    supervisor.restarts_ms = []
    if supervisor.parent_id is None:
        supervisor.error = event.error
        mark_changed(state, supervisor)
    for task_id in event.groups:
        state.tasks[task_id].error = event.error


def _supervisor_mended(state: State, event: events.SupervisorMended) -> None:
    state.supervisors[event.supervisor_id].error = None
    mark_changed(state, state.supervisors[event.supervisor_id])


def _agent_check_asked(state: State, event: events.AgentCheckAsked) -> None:
    """Change nothing: `AgentMended` or `AgentBroke` reports the result."""


def _place(state: State, task: Task, queue: str) -> None:
    """Move a task to a queue; the capability queue that it leaves is recorded, so that a retry can return there."""
    dequeue(state, task)
    if (task.queue or "").startswith("able:") and not queue.startswith("able:"):
        task.came_from = task.queue
    task.queue = queue
    task.worker_id = queue.removeprefix("agent:") if queue.startswith("agent:") else None
    task.supervisor_id = state.queues[queue].supervisor_id
    if is_ready(task):
        enqueue(state, task)


def _task_failed_over(state: State, event: events.TaskFailedOver) -> None:
    task = state.tasks[event.task_id]
    task.retries = 0
    task.failovers += 1
    _place(state, task, event.queue)


def _task_tried_anew(state: State, event: events.TaskTriedAnew) -> None:
    task = state.tasks[event.task_id]
    reset_policies(task)
    task.tried_by_default = event.by == "default"
    _place(state, task, event.queue)


def _task_answered(state: State, event: events.TaskAnswered) -> None:
    end(state, state.tasks[event.task_id], TaskStatus.DONE)
