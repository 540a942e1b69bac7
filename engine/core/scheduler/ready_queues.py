"""The order of what is ready in a queue: a lane a priority, in it a turn a run, then first come, first served.

Runs of a lane take turns, one task each. Between lanes the one goes first whose next task is the more urgent, where a
priority is worth `ageing_ms` of waiting: that is `priority * ageing_ms + since_ms`, the least first, so that which of
two goes first never changes with time alone, and nothing has to be sorted anew. A run waits since its first task became
ready, or since its last turn (`Run.turns`) where that is later; a turn does not count whose task has gone back to its
place. So many tasks of one run that have waited for long do not shut out the urgent ones, and still get a turn in time.

Everything here is O(1) in the number of tasks, except for a task that goes back to its place: that looks at the runs,
and at the tasks of its own, that have waited for longer. A `Ranking` keeps keys in the order of their ranks.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heappush, heapreplace
from itertools import takewhile
from typing import Any, TypeAlias

from engine.core.queries.queues import is_shared, turn_key
from engine.core.state import Queue, Run
from engine.core.validation.bounds import LOWEST_PRIORITY

Order: TypeAlias = tuple[int, int, int]
"""A rank, the event since which the key waits, and the number of an id; the least goes first."""
STALE = 16
"""A heap has at most so many stale entries besides as many as are valid."""


class Ranking:
    """Keys by their order.

    Attributes:
        ranks: The order of each key.
        heap: The same, with stale entries; empty where `ranks` is.
    """

    __slots__ = ("heap", "ranks")

    def __init__(self) -> None:
        self.ranks: dict[str, Order] = {}
        self.heap: list[tuple[int, int, int, str]] = []

    def put(self, key: str, order: Order) -> None:
        """Give a key its order, in place of the one that it may have."""
        ranks, heap = self.ranks, self.heap
        ranks[key] = order
        if len(ranks) == 1:
            heap[:] = [(*order, key)]
            return
        heappush(heap, (*order, key))
        if len(heap) > 2 * len(ranks) + STALE:
            heap[:] = [(*order, key) for key, order in ranks.items()]
            heapify(heap)
        else:
            self._clear_top()

    def drop(self, key: str) -> None:
        """Take out a key, if it is there."""
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


BACK = -(10**17)
"""Ranks of attempts that go on lie this much before all others."""
Arrival: TypeAlias = tuple[int, int, int]
"""The event that made a task ready, the number of the task, and the time of that event."""


class Turn:
    """The ready tasks of one run in one lane of a queue.

    Attributes:
        since: The event since which it waits for its turn, and the number of its run.
        since_ms: The time of that event.
        tasks: By their arrival, the first first.
    """

    __slots__ = ("since", "since_ms", "tasks")

    def __init__(self, number: int) -> None:
        self.since = (-1, number)
        self.since_ms = 0
        self.tasks: OrderedDict[str, Arrival] = OrderedDict()


Lane: TypeAlias = OrderedDict[str, Turn]
"""Ready tasks of one priority by their run; the run that has waited longest for its turn stands first."""


class Line:
    """A queue as the scheduler sees it.

    Attributes:
        lanes: Its ready tasks, by priority and run; none of them is empty.
        free: Agents that could take one now.
        best: The same by the rule of the supervisor, of equal ones who waits longest; None where it is one agent.
        bound: Agents that are free or not by what others of the queue can do, because a budget is spent.
    """

    __slots__ = ("best", "bound", "free", "is_back", "key", "lanes", "shared", "supervisor_id")

    def __init__(self, queue: Queue) -> None:
        self.key = queue.key
        self.supervisor_id = queue.supervisor_id
        self.shared = is_shared(queue.key)
        self.is_back = queue.key.startswith("back:")
        self.lanes: dict[int, Lane] = {}
        self.free: dict[str, None] = {}
        self.best: Ranking | None = Ranking() if queue.key.startswith("able:") else None
        self.bound: dict[str, None] = {}

    def put(self, task_id: str, run: Run, *, priority: int, seq: int, ms: int) -> None:
        """Let a task wait in its lane since the event `seq`."""
        lane = self.lanes.get(priority)
        if lane is None:
            lane = self.lanes[priority] = OrderedDict()
        turn = lane.get(run.id)
        arrival = (seq, int(task_id[1:]), ms)
        if turn is None:
            turn = lane[run.id] = Turn(int(run.id[1:]))
            turn.tasks[task_id] = arrival
            self._time(lane, run.id, turn, run, priority)
            return
        tasks = turn.tasks
        is_last = not tasks or next(reversed(tasks.values())) < arrival
        tasks[task_id] = arrival
        if not is_last:
            _to_its_place(tasks, tasks.__getitem__)
        if next(iter(tasks.values()))[0] != turn.since[0]:
            self._time(lane, run.id, turn, run, priority)

    def take(self, task_id: str, run_id: str, run: Run | None, *, priority: int) -> None:
        """Let a task wait no more; its run is None where that has ended."""
        lane = self.lanes[priority]
        turn = lane[run_id]
        del turn.tasks[task_id]
        if turn.tasks:
            self._time(lane, run_id, turn, run, priority)
            return
        del lane[run_id]
        if not lane:
            del self.lanes[priority]

    def turn_given_back(self, run: Run, priority: int) -> None:
        """Follow that the last turn of a run does not count any more, whose task is ready and held back."""
        lane = self.lanes.get(priority, OrderedDict())
        if (turn := lane.get(run.id)) is not None:
            self._time(lane, run.id, turn, run, priority)

    def _time(self, lane: Lane, run_id: str, turn: Turn, run: Run | None, priority: int) -> None:
        """Let a run wait since its first task became ready, or since its last turn."""
        seq, _, since_ms = next(iter(turn.tasks.values()))
        served = run.turns.get(turn_key(priority, self.key)) if run is not None and run.turns else None
        if served is not None and served[1] > seq:
            since_ms, seq = served[0], served[1]
        turn.since_ms = since_ms
        if seq != turn.since[0]:
            turn.since = (seq, turn.since[1])
            if len(lane) > 1:
                lane.move_to_end(run_id)
                _to_its_place(lane, lambda one: lane[one].since)

    def order(self, ageing_ms: int) -> Order:
        """Return how early it goes among those of its supervisor; something is ready. Attempts that go on are first."""
        priority, turn = self._first(ageing_ms)
        rank = priority * ageing_ms + turn.since_ms
        return rank + BACK if self.is_back else rank, turn.since[0], next(iter(turn.tasks.values()))[1]

    def next_task(self, ageing_ms: int) -> str:
        """Return the id of the task that has its turn; something is ready."""
        return next(iter(self._first(ageing_ms)[1].tasks))

    def rank_above(self, ageing_ms: int, above_ms: int) -> int:
        """Return the rank that it has where a priority is worth `above_ms`; it is not for attempts that go on."""
        priority, turn = self._first(ageing_ms)
        return priority * above_ms + turn.since_ms

    def _first(self, ageing_ms: int) -> tuple[int, Turn]:
        lanes = self.lanes
        if len(lanes) == 1:
            for priority, lane in lanes.items():
                for turn in lane.values():  # the first of each, at half the price of `next(iter(…))`
                    return priority, turn
        firsts = ((priority, next(iter(lane.values()))) for priority, lane in lanes.items())
        return min(firsts, key=lambda one: (one[0] * ageing_ms + one[1].since_ms, one[0]))

    def in_order(self, ageing_ms: int, at_ms: int, *, to: int = LOWEST_PRIORITY) -> Iterator[str]:
        """Yield the ready tasks in the order in which they would begin if all began one after the other at `at_ms`.

        Args:
            ageing_ms: What a priority is worth at its supervisor.
            at_ms: The time of the state.
            to: The least urgent priority that is wanted.
        """
        lanes: list[tuple[int, int, deque[tuple[int, int, Iterator[str]]]]] = []
        for priority, lane in self.lanes.items():
            if priority <= to:
                turns = deque((turn.since_ms, len(turn.tasks), iter(turn.tasks)) for turn in lane.values())
                lanes.append((priority * ageing_ms + turns[0][0], priority, turns))
        heapify(lanes)
        while lanes:
            _, priority, turns = lanes[0]
            _, left, tasks = turns.popleft()
            yield next(tasks)
            if left > 1:
                turns.append((at_ms, left - 1, tasks))
            if turns:
                heapreplace(lanes, (priority * ageing_ms + turns[0][0], priority, turns))
            else:
                heappop(lanes)


def _to_its_place(line: OrderedDict[str, Any], since: Callable[[str], Any]) -> None:
    """Move what was put last before what waits since a later time."""
    backwards = reversed(line)
    moved, before = next(backwards), next(backwards, None)
    if before is None or since(before) < since(moved):
        return
    mine = since(moved)
    earlier = list(takewhile(lambda one: since(one) < mine, line))
    line.move_to_end(moved, last=False)
    for one in reversed(earlier):
        line.move_to_end(one, last=False)
