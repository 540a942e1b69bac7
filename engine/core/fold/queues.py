"""Who can start what: the index of ready tasks and free agents, kept current at every change.

A queue is *open* when it has both a ready task and a free agent; its supervisor keeps the open ones in order, so that
dispatch never searches.
"""

from engine.core.fold.pools import look_at_pool, look_at_pools_of
from engine.core.state import Agent, Queue, State, Supervisor, Task, TaskStatus

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


def refresh_queue(state: State, queue: Queue) -> None:
    """Put `queue` among its supervisor's open ones, or take it out."""
    supervisor = state.supervisors[queue.supervisor_id]
    opened = supervisor.open
    if queue.ready and queue.free:
        if queue.key not in opened:
            opened[queue.key] = 0
            if queue.key.startswith("back:"):
                opened.move_to_end(queue.key, last=False)
            refresh_supervisor(state, supervisor)
    elif queue.key in opened:
        del opened[queue.key]
        refresh_supervisor(state, supervisor)


def refresh_supervisor(state: State, supervisor: Supervisor) -> None:
    """Say whether dispatch has to look at `supervisor`: attempts that go on come first, and go on in a pause too."""
    opened = supervisor.open
    can_start = bool(opened) and supervisor.running < supervisor.max_parallel
    if can_start and is_held(state, supervisor):
        can_start = next(iter(opened)).startswith("back:")
    if can_start:
        state.startable.setdefault(supervisor.id, 0)
    else:
        state.startable.pop(supervisor.id, None)


def is_held(state: State, supervisor: Supervisor) -> bool:
    """Return True while `supervisor`, or one above it, is paused."""
    above: Supervisor | None = supervisor
    while above is not None:
        if above.paused:
            return True
        above = state.supervisors[above.parent_id] if above.parent_id is not None else None
    return False


def refresh_below(state: State, supervisor: Supervisor) -> None:
    """Say of `supervisor` and of every one below it whether dispatch has to look at it."""
    refresh_supervisor(state, supervisor)
    for member_id in supervisor.members:
        if member_id in state.supervisors:
            refresh_below(state, state.supervisors[member_id])


def refresh_agent(state: State, agent: Agent) -> None:
    """Bring the queues that `agent` serves up to date with whether it can take a task."""
    room = len(agent.running) + agent.stuck < agent.max_concurrency
    works = room and not agent.paused and agent.error is None
    takes = works and agent.removing is None
    alike = takes or not room  # the same for all of them
    agent_id, queues = agent.id, state.queues
    for key in agent.queues:
        queue = queues[key]
        free = queue.free
        is_free = takes if alike else _is_free_for(key, agent, works=works)
        if is_free != (agent_id in free):
            if is_free:
                free[agent_id] = 0
            else:
                del free[agent_id]
            if queue.ready:
                refresh_queue(state, queue)
    if agent_id in state.pools:
        look_at_pool(state, agent)


def _is_free_for(key: str, agent: Agent, *, works: bool) -> bool:
    """Return whether an agent that has room, and takes no new tasks, takes from one of its queues."""
    if key.startswith("agent:"):
        return works and agent.removing == "drain"
    return key.startswith("back:")


def serve(state: State, agent: Agent, keys: list[str]) -> None:
    """Make `agent` serve its own queues and those in `keys`, and no other."""
    wanted = [own_queue(agent.id), back_queue(agent.id), *keys]
    for key in agent.queues:
        if key not in wanted:
            queue = state.queues[key]
            queue.agents.remove(agent.id)
            queue.free.pop(agent.id, None)
            refresh_queue(state, queue)
    for key in wanted:
        if key not in agent.queues:
            queue = state.queues.setdefault(key, Queue(key=key, supervisor_id=agent.supervisor_id))
            queue.agents.append(agent.id)
    agent.queues = wanted
    refresh_agent(state, agent)


def leave(state: State, agent: Agent) -> None:
    """Take `agent` out of every queue; its own ones end with it."""
    for key in agent.queues:
        queue = state.queues[key]
        queue.agents.remove(agent.id)
        queue.free.pop(agent.id, None)
        refresh_queue(state, queue)
        if not key.startswith("able:"):
            del state.queues[key]


def forget_idle_queues(state: State) -> None:
    """Drop queues by capability that nothing open came from, once there are many: agents may ask for anything."""
    able = [key for key in state.queues if key.startswith("able:")]
    if len(able) <= MANY_QUEUES:
        return
    used = {task.queue for task in state.tasks.values()}
    for key in able:
        if key not in used:
            for agent_id in state.queues.pop(key).agents:
                state.agents[agent_id].queues.remove(key)


def enqueue(state: State, task: Task, *, first: bool = False) -> None:
    """Make a waiting task ready, or hold it back while its run is paused."""
    assert task.queue is not None
    task.held_back = state.runs[task.run_id].paused
    if task.held_back:
        return
    queue = state.queues[task.queue]
    queue.ready[task.id] = state.seq
    if first:
        queue.ready.move_to_end(task.id, last=False)
    if queue.free:
        refresh_queue(state, queue)
    if state.pools:
        look_at_pools_of(state, queue)


def dequeue(state: State, task: Task) -> None:
    """Take a task out of the queue where it is ready, if it is."""
    task.held_back = False
    queue = state.queues.get(task.queue or "")
    if queue is not None and queue.ready.pop(task.id, None) is not None:
        if not queue.ready:
            refresh_queue(state, queue)
        if state.pools:
            look_at_pools_of(state, queue)


def wait_for_slot(state: State, task: Task) -> None:
    """Let a parked attempt wait for a slot of its agent to go on."""
    assert task.attempt is not None
    assert task.attempt.agent_id is not None
    queue = state.queues[back_queue(task.attempt.agent_id)]
    queue.ready[task.id] = state.seq
    refresh_queue(state, queue)
    if state.pools:
        look_at_pools_of(state, queue)


def stop_waiting_for_slot(state: State, task: Task) -> None:
    """Take an attempt out of the queue for slots, if it is in it."""
    if task.attempt is None or task.attempt.agent_id is None:
        return
    queue = state.queues[back_queue(task.attempt.agent_id)]
    if queue.ready.pop(task.id, None) is not None:
        refresh_queue(state, queue)
        if state.pools:
            look_at_pools_of(state, queue)


def occupy(state: State, agent: Agent, task: Task, generation: int) -> None:
    """Give `task` a slot of `agent` and of its supervisor: less can start than before."""
    agent.running[task.id] = generation
    supervisor = state.supervisors[agent.supervisor_id]
    supervisor.running += 1
    opened, queues, agent_id = supervisor.open, state.queues, agent.id
    has_room = agent.has_room
    for key in agent.queues:
        free = queues[key].free
        if agent_id not in free:
            continue
        if has_room:
            free.move_to_end(agent_id)
        else:
            del free[agent_id]
            if not free:
                opened.pop(key, None)
    if task.queue is not None and task.queue in opened:
        opened.move_to_end(task.queue)
    if supervisor.id in state.startable:
        refresh_supervisor(state, supervisor)
    if agent_id in state.pools:
        look_at_pool(state, agent)


def vacate(state: State, agent: Agent, task: Task) -> None:
    """Free the slot that `task` holds, if it holds one: more can start than before."""
    if agent.running.pop(task.id, None) is None:
        return
    supervisor = state.supervisors[agent.supervisor_id]
    supervisor.running -= 1
    if len(agent.running) + agent.stuck == agent.max_concurrency - 1:  # it was full until now
        refresh_agent(state, agent)
    if supervisor.open and supervisor.id not in state.startable:
        refresh_supervisor(state, supervisor)
    if agent.id in state.pools:
        look_at_pool(state, agent)


def is_ready(task: Task) -> bool:
    """Return True when nothing that `task` depends on is open: no other task, and no question to a person."""
    return task.blockers == 0 and task.status is TaskStatus.WAITING and task.escalation_id is None
