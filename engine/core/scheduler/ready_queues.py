"""Ready queues: priority levels with ageing, round robin between the runs of a level, FIFO within a run.

Between levels the smallest `priority * ageing_ms + since_ms` goes first. It does not depend on the present time, so the
order of two tasks never changes by itself and nothing is sorted again. A run waits since its first task became ready,
or since its last turn (`Run.turns`) if that is later; the turn of a task that returned to its queue does not count.
Thus many old tasks of one run do not starve urgent ones, and still get turns.

Operations are O(1) in the number of tasks, except for a task that returns to its old place: that scans the runs, and
the tasks of its run, that have waited longer. A `Ranking` is a heap with lazy deletion.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush, heapreplace
from itertools import islice, takewhile
from typing import Any, TypeAlias

from engine.core.queries.work.queues import is_shared, turn_key
from engine.core.state import Queue, Run
from engine.core.validation.bounds import LOWEST_PRIORITY

Order: TypeAlias = tuple[int, int, int]
"""Rank, number of the event since which the key waits, number of its id; the smallest goes first."""
MAX_STALE_ENTRIES = 16
"""A heap is rebuilt when it has more stale entries than valid ones plus this many."""


class Ranking:
    """A priority queue of keys whose order may change.

    Attributes:
        ranks: The order of each key.
        heap: The same as a heap. Entries that differ from `ranks` are stale, except that the top is always valid.
    """

    __slots__ = ("heap", "ranks")

    def __init__(self) -> None:
        self.ranks: dict[str, Order] = {}
        self.heap: list[tuple[int, int, int, str]] = []

    def put(self, key: str, order: Order) -> None:
        """Insert a key, or replace its order."""
        ranks, heap = self.ranks, self.heap
        ranks[key] = order
        # The usual case, one open queue or one free agent: resetting the heap drops the stale entries at no cost.
        if len(ranks) == 1:
            heap[:] = [(*order, key)]
            return
        heappush(heap, (*order, key))
        if len(heap) > 2 * len(ranks) + MAX_STALE_ENTRIES:
            heap[:] = [(*order, key) for key, order in ranks.items()]
            heapify(heap)
        else:
            self._clear_top()

    def drop(self, key: str) -> None:
        """Remove a key, if it is there."""
        if self.ranks.pop(key, None) is None:
            return
        if self.ranks:
            self._clear_top()
        else:
            self.heap.clear()

    def _clear_top(self) -> None:
        ranks, heap = self.ranks, self.heap
        while ranks.get(heap[0][3]) != heap[0][:3]:
            heappop(heap)


RESUME_OFFSET = -(10**17)
"""Offset of the ranks of attempts that resume, which come before every new attempt."""
Arrival: TypeAlias = tuple[int, int, int]
"""Number of the event that made a task ready, number of the task, time of that event."""


class RunTurn:
    """The ready tasks of one run in one priority level, and its place in the round robin of that level.

    Attributes:
        since: Number of the event since which the run waits for its turn, and the number of the run.
        since_ms: The time of that event.
        tasks: The tasks in order of arrival; an `OrderedDict` from the second on.
    """

    __slots__ = ("since", "since_ms", "tasks")

    def __init__(self, number: int, task_id: str, arrival: Arrival) -> None:
        self.since = (-1, number)
        self.since_ms = 0
        self.tasks: dict[str, Arrival] = {task_id: arrival}


PriorityLevel: TypeAlias = dict[str, RunTurn]
"""The runs with ready tasks of one priority; the run that has waited longest for its turn is first. An `OrderedDict`
from the second run on, as the tasks of a run from the second task on: most queues are of one agent, with one task.
"""


class ReadyQueue:
    """The ready tasks of a queue and the agents that are free for it.

    Attributes:
        levels: The priority levels with ready tasks; no level is empty.
        free: Agents that could take a task now.
        best: The free agents ranked by the supervisor's `balance` rule; None for the queue of a single agent.
        conditional: Agents that are free only while no other agent of the queue can take the task: a budget is spent.
    """

    __slots__ = ("best", "conditional", "free", "is_back", "key", "levels", "shared", "supervisor_id")

    def __init__(self, queue: Queue) -> None:
        self.key = queue.key
        self.supervisor_id = queue.supervisor_id
        self.shared = is_shared(queue.key)
        self.is_back = queue.key.startswith("back:")
        self.levels: dict[int, PriorityLevel] = {}
        self.free: dict[str, None] = {}
        self.best: Ranking | None = Ranking() if queue.key.startswith("able:") else None
        self.conditional: dict[str, None] = {}

    def put(self, task_id: str, run: Run, *, priority: int, seq: int, ms: int, now: int) -> None:
        """Add a task that waits since event `seq`; `now` is the last event."""
        run_id, arrival = run.id, (seq, int(task_id[1:]), ms)
        level = self.levels.get(priority)
        if level is None:
            level = self.levels[priority] = {}
        turn = level.get(run_id)
        if turn is None:
            if level and type(level) is dict:
                level = self.levels[priority] = OrderedDict(level)
            turn = level[run_id] = RunTurn(int(run_id[1:]), task_id, arrival)
            if seq == now and len(level) == 1:
                turn.since, turn.since_ms = (seq, turn.since[1]), ms  # no turn of the run can be later
            else:
                self._update_turn_start(level, run_id, turn, run, priority)
            return
        tasks = turn.tasks
        if type(tasks) is dict:
            tasks = turn.tasks = OrderedDict(tasks)
        # Almost every task arrives last; only those that return with their old `seq` have to be moved.
        is_last = next(reversed(tasks.values())) < arrival
        tasks[task_id] = arrival
        if not is_last:
            _move_to_place(tasks, task_id, tasks.__getitem__)
        if next(iter(tasks.values()))[0] != turn.since[0]:
            self._update_turn_start(level, run_id, turn, run, priority)

    def take(self, task_id: str, run_id: str, run: Run | None, *, priority: int) -> None:
        """Remove a task; `run` is None if the run has ended."""
        level = self.levels[priority]
        turn = level[run_id]
        del turn.tasks[task_id]
        if turn.tasks:
            self._update_turn_start(level, run_id, turn, run, priority)
            return
        del level[run_id]
        if not level:
            del self.levels[priority]

    def revert_turn(self, run: Run, priority: int) -> None:
        """Recompute the place of a run whose last turn no longer counts, because its task is held back again."""
        level = self.levels.get(priority, {})
        if (turn := level.get(run.id)) is not None:
            self._update_turn_start(level, run.id, turn, run, priority)

    def _update_turn_start(
        self, level: PriorityLevel, run_id: str, turn: RunTurn, run: Run | None, priority: int
    ) -> None:
        """Set since when a run waits: since its first ready task, or its last turn if that is later."""
        seq, _, since_ms = next(iter(turn.tasks.values()))
        served = run.turns.get(turn_key(priority, self.key)) if run is not None and run.turns else None
        if served is not None and served[1] > seq:
            since_ms, seq = served[0], served[1]
        turn.since_ms = since_ms
        if seq != turn.since[0]:
            turn.since = (seq, turn.since[1])
            if len(level) > 1:
                _move_to_place(level, run_id, lambda key: level[key].since)

    def order(self, ageing_ms: int) -> Order:
        """Return the rank among the queues of its supervisor; the queue must not be empty."""
        priority, turn = self._first(ageing_ms)
        rank = priority * ageing_ms + turn.since_ms
        return rank + RESUME_OFFSET if self.is_back else rank, turn.since[0], next(iter(turn.tasks.values()))[1]

    def next_task(self, ageing_ms: int) -> str:
        """Return the id of the task whose turn it is; the queue must not be empty."""
        return next(iter(self._first(ageing_ms)[1].tasks))

    def rank_under_parent(self, ageing_ms: int, parent_ageing_ms: int) -> int:
        """Return the rank under a supervisor with ageing `parent_ageing_ms`; not for queues of resuming attempts."""
        priority, turn = self._first(ageing_ms)
        return priority * parent_ageing_ms + turn.since_ms

    def _first(self, ageing_ms: int) -> tuple[int, RunTurn]:
        levels = self.levels
        if len(levels) == 1:
            for priority, level in levels.items():
                # Loops that return at once take half the time of `next(iter(…))`; this runs for each dispatch.
                for turn in level.values():
                    return priority, turn
        firsts = ((priority, next(iter(level.values()))) for priority, level in levels.items())
        return min(firsts, key=lambda first: (first[0] * ageing_ms + first[1].since_ms, first[0]))

    def in_order(self, ageing_ms: int, at_ms: int, *, lowest_priority: int = LOWEST_PRIORITY) -> Iterator[str]:
        """Yield the ready tasks in the order in which they would begin at `at_ms`.

        Args:
            ageing_ms: Waiting time that equals one priority level, at the supervisor of the queue.
            at_ms: The time of the state.
            lowest_priority: The least urgent priority to include.
        """
        levels: list[tuple[int, int, deque[tuple[int, int, Iterator[str]]]]] = []
        for priority, level in self.levels.items():
            if priority <= lowest_priority:
                turns = deque((turn.since_ms, len(turn.tasks), iter(turn.tasks)) for turn in level.values())
                levels.append((priority * ageing_ms + turns[0][0], priority, turns))
        heapify(levels)
        while levels:
            _, priority, turns = levels[0]
            _, remaining, tasks = turns.popleft()
            yield next(tasks)
            # The task just yielded would use the turn of its run, which goes to the end of the round robin.
            if remaining > 1:
                turns.append((at_ms, remaining - 1, tasks))
            if turns:
                heapreplace(levels, (priority * ageing_ms + turns[0][0], priority, turns))
            else:
                heappop(levels)


def _move_to_place(queue: dict[str, Any], moved_key: str, since: Callable[[str], Any]) -> None:
    """Move one entry to its place in a dict of at least two that is otherwise ordered by `since`."""
    assert isinstance(queue, OrderedDict)
    queue.move_to_end(moved_key)
    _, before = islice(reversed(queue), 2)
    if since(before) < since(moved_key):
        return
    moved_order = since(moved_key)
    # An OrderedDict moves entries only to an end: the entry goes to the front, then everything earlier goes before it.
    earlier = list(takewhile(lambda key: since(key) < moved_order, queue))
    queue.move_to_end(moved_key, last=False)
    for key in reversed(earlier):
        queue.move_to_end(key, last=False)
