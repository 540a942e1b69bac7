"""Laws of slots and queues: who holds a slot, and what waits for one."""

from collections import Counter
from collections.abc import Callable, Iterator

from engine.core.fold.queues import is_held
from engine.core.hierarchy import above_of
from engine.core.queries.processes import lacks_process
from engine.core.state import State, TaskStatus


def nothing_is_left_to_start(state: State) -> Iterator[str]:
    """Whoever has both a ready task and a slot starts it in the same step."""
    for root_id in state.offers.ranks:
        yield f"something could start under {root_id} and did not"


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


def queues_know_who_serves_them(state: State) -> Iterator[str]:
    """An agent serves its two own queues, and those by capability, of its supervisor or shared, that know it."""
    for agent in state.agents.values():
        if agent.queues[:2] != [f"agent:{agent.id}", f"back:{agent.id}"] or len(set(agent.queues)) != len(agent.queues):
            yield f"{agent.id} has not its own two queues, or one queue twice"
        for key in agent.queues:
            if key not in state.queues or agent.id not in state.queues[key].agents:
                yield f"{agent.id} serves {key!a}, which does not know it"
    for key, queue in state.queues.items():
        kind, _, owner = key.partition(":")
        if kind == "able":
            whose = owner.partition(":")[0].partition("+")[0]
            known = whose == queue.supervisor_id and len(set(queue.agents)) == len(queue.agents)
        else:
            known = kind in ("agent", "back") and queue.agents == [owner]
        if key != queue.key or not known:
            yield f"{key!a} is no queue of {queue.supervisor_id}"
        for agent_id in queue.agents:
            agent = state.agents[agent_id]
            if key not in agent.queues or not (queue.shared or agent.supervisor_id == queue.supervisor_id):
                yield f"{key!a} is served by {agent_id}, which does not know it"


def queues_know_who_is_free(state: State) -> Iterator[str]:
    """Whoever serves a queue is known to it; who is full or away is not free."""
    for agent in state.agents.values():
        for key in agent.queues:
            if agent.id in state.queues[key].free and not agent.has_room:
                yield f"{agent.id} is full and free for {key}"
            if agent.id in state.queues[key].free and lacks_process(state, agent):
                yield f"{agent.id} is free for {key}, and no process is free for it"
            if agent.id in state.queues[key].free and agent.away and not key.startswith("back:"):
                yield f"{agent.id} is away and free for {key}"


def processes_are_counted_at_every_level(state: State) -> Iterator[str]:
    """Who works in processes is known; each attempt that holds one is at work, and is counted by everybody above."""
    known = {agent.id for agent in state.agents.values() if state.spec_of(agent).run_in == "process"}
    if known != set(state.process_agents):
        yield f"{known} work in processes, and the state says {list(state.process_agents)}"
    used: Counter[str] = Counter()
    for task_id in state.in_process:
        task = state.tasks.get(task_id)
        agent = state.agents.get(task.agent_id or "") if task is not None else None
        if agent is None or task_id not in agent.running:
            yield f"{task_id} holds a process and is not at work"
            continue
        used.update(above.id for above in above_of(state, state.supervisors[agent.supervisor_id]))
    for agent in state.agents.values():
        for task_id, generation in agent.running.items():
            attempt = state.tasks[task_id].attempt if task_id in state.tasks else None
            needs = attempt is not None and attempt.in_process
            if needs != (task_id in state.in_process) or (
                needs != (agent.id in known) and generation == agent.generation
            ):
                yield f"{task_id} is at work on {agent.id}, and it is not known whether in a process"
    for supervisor in state.supervisors.values():
        if supervisor.processes != used[supervisor.id]:
            yield f"{supervisor.id} counts {supervisor.processes} processes under it; {used[supervisor.id]} are"
    default = sum(used[root.id] for root in state.roots if root.options.processes is None)
    if state.processes != default:
        yield f"the state counts {state.processes} processes where no limit is set; {default} are"


def ready_tasks_wait(state: State) -> Iterator[str]:
    """What stands in a queue waits to be started, or to go on."""
    for queue in state.queues.values():
        for task_id in queue.ready:
            status = state.tasks[task_id].status
            waits = status is TaskStatus.WAITING or status is TaskStatus.PREEMPTED
            if waits == queue.key.startswith("back:"):
                yield f"{task_id} is {state.tasks[task_id].status} and stands in {queue.key}"


def what_waits_for_a_budget_is_not_ready(state: State) -> Iterator[str]:
    """Nothing that is held stands where it could be begun."""
    for queue in state.queues.values():
        for task_id in queue.ready:
            if not queue.key.startswith("back:") and is_held(state, state.tasks[task_id]):
                yield f"{task_id} is held and stands in {queue.key}"


LAWS_OF_SLOTS: tuple[Callable[[State], Iterator[str]], ...] = (
    nothing_is_left_to_start,
    slots_are_held_by_attempts,
    supervisors_keep_their_limits,
    queues_know_who_serves_them,
    queues_know_who_is_free,
    processes_are_counted_at_every_level,
    ready_tasks_wait,
    what_waits_for_a_budget_is_not_ready,
)
