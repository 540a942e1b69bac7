"""What has to hold between the parts of a state, whatever has happened: small laws, each with what breaks it.

For the simulation after every batch, and for the laws of the core in `tests/simulation`: the one source of truth.
"""

from collections import Counter
from collections.abc import Callable, Iterator

from engine.core.fold.queues import is_held
from engine.core.state import State, TaskStatus
from engine.simulation.legality_of_order import LAWS_OF_ORDER


def nothing_is_left_to_start(state: State) -> Iterator[str]:
    """Whoever has both a ready task and a slot starts it in the same step."""
    for supervisor_id in state.startable:
        yield f"{supervisor_id} could start something and did not"


def pools_are_as_large_as_they_should_be(state: State) -> Iterator[str]:
    """A pool keeps its bounds; where work waits and it may grow it has grown; where one may go a timer watches."""
    for agent_id in state.resizable:
        yield f"{agent_id} should have grown, or be watched, and is not"
    for agent in state.agents.values():
        spec = state.specs[agent.spec]
        least, most = (1, 1) if spec.pool is None else (spec.pool.min, spec.pool.max)
        if not least <= agent.size <= most:
            yield f"{agent.id} has {agent.size} instances, of {least} to {most}"
        if agent.max_concurrency != agent.size * spec.max_concurrency:
            yield f"{agent.id} has {agent.max_concurrency} slots with {agent.size} instances of {spec.max_concurrency}"
        if (agent.id in state.pools) != (spec.pool is not None):
            yield f"{agent.id} is taken for what it is not: a pool, or none"


def supervisors_stand_in_a_tree(state: State) -> Iterator[str]:
    """Each supervisor but the roots is a member of one other, and nobody is above itself."""
    for supervisor in state.supervisors.values():
        seen: set[str] = set()
        above: str | None = supervisor.id
        while above is not None and above not in seen:
            seen.add(above)
            above = state.supervisors[above].parent_id
        if above is not None:
            yield f"{supervisor.id} stands above itself"
        holders = [one.id for one in state.supervisors.values() if supervisor.id in one.members]
        if holders != ([] if supervisor.parent_id is None else [supervisor.parent_id]):
            yield f"{supervisor.id} says that it is under {supervisor.parent_id}, and is a member of {holders}"


def slots_are_held_by_attempts(state: State) -> Iterator[str]:
    """Each slot is held by an attempt at work, and each attempt at work holds one."""
    for agent in state.agents.values():
        for task_id in agent.running:
            task = state.tasks.get(task_id)
            attempt = task.attempt if task is not None else None
            if attempt is None or attempt.agent_id != agent.id or attempt.parked:
                yield f"{agent.id} holds a slot for {task_id}, which is not at work there"
        for task_id in agent.parked:
            task = state.tasks.get(task_id)
            attempt = task.attempt if task is not None else None
            if attempt is None or attempt.agent_id != agent.id or not attempt.parked:
                yield f"{agent.id} remembers {task_id}, which does not wait there"
    for task in state.tasks.values():
        attempt = task.attempt
        if attempt is not None and attempt.agent_id is not None:
            agent = state.agents[attempt.agent_id]
            if task.id not in (agent.parked if attempt.parked else agent.running):
                yield f"{task.id} is at work on {agent.id}, which does not know it"


def supervisors_keep_their_limits(state: State) -> Iterator[str]:
    """A supervisor counts the slots of its agents, and they are no more than it may have."""
    running = Counter({agent.supervisor_id: 0 for agent in state.agents.values()})
    for agent in state.agents.values():
        running[agent.supervisor_id] += len(agent.running)
    for supervisor in state.supervisors.values():
        if supervisor.running != running[supervisor.id]:
            yield f"{supervisor.id} counts {supervisor.running} slots and its agents hold {running[supervisor.id]}"


def members_are_there(state: State) -> Iterator[str]:
    """Whoever is named as a member is one, and the other way round."""
    for supervisor in state.supervisors.values():
        for member in supervisor.members:
            if member not in state.agents and member not in state.supervisors:
                yield f"{supervisor.id} has a member {member}, whom nobody knows"
    for agent in state.agents.values():
        if agent.id not in state.supervisors[agent.supervisor_id].members:
            yield f"{agent.id} is no member of {agent.supervisor_id}"


def queues_know_who_is_free(state: State) -> Iterator[str]:
    """A queue is open when, and only when, it has a ready task and a free agent; who is full is not free."""
    for agent in state.agents.values():
        for key in agent.queues:
            if agent.id not in state.queues[key].agents:
                yield f"{agent.id} serves {key}, which does not know it"
            if agent.id in state.queues[key].free and not agent.has_room:
                yield f"{agent.id} is full and free for {key}"
    for queue in state.queues.values():
        is_open = queue.key in state.supervisors[queue.supervisor_id].open
        if is_open != bool(queue.ready and queue.free):
            how = "open" if is_open else "closed"
            yield f"{queue.key} is {how} with {len(queue.ready)} ready tasks and {len(queue.free)} free agents"


def ready_tasks_wait(state: State) -> Iterator[str]:
    """What stands in a queue waits to be started, or to go on."""
    for queue in state.queues.values():
        for task_id in queue.ready:
            status = state.tasks[task_id].status
            waits = status is TaskStatus.WAITING or status is TaskStatus.PREEMPTED
            if waits == queue.key.startswith("back:"):
                yield f"{task_id} is {state.tasks[task_id].status} and stands in {queue.key}"


def runs_count_their_tasks(state: State) -> Iterator[str]:
    """The numbers of a run are those of its tasks."""
    for run in state.runs.values():
        tasks = [state.tasks[task_id] for task_id in run.tasks]
        agents = [task for task in tasks if task.kind == "agent"]
        counted = (len(agents), sum(task.ended for task in agents), sum(task.attempt is not None for task in tasks))
        if counted != (run.total, run.ended, run.running):
            yield f"{run.id} says {(run.total, run.ended, run.running)} total, ended, running; counted {counted}"
    if len(state.tasks) != sum(len(run.tasks) for run in state.runs.values()):
        yield "there are tasks that belong to no run"


def ended_tasks_are_at_rest(state: State) -> Iterator[str]:
    """What has its outcome is not at work."""
    for task in state.tasks.values():
        if task.ended and task.attempt is not None:
            yield f"{task.id} is {task.status} and at work"


def tasks_count_what_they_wait_for(state: State) -> Iterator[str]:
    """The numbers of what blocks a task, and of what it asked for, are right."""
    for task in state.tasks.values():
        blockers = sum(not state.tasks[one].ended for one in task.after)
        if not task.ended and task.blockers != blockers:
            yield f"{task.id} says that {task.blockers} block it; {blockers} do"
        if task.open != sum(not state.tasks[one].ended for one in task.children):
            yield f"{task.id} says that {task.open} of its children are open"
        for call in task.calls.values():
            if call.open != sum(not state.tasks[one].ended for one in call.children):
                yield f"{task.id} says that {call.open} of the call {call.key} are open"


def backing_off_has_a_timer(state: State) -> Iterator[str]:
    """A task that is to be tried again has a timer, and no other has one for that."""
    for task in state.tasks.values():
        is_set = f"retry:{task.id}" in state.timers
        if is_set != (task.status is TaskStatus.RETRYING):
            yield f"{task.id} is {task.status}, and its timer {'is' if is_set else 'is not'} set"


def runs_know_the_time_that_is_being_spent(state: State) -> Iterator[str]:
    """A run knows how many attempts of agents are at work in it, and since when in sum."""
    for run in state.runs.values():
        found = (state.tasks[task_id].attempt for task_id in run.tasks)
        since = [one.since_ms for one in found if one is not None and one.agent_id is not None]
        if (run.at_work, run.since_ms) != (len(since), sum(since)):
            yield f"{run.id} says {run.at_work} at work since {run.since_ms} in sum; {len(since)} are, {sum(since)}"


def what_waits_for_a_budget_is_not_ready(state: State) -> Iterator[str]:
    """Nothing that is held stands where it could be begun."""
    for queue in state.queues.values():
        for task_id in queue.ready:
            if not queue.key.startswith("back:") and is_held(state, state.tasks[task_id]):
                yield f"{task_id} is held and stands in {queue.key}"


LAWS: tuple[Callable[[State], Iterator[str]], ...] = (
    nothing_is_left_to_start,
    pools_are_as_large_as_they_should_be,
    supervisors_stand_in_a_tree,
    slots_are_held_by_attempts,
    supervisors_keep_their_limits,
    members_are_there,
    queues_know_who_is_free,
    ready_tasks_wait,
    runs_count_their_tasks,
    ended_tasks_are_at_rest,
    tasks_count_what_they_wait_for,
    backing_off_has_a_timer,
    *LAWS_OF_ORDER,
    runs_know_the_time_that_is_being_spent,
    what_waits_for_a_budget_is_not_ready,
)
"""Every law of a state."""


def faults_of(state: State) -> Iterator[str]:
    """Yield what is wrong in a state; nothing where it is legal."""
    for law in LAWS:
        for fault in law(state):
            yield f"{law.__name__}: {fault}"


def assert_legal(state: State) -> None:
    """Check every law.

    Raises:
        AssertionError: If one does not hold; with all that is wrong.
    """
    faults = list(faults_of(state))
    if faults:
        raise AssertionError("; ".join(faults))
