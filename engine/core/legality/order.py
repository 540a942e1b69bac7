"""Laws of order: which task begins next, and who may begin any."""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import TypeAlias

from engine.core.balancing import RULES
from engine.core.fold.lanes import ageing_ms, rank_of
from engine.core.fold.openings import ROOTS_MS
from engine.core.fold.pressing import urgent_from
from engine.core.fold.queues import is_held, stands
from engine.core.hierarchy import above_of
from engine.core.inheritance import inherited
from engine.core.queries.processes import lacks_process
from engine.core.queries.takers import is_of_few, not_begun
from engine.core.state import Ranking, State, Supervisor, TaskStatus


def lanes_hold_what_is_ready(state: State) -> Iterator[str]:
    """The lanes of a queue hold each of its ready tasks once, under its priority and its run, and nothing else."""
    for queue in state.queues.values():
        found = [
            (task_id, priority, run_id)
            for priority, lane in queue.lanes.items()
            for run_id, turn in lane.items()
            for task_id in turn.tasks
        ]
        if Counter(task_id for task_id, _, _ in found) != Counter(list(queue.ready)):
            yield f"{queue.key} has {found} in its lanes, and {list(queue.ready)} ready"
        for task_id, priority, run_id in found:
            task = state.tasks[task_id]
            if (task.priority, task.run_id) != (priority, run_id):
                yield f"{task_id} of priority {task.priority} stands in the lane {priority} of {run_id}"
        if not all(lane and all(turn.tasks for turn in lane.values()) for lane in queue.lanes.values()):
            yield f"{queue.key} has a lane or a turn without tasks"


def runs_are_served_in_order(state: State) -> Iterator[str]:
    """What became ready first stands first in a run, and the run that waits longest for its turn, wherever it was."""
    for queue in state.queues.values():
        for lane in queue.lanes.values():
            since = [turn.since_seq for turn in lane.values()]
            if since != sorted(since):
                yield f"{queue.key} lets {list(lane)} take turns, which wait since {since}"
            for run_id, turn in lane.items():
                arrivals = [(queue.ready[task_id], int(task_id[1:])) for task_id in turn.tasks]
                if not queue.key.startswith("back:") and arrivals != sorted(arrivals):
                    yield f"{queue.key} serves {list(turn.tasks)} of {run_id}, which became ready at {arrivals}"
                if turn.since_seq < queue.ready[next(iter(turn.tasks))]:
                    yield f"{queue.key} lets {run_id} wait for its turn for longer than any task of it waits"
                if turn.since_ms > state.at_ms:
                    yield f"{queue.key} lets {run_id} wait since a time to come"


def ready_tasks_know_since_when(state: State) -> Iterator[str]:
    """A task that waits to begin knows since when, and its queue knows the same."""
    for queue in state.queues.values():
        for task_id, seq in queue.ready.items():
            task = state.tasks[task_id]
            if not queue.key.startswith("back:") and task.ready_seq != seq:
                yield f"{task_id} became ready at {task.ready_seq}, and {queue.key} says {seq}"
            if task.ready_ms > state.at_ms:
                yield f"{task_id} is ready since a time to come"


def settings_are_known(state: State) -> Iterator[str]:
    """What is looked up for every task is what was set here or above."""
    for supervisor in state.supervisors.values():
        if supervisor.ageing_ms != ageing_ms(state, supervisor):
            yield f"{supervisor.id} ages in {supervisor.ageing_ms} ms; {ageing_ms(state, supervisor)} were set"
        if urgent_from(state, supervisor) > state.urgent_to:
            yield f"{supervisor.id} takes slots to {urgent_from(state, supervisor)}; it is said {state.urgent_to}"


def rankings_are_right_on_top(state: State) -> Iterator[str]:
    """What is ranked stands in a heap with the rank that it has, and the first of it on top."""
    for whose, ranking in _rankings(state):
        heap = ranking.heap
        if bool(heap) != bool(ranking.ranks):
            yield f"{whose} ranks {len(ranking.ranks)} and has {len(heap)} in its heap"
            continue
        for key, order in ranking.ranks.items():
            if (*order, key) not in heap:
                yield f"{whose} ranks {key}, which is not in its heap"
        if heap and ranking.ranks.get(heap[0][3]) != heap[0][:3]:
            yield f"{whose} has {heap[0]} on top, which is not ranked like that"
        if any(heap[place] < heap[(place - 1) // 2] for place in range(1, len(heap))):
            yield f"{whose} has a heap that is none"


def _rankings(state: State) -> Iterator[tuple[str, Ranking]]:
    yield "the state", state.offers
    for supervisor in state.supervisors.values():
        yield f"{supervisor.id} (own)", supervisor.own
        yield f"{supervisor.id} (below)", supervisor.offers
    for queue in state.queues.values():
        if queue.best is not None:
            yield queue.key, queue.best


def open_queues_are_ranked(state: State) -> Iterator[str]:
    """A supervisor ranks its queues that have both a ready task and a free agent, and no others."""
    opened: dict[str, dict[str, int]] = {supervisor_id: {} for supervisor_id in state.supervisors}
    for queue in state.queues.values():
        if queue.ready and queue.free:
            rank = rank_of(state.supervisors[queue.supervisor_id], queue)
            opened[queue.supervisor_id][queue.key] = rank
            ranking = state.supervisors[queue.supervisor_id]
            if (queue.key in ranking.offers.ranks) != queue.shared:
                yield f"{queue.key} stands among queues of another kind"
    for supervisor in state.supervisors.values():
        both = (*supervisor.own.ranks.items(), *supervisor.offers.ranks.items())
        ranked = {key: rank for key, (rank, _, _) in both if key in state.queues}
        if ranked != opened[supervisor.id]:
            yield f"{supervisor.id} ranks {ranked}; open are {opened[supervisor.id]}"


def free_agents_are_ranked(state: State) -> Iterator[str]:
    """Where a rule says who gets a task, each free agent has the rank that it gives."""
    for queue in state.queues.values():
        rule = inherited(state, state.supervisors[queue.supervisor_id], "balance", "round_robin")
        is_ranked = queue.key.startswith("able:")
        if is_ranked != (queue.best is not None):
            yield f"{queue.key} {'ranks its agents by' if queue.best is not None else 'has no ranks for'} {rule}"
        elif queue.best is not None:
            ranked = dict(queue.best.ranks)
            free = (state.agents[agent_id] for agent_id in queue.free)
            due = {agent.id: (RULES[rule](agent), agent.turn_seq, int(agent.id[1:])) for agent in free}
            if ranked != due:
                yield f"{queue.key} ranks {ranked} by {rule}; that is {due}"


def shared_queues_know_who_is_let(state: State) -> Iterator[str]:
    """Of a queue that several teams share, those are free who could begin something were it their own team's."""
    if {key for key, queue in state.queues.items() if queue.shared} != set(state.shared):
        yield f"the state says that {list(state.shared)} are shared"
    for queue in (state.queues[key] for key in state.shared if key in state.queues):
        for agent_id in queue.agents:
            agent = state.agents[agent_id]
            team = state.supervisors[agent.supervisor_id]
            if queue.supervisor_id not in {one.id for one in above_of(state, team)}:
                yield f"{agent_id} serves {queue.key} and does not stand below {queue.supervisor_id}"
            between = list(takewhile(lambda one: one.id != queue.supervisor_id, above_of(state, team)))  # noqa: B023
            shut = (
                lacks_process(state, agent)
                or team.running >= team.max_parallel
                or any(
                    one.paused
                    or one.held
                    or (one.taken and is_of_few(queue.key))
                    or (one.options.max_total is not None and one.total >= one.options.max_total)
                    for one in between
                )
            )
            if agent_id in queue.free and (shut or not agent.has_room):
                yield f"{agent_id} is free for {queue.key} and may begin nothing"
            spent = any(one.exhausted for one in between)
            if agent_id not in queue.free and agent.takes_tasks and not shut and not spent:
                yield f"{agent_id} could take a task of {queue.key} and is not free for it"


def what_begins_next_is_known(state: State) -> Iterator[str]:
    """Each supervisor with a slot offers the best that it has, compared by its own ageing; the best of all is next."""
    heads = [head for root in state.roots if (head := _head(state, root)) is not None]
    if bool(heads) != bool(state.offers.heap):
        yield f"{heads} can begin, and the state says {state.offers.heap[:1]}"
    elif heads and (rank := min(_rank(head, ROOTS_MS) for head in heads)) != state.offers.heap[0][0]:
        yield f"what is next has the rank {rank}, and the state says {state.offers.heap[0]}"


_Head: TypeAlias = tuple[int, int, int]
"""What begins first: its rank if it is an attempt that goes on, else 0; its priority; since when it waits."""


def _head(state: State, supervisor: Supervisor) -> _Head | None:
    if supervisor.options.max_total is not None and supervisor.total >= supervisor.options.max_total:
        return None
    has_slot = supervisor.running < supervisor.max_parallel
    heads: list[_Head] = []
    for queue in state.queues.values():
        is_open = queue.supervisor_id == supervisor.id and queue.ready and queue.free
        if is_open and (queue.shared or has_slot):
            firsts = [(priority, next(iter(lane.values())).since_ms) for priority, lane in queue.lanes.items()]
            priority, since_ms = min(firsts, key=lambda each: _rank((0, *each), supervisor.ageing_ms))
            rank = rank_of(supervisor, queue)
            heads.append((min(rank, 0), priority, since_ms))
    below = (state.supervisors[one] for one in supervisor.members if one in state.supervisors)
    heads += [head for one in below if (head := _head(state, one)) is not None]
    best = min(heads, key=lambda head: _rank(head, supervisor.ageing_ms), default=None)
    stands_still = supervisor.paused or supervisor.held
    return None if best is None or (stands_still and not best[0]) else best


def _rank(head: _Head, ageing: int) -> int:
    back, priority, since_ms = head
    return back or priority * ageing + since_ms


def what_a_team_has_taken_is_to_begin(state: State) -> Iterator[str]:
    """A team remembers what it has taken of several members' work while nobody below it has begun with that.

    While it is paused it keeps none of that from the others.
    """
    for supervisor in state.supervisors.values():
        for task_id in supervisor.taken:
            task = state.tasks.get(task_id)
            if task is None or task.kind != "group" or task.ended or task.begun_ms is not None:
                yield f"{supervisor.id} has taken {task_id}, which is not to begin"
        for task in not_begun(state, supervisor):
            yield f"{supervisor.id} keeps {task.id} from those with whom it shares it, and is paused"


def slots_are_counted_at_every_level(state: State) -> Iterator[str]:
    """A supervisor counts the slots under it at any level, and knows what holds its own, by priority."""
    total: Counter[str] = Counter()
    for supervisor in state.supervisors.values():
        for above in above_of(state, supervisor):
            total[above.id] += supervisor.running
    for supervisor in state.supervisors.values():
        if supervisor.total != total[supervisor.id]:
            yield f"{supervisor.id} counts {supervisor.total} at work under it; {total[supervisor.id]} are"
        held = {(t.id, t.priority) for a in state.agents.values() if a.supervisor_id == supervisor.id
                for t in (state.tasks[task_id] for task_id in a.running)}  # fmt: skip
        known = {(task_id, priority) for priority, ids in supervisor.at_work.items() for task_id in ids}
        if held != known:
            yield f"{supervisor.id} knows {known} to be at work; {held} are"


def preempted_tasks_wait(state: State) -> Iterator[str]:
    """What was made to wait stands in a queue, or is held back by a pause or a budget."""
    for task in state.tasks.values():
        if task.status is TaskStatus.PREEMPTED and not stands(state, task) and not is_held(state, task):
            yield f"{task.id} was made to wait and waits nowhere"


def urgent_tasks_are_known(state: State) -> Iterator[str]:
    """Who is urgent, ready and without a slot to come is known; one attempt stops for a task, and knows for which."""
    for queue in state.queues.values():
        for task_id in queue.ready if not queue.key.startswith("back:") else ():
            task = state.tasks[task_id]
            urgent = urgent_from(state, state.supervisors[queue.supervisor_id])
            presses = task.taking is None and task.priority <= urgent
            if presses != (task_id in state.urgent):
                yield f"{task_id} {'presses' if presses else 'does not press'}, and the state says otherwise"
    for task_id in state.urgent:
        task = state.tasks[task_id]
        if task.queue is None or task_id not in state.queues[task.queue].ready:
            yield f"{task_id} is urgent and does not wait"
    for task in state.tasks.values():
        if task.taking is not None:
            other = state.tasks[task.taking]
            if other.yields_to != task.id or other.attempt is None or other.attempt.stopping is None:
                yield f"{task.id} waits for the slot of {other.id}, which does not stop for it"


def runs_wait_for_open_runs(state: State) -> Iterator[str]:
    """A run waits for runs that are open and know it, and has not begun."""
    for run in state.runs.values():
        for other_id in run.after:
            if run.id not in state.runs[other_id].before:
                yield f"{run.id} waits for {other_id}, which does not know it"
        for other_id in run.before:
            if run.id not in state.runs[other_id].after:
                yield f"{run.id} lets {other_id} wait, which does not know it"
        if run.after and state.tasks[run.root_id].children:
            yield f"{run.id} waits for {run.after} and has begun"


LAWS_OF_ORDER: tuple[Callable[[State], Iterator[str]], ...] = (
    lanes_hold_what_is_ready,
    runs_are_served_in_order,
    ready_tasks_know_since_when,
    settings_are_known,
    rankings_are_right_on_top,
    open_queues_are_ranked,
    free_agents_are_ranked,
    shared_queues_know_who_is_let,
    what_begins_next_is_known,
    what_a_team_has_taken_is_to_begin,
    slots_are_counted_at_every_level,
    preempted_tasks_wait,
    urgent_tasks_are_known,
    runs_wait_for_open_runs,
)
