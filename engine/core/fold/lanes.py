"""The order of what is ready in a queue: a lane a priority, in it a turn a run, then first come, first served.

Runs of a lane take turns, one task each. Between lanes the one goes first whose next task is the more urgent, where a
priority is worth `ageing_ms` of waiting: that is `priority * ageing_ms + since_ms`, the least first, so that which of
two goes first never changes with time alone, and nothing has to be sorted anew. A run waits since its task became
ready, or since its last turn where that is later: many tasks of one run that have waited for long do not shut out the
urgent ones, and still get a turn in time.

Everything here is O(1) in the number of tasks, except for a task that goes back to its place: that looks at the runs,
and at the tasks of its own, that have waited for longer.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heapreplace
from itertools import takewhile
from typing import Any

from engine.core.options import AGEING_S
from engine.core.state import Lane, Queue, State, Supervisor, Task, Turn
from engine.core.validation.bounds import LOWEST_PRIORITY

NEVER_MS = 10**15
"""What a priority is worth where nothing ages: more than any wait."""
BACK = -(10**17)
"""Ranks of attempts that go on lie this much before all others."""


def ageing_ms(state: State, supervisor: Supervisor) -> int:
    """Return how long a task waits until it is as urgent as one of the next priority, under `supervisor`."""
    above: Supervisor | None = supervisor
    while above is not None:
        seconds = above.options.ageing_s
        if seconds is not None:
            return round(seconds * 1000) or NEVER_MS
        above = state.supervisors[above.parent_id] if above.parent_id is not None else None
    return round(AGEING_S * 1000)


def put(queue: Queue, task: Task, seq: int, since_ms: int, *, again: bool = False) -> bool:
    """Let `task` wait in its lane, and return whether the rank of the queue may be another by that.

    Args:
        queue: Where it is not yet.
        task: Its priority and its run say where.
        seq: The event that made it ready.
        since_ms: When that was.
        again: It was ready before, and goes to the place that it has by that.
    """
    task_id, run_id = task.id, task.run_id
    queue.ready[task_id] = seq
    lane = queue.lanes.get(task.priority)
    is_first = lane is None or again
    if lane is None:
        lane = queue.lanes[task.priority] = OrderedDict()
    turn = lane.get(run_id)
    if turn is None:
        turn = lane[run_id] = Turn(since_ms=since_ms, since_seq=seq)
        if again:
            _to_its_place(lane, lambda run_id: lane[run_id].since_seq)
    turn.tasks[task_id] = since_ms
    if again:
        _to_its_place(turn.tasks, lambda task_id: _arrival(queue, task_id))
    return is_first


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


def _arrival(queue: Queue, task_id: str) -> tuple[int, int]:
    """Return when a task became ready; of those that one event made ready, the first made first."""
    return queue.ready[task_id], int(task_id[1:])


def take(queue: Queue, task: Task, *, served: tuple[int, int] | None = None) -> bool:
    """Let `task` wait no more, and return whether it did.

    Args:
        queue: Where it waits, or not.
        task: Its priority has to be the one that it waits with.
        served: When it began, which was a turn of its run, and the event of that; None where it did not begin.
    """
    if queue.ready.pop(task.id, None) is None:
        return False
    lane = queue.lanes[task.priority]
    turn = lane[task.run_id]
    del turn.tasks[task.id]
    if not turn.tasks:
        del lane[task.run_id]
        if not lane:
            del queue.lanes[task.priority]
    elif served is not None:
        turn.since_ms, turn.since_seq = served
        lane.move_to_end(task.run_id)
    else:
        _wait_since_first_left(queue, lane, task.run_id)
    return True


def _wait_since_first_left(queue: Queue, lane: Lane, run_id: str) -> None:
    """Let a run wait no longer than the first of what is left to it, once what was before that has gone unserved."""
    turn = lane[run_id]
    first, since_ms = next(iter(turn.tasks.items()))
    turn.since_ms = max(turn.since_ms, since_ms)
    if queue.ready[first] > turn.since_seq:
        turn.since_seq = queue.ready[first]
        lane.move_to_end(run_id)
        _to_its_place(lane, lambda one: lane[one].since_seq)


def rank_of_lane(priority: int, lane: Lane, ageing: int) -> int:
    """Return what the lanes of a queue, and the queues of a supervisor, are ordered by; the least goes first."""
    return priority * ageing + next(iter(lane.values())).since_ms


def _first(queue: Queue, ageing: int) -> tuple[int, int]:
    """Return the rank and the priority of the lane of a queue that has its turn; something is ready there."""
    return min((rank_of_lane(priority, lane, ageing), priority) for priority, lane in queue.lanes.items())


def next_task(state: State, queue: Queue) -> str:
    """Return the id of the task of a queue that has its turn; something is ready there."""
    lanes = queue.lanes
    if len(lanes) == 1:
        (lane,) = lanes.values()
    else:
        lane = lanes[_first(queue, state.supervisors[queue.supervisor_id].ageing_ms)[1]]
    for turn in lane.values():  # the first of each, at half the price of `next(iter(…))`
        for task_id in turn.tasks:
            return task_id
    raise AssertionError(f"nothing is ready in {queue.key}")


def rank_of(supervisor: Supervisor, queue: Queue) -> int:
    """Return how early a queue goes among those of its supervisor, the least first; attempts that go on come first."""
    if len(queue.lanes) == 1:
        for priority, lane in queue.lanes.items():
            for turn in lane.values():  # as above
                rank = priority * supervisor.ageing_ms + turn.since_ms
                break
    else:
        rank = _first(queue, supervisor.ageing_ms)[0]
    return rank + BACK if queue.key.startswith("back:") else rank


def rank_above(queue: Queue, ageing: int, above: int) -> int:
    """Return the rank that a queue has where work ages otherwise.

    Args:
        queue: Something is ready in it, and it is not for attempts that go on.
        ageing: What a priority is worth at the supervisor of the queue, in milliseconds.
        above: What it is worth where the rank counts.
    """
    priority = _first(queue, ageing)[1]
    return rank_of_lane(priority, queue.lanes[priority], above)


def in_order(state: State, queue: Queue, *, to: int = LOWEST_PRIORITY) -> Iterator[str]:
    """Yield the ready tasks of a queue in the order in which they would begin if all began one after the other now.

    Args:
        state: The state of the moment.
        queue: Whose tasks.
        to: The least urgent priority that is wanted.
    """
    ageing = state.supervisors[queue.supervisor_id].ageing_ms
    lanes: list[tuple[int, int, deque[tuple[int, int, Iterator[str]]]]] = []
    for priority, lane in queue.lanes.items():
        if priority <= to:
            turns = deque((turn.since_ms, len(turn.tasks), iter(turn.tasks)) for turn in lane.values())
            lanes.append((priority * ageing + turns[0][0], priority, turns))
    heapify(lanes)
    while lanes:
        _, priority, turns = lanes[0]
        _, left, tasks = turns.popleft()
        yield next(tasks)
        if left > 1:
            turns.append((state.at_ms, left - 1, tasks))
        if turns:
            heapreplace(lanes, (priority * ageing + turns[0][0], priority, turns))
        else:
            heappop(lanes)
