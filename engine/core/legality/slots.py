"""Laws of slots and queues: which attempts hold a slot, which tasks wait for one, and which agents are free.

The numbers of the schedule are counted again here, directly from the state. `legality.schedule` checks that an updated
schedule equals a new one.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import takewhile

from engine.core.fold.queues import is_held, is_pending
from engine.core.queries.team.tree import inherited_option, lineage_of
from engine.core.queries.work.queues import back_queue, is_for_named_members, is_shared, unstartable_items
from engine.core.scheduler import Schedule
from engine.core.specs.options import Preempt
from engine.core.state import Queue, State, Supervisor, TaskStatus


def nothing_is_left_to_start(state: State) -> Iterator[str]:
    """A step of the engine does not end while a ready task could start in a free slot."""
    for root_id in Schedule.of(state).roots.ranks:
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


def slots_are_counted_at_every_level(state: State) -> Iterator[str]:
    """The schedule counts the slots and the processes under each supervisor."""
    own = Counter[str]()
    total = Counter[str]()
    processes = Counter[str]()
    unlimited_processes = 0
    for agent in state.agents.values():
        own[agent.supervisor_id] += len(agent.running)
        lineage = list(lineage_of(state, state.supervisors[agent.supervisor_id]))
        for task_id in agent.running:
            task = state.tasks[task_id]
            in_process = task.attempt is not None and task.attempt.in_process
            total.update(supervisor.id for supervisor in lineage)
            processes.update(supervisor.id for supervisor in lineage if in_process)
            unlimited_processes += in_process and lineage[-1].options.processes is None
    schedule = Schedule.of(state)
    for key, slots in schedule.slots.items():
        counted = own[key], total[key] if key in slots.capped else 0, processes[key]
        if (slots.running, slots.total, slots.processes) != counted:
            yield f"{key} counts {(slots.running, slots.total, slots.processes)} slots and processes; {counted} are"
    if schedule.processes != unlimited_processes:
        yield f"{schedule.processes} processes are counted where no limit is set; {unlimited_processes} are"


def full_or_away_agents_are_not_free(state: State) -> Iterator[str]:
    """An agent without a free slot, or whose code is away, is not free for any queue."""
    schedule = Schedule.of(state)
    for key, ready_queue in schedule.queues.items():
        for agent in (state.agents[agent_id] for agent_id in ready_queue.free):
            if not agent.has_room or schedule.lacks_process(state, agent) or (agent.away and not ready_queue.is_back):
                yield f"{agent.id} is free for {key}, and is full, away, or without a process"


def attempts_know_whether_they_hold_a_process(state: State) -> Iterator[str]:
    """An attempt of the current generation holds a process where its agent works in processes, and nowhere else."""
    for agent in state.agents.values():
        needs = state.spec_of(agent).run_in == "process"
        for task_id, generation in agent.running.items():
            attempt = state.tasks[task_id].attempt
            if attempt is not None and generation == agent.generation and attempt.in_process != needs:
                yield f"{task_id} is at work on {agent.id}, and it is not known whether in a process"


def ready_tasks_wait(state: State) -> Iterator[str]:
    """A task in a queue waits to start or to resume; it is not on hold, and the queue counts it."""
    waiting: Counter[str] = Counter()
    for task in state.tasks.values():
        attempt = task.attempt
        if task.ready:
            waiting[task.queue or ""] += 1
            waits = task.status is TaskStatus.WAITING or task.status is TaskStatus.PREEMPTED
            if not waits or task.ready_seq is None or task.ready_ms > state.at_ms or is_held(state, task):
                yield f"{task.id} is {task.status} and stands in {task.queue}"
        elif attempt is not None and attempt.back_seq is not None:
            waiting[back_queue(attempt.agent_id or "")] += 1
            if not attempt.parked:
                yield f"{task.id} waits for a slot and has one"
        if attempt is not None and attempt.wants_slot and (attempt.back_seq is None or not attempt.parked):
            yield f"{task.id} wants a slot and does not wait for one"
        if attempt is not None and attempt.parked:
            if not (attempt.waits or attempt.parked_for is not None or attempt.back_seq is not None):
                yield f"{task.id} is parked and waits for nothing"
        elif attempt is not None and (attempt.parked_for, attempt.until_ms) != (None, None):
            yield f"{task.id} holds a slot and waits without one"
    for key in {*waiting, *state.queues}:
        if key not in state.queues or state.queues[key].ready != waiting[key]:
            yield f"{key} does not count the {waiting[key]} tasks that stand in it"


def shared_queues_list_their_free_agents(state: State) -> Iterator[str]:
    """For a shared queue exactly the agents are free that could begin a task of their own team."""
    schedule = Schedule.of(state)
    for queue in (queue for key, queue in state.queues.items() if is_shared(key)):
        ready_queue = schedule.queues.get(queue.key)
        for agent_id in queue.agents:
            agent = state.agents[agent_id]
            team = state.supervisors[agent.supervisor_id]
            if queue.supervisor_id not in {supervisor.id for supervisor in lineage_of(state, team)}:
                yield f"{agent_id} serves {queue.key} and does not stand below {queue.supervisor_id}"
            between = list(takewhile(lambda supervisor: supervisor.id != queue.supervisor_id, lineage_of(state, team)))  # noqa: B023
            is_shut = (
                schedule.lacks_process(state, agent)
                or schedule.slots[team.id].running >= team.max_parallel
                or any(_is_blocked(schedule, supervisor, queue) for supervisor in between)
            )
            is_free = ready_queue is not None and agent_id in ready_queue.free
            if is_free and (is_shut or not agent.has_room):
                yield f"{agent_id} is free for {queue.key} and may begin nothing"
            can_take = agent.takes_tasks and not is_shut and not any(supervisor.exhausted for supervisor in between)
            if can_take and not is_free:
                yield f"{agent_id} could take a task of {queue.key} and is not free for it"


def _is_blocked(schedule: Schedule, supervisor: Supervisor, queue: Queue) -> bool:
    """Return whether a supervisor lets no agent below it take a task of a shared queue."""
    max_total = supervisor.options.max_total
    is_full = max_total is not None and schedule.slots[supervisor.id].total >= max_total
    has_taken = bool(supervisor.taken) and is_for_named_members(queue.key)
    return supervisor.paused or supervisor.held or is_full or has_taken


def taken_items_have_not_begun(state: State) -> Iterator[str]:
    """A team lists an item that it has taken from a shared queue until an agent below it has begun with it.

    While the team is paused, or a person is asked about its budget, it holds no item that others could do.
    """
    for supervisor in state.supervisors.values():
        for task_id in supervisor.taken:
            task = state.tasks.get(task_id)
            if task is None or task.kind != "group" or task.ended or task.begun_ms is not None:
                yield f"{supervisor.id} has taken {task_id}, which is not to begin"
        for task in unstartable_items(state, supervisor):
            yield f"{supervisor.id} keeps {task.id} from those with whom it shares it, and may not begin"


def preempted_tasks_wait(state: State) -> Iterator[str]:
    """A preempted task stands in a queue, or is held back by a pause or a budget."""
    for task in state.tasks.values():
        if task.status is TaskStatus.PREEMPTED and not is_pending(task) and not is_held(state, task):
            yield f"{task.id} was made to wait and waits nowhere"


def urgent_tasks_are_known(state: State) -> Iterator[str]:
    """The schedule lists every urgent task that is ready and for which no attempt was asked to give up its slot."""
    urgent = Schedule.of(state).urgent
    for task in state.tasks.values():
        home = state.queues[task.queue or ""].supervisor_id if task.ready else ""
        preempt: Preempt = inherited_option(state, state.supervisors[home], "preempt", Preempt()) if home else Preempt()
        presses = task.ready and task.taking is None and preempt.at != "never" and task.priority <= preempt.urgent
        if presses != (task.id in urgent):
            yield f"{task.id} {'presses' if presses else 'does not press'}, and the schedule says otherwise"


def preempted_attempts_know_their_task(state: State) -> Iterator[str]:
    """The attempt that stops for an urgent task records the id of that task."""
    for task in state.tasks.values():
        if task.taking is not None:
            other = state.tasks[task.taking]
            if other.yields_to != task.id or other.attempt is None or other.attempt.stopping is None:
                yield f"{task.id} waits for the slot of {other.id}, which does not stop for it"
