"""Who can start what: the index of ready tasks and free agents, kept current at every change.

In which order tasks begin: `lanes`. Who is free and what is open: `openings`. Who holds a slot: `slots`.
"""

from collections.abc import Iterable

from engine.core.fold.free import rank_anew, set_busy
from engine.core.fold.lanes import put, take
from engine.core.fold.openings import refresh_agent, refresh_below, refresh_queue, refresh_spent
from engine.core.fold.pools import look_at_pools_of
from engine.core.fold.pressing import press
from engine.core.fold.slots import occupy, vacate
from engine.core.state import Agent, Queue, State, Task, TaskStatus

__all__ = [
    "MANY_QUEUES",
    "able_queue",
    "back_queue",
    "dequeue",
    "enqueue",
    "enqueue_again",
    "forget_idle_queues",
    "is_held",
    "is_ready",
    "leave",
    "let_go_on",
    "occupy",
    "own_queue",
    "queue_with",
    "refresh_agent",
    "refresh_below",
    "refresh_queue",
    "refresh_spent",
    "serve",
    "stands",
    "stop_waiting_for_slot",
    "vacate",
    "wait_for_slot",
]

MANY_QUEUES = 200
"""Queues by capability that are kept although they may be idle."""


def own_queue(agent_id: str) -> str:
    """Return the key of the queue of tasks for one agent."""
    return f"agent:{agent_id}"


def back_queue(agent_id: str) -> str:
    """Return the key of the queue of attempts that wait for a slot to go on."""
    return f"back:{agent_id}"


def able_queue(supervisor_id: str, capability: str) -> str:
    """Return the key of the queue of tasks for any agent of a supervisor with a capability."""
    return f"able:{supervisor_id}:{capability}"


def shared_queue(supervisor_id: str, depth: int, capability: str) -> str:
    """Return the key of the queue of tasks for agents with a capability in all teams so many levels below."""
    return f"able:{supervisor_id}+{depth}:{capability}"


def is_shared(key: str) -> bool:
    """Return True for the key of a queue that several teams take from."""
    return key.startswith("able:") and "+" in key.split(":", 2)[1]


def queue_with(state: State, key: str, supervisor_id: str) -> Queue:
    """Return the queue of a key, made where it is not there yet."""
    queue = state.queues.get(key)
    if queue is None:
        queue = state.queues[key] = Queue(key=key, supervisor_id=supervisor_id, shared=is_shared(key))
        if queue.shared:
            state.shared[key] = 0
        rank_anew(state, queue)
    return queue


def serve(state: State, agent: Agent, keys: list[str]) -> None:
    """Make `agent` serve its own queues and those in `keys`, and no other."""
    wanted = [own_queue(agent.id), back_queue(agent.id), *keys]
    for key in agent.queues:
        if key not in wanted:
            queue = state.queues[key]
            queue.agents.remove(agent.id)
            if agent.id in queue.free:
                set_busy(queue, agent.id)
            refresh_queue(state, queue)
            refresh_spent(state, queue)
    for key in wanted:
        if key not in agent.queues:
            queue_with(state, key, agent.supervisor_id).agents.append(agent.id)
    agent.queues = wanted
    refresh_agent(state, agent)
    for key in keys:
        refresh_spent(state, state.queues[key])


def leave(state: State, agent: Agent) -> None:
    """Take `agent` out of every queue; its own ones end with it."""
    queues = [state.queues[key] for key in agent.queues]
    for queue in queues:
        queue.agents.remove(agent.id)
        if agent.id in queue.free:
            set_busy(queue, agent.id)
    for queue in queues:  # once it is out of all: this looks at every queue of those who share one with it
        refresh_queue(state, queue)
        refresh_spent(state, queue)
        if not queue.key.startswith("able:"):
            del state.queues[queue.key]


def forget_idle_queues(state: State) -> None:
    """Drop queues by capability that nothing open came from, once there are many: agents may ask for anything."""
    able = [key for key in state.queues if key.startswith("able:")]
    if len(able) <= MANY_QUEUES:
        return
    used = {key for task in state.tasks.values() for key in (task.queue, task.came_from)}
    for key in able:
        if key not in used:
            state.shared.pop(key, None)
            for agent_id in state.queues.pop(key).agents:
                state.agents[agent_id].queues.remove(key)


def enqueue(state: State, task: Task, *, again: bool = False, held: bool | None = None) -> None:
    """Make a task ready, or hold it back while its run is paused or a budget of it waits for a person.

    Args:
        state: What changes.
        task: Waits for nothing any more, and stands in no queue.
        again: It was ready before, and gets the place that it had.
        held: What `is_held` says of it, where that is known.
    """
    assert task.queue is not None
    if task.ready_seq is None or not again:
        task.ready_seq, task.ready_ms, again = state.seq, state.at_ms, False
    if is_held(state, task) if held is None else held:
        task.held_back = True
        return
    task.held_back = False
    queue = state.queues[task.queue]
    is_first = put(queue, task, task.ready_seq, task.ready_ms, again=again)
    if task.priority <= state.urgent_to:
        press(state, queue, task)
    if is_first and queue.free:
        refresh_queue(state, queue)
    if state.pools:
        look_at_pools_of(state, queue)


def is_held(state: State, task: Task) -> bool:
    """Return True while nothing of the run of `task`, or of what it is part of, starts."""
    run, tasks = state.runs[task.run_id], state.tasks
    if run.paused or run.held or task.held:
        return True
    above = task.parent_id
    while above is not None:
        task = tasks[above]
        if task.held:
            return True
        above = task.parent_id
    return False


def enqueue_again(state: State, tasks: Iterable[Task]) -> None:
    """Give tasks the places that they had, in the order in which they became ready."""
    for task in sorted(tasks, key=lambda task: (task.ready_seq or 0, int(task.id[1:]))):
        enqueue(state, task, again=True)


def let_go_on(state: State, tasks: Iterable[Task]) -> None:
    """Enqueue what may have been held: what was held back, and what became ready by failing while it was held."""
    ready = [task for task in tasks if task.kind == "agent" and is_ready(task)]
    enqueue_again(state, [task for task in ready if task.held_back or not stands(state, task)])


def dequeue(state: State, task: Task, *, served: bool = False) -> None:
    """Take a task out of the queue where it is ready, if it is; `served`: that was the turn of its run."""
    task.held_back = False
    queue = state.queues.get(task.queue or "")
    if queue is not None:
        _take_out(state, queue, task, served=(state.at_ms, state.seq) if served else None)


def _take_out(state: State, queue: Queue, task: Task, *, served: tuple[int, int] | None = None) -> None:
    if take(queue, task, served=served):
        if state.urgent:
            state.urgent.pop(task.id, None)
        if queue.free:
            refresh_queue(state, queue)
        if state.pools:
            look_at_pools_of(state, queue)


def stands(state: State, task: Task) -> bool:
    """Return True while `task` is ready to begin: in its queue, or held back by a pause."""
    queue = state.queues.get(task.queue or "")
    return task.held_back or (queue is not None and task.id in queue.ready)


def wait_for_slot(state: State, task: Task) -> None:
    """Let a parked attempt wait for a slot of its agent to go on."""
    assert task.attempt is not None
    assert task.attempt.agent_id is not None
    queue = state.queues[back_queue(task.attempt.agent_id)]
    if task.id in queue.ready:  # one that migrates waits already
        return
    put(queue, task, state.seq, state.at_ms)
    refresh_queue(state, queue)
    if state.pools:
        look_at_pools_of(state, queue)


def stop_waiting_for_slot(state: State, task: Task) -> None:
    """Take an attempt out of the queue for slots, if it is in it."""
    if task.attempt is not None and task.attempt.agent_id is not None:
        _take_out(state, state.queues[back_queue(task.attempt.agent_id)], task)


def is_ready(task: Task) -> bool:
    """Return True when nothing that `task` depends on is open: no other task, and no question to a person."""
    status = task.status
    at_rest = status is TaskStatus.WAITING or status is TaskStatus.PREEMPTED
    return at_rest and task.blockers == 0 and task.escalation_id is None and not task.calling
