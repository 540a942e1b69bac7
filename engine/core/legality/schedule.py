"""The law of the schedule: updated event by event, it equals one built from the state."""

from collections.abc import Iterator
from typing import Any

from engine.core.scheduler import Schedule
from engine.core.scheduler.ready_queues import Ranking
from engine.core.state import State


def the_schedule_follows_from_the_state(state: State) -> Iterator[str]:
    """The current schedule equals one built from the state."""
    if state.schedule is None:
        return
    current, rebuilt = (
        _comparable_parts(state, Schedule.of(state)),
        _comparable_parts(state, Schedule.from_state(state)),
    )
    for name, current_values in current.items():
        for key in sorted({*current_values, *rebuilt[name]}):
            current_value, expected = current_values.get(key), rebuilt[name].get(key)
            if current_value != expected:
                yield f"{name} of {key}: {current_value} is kept, and {expected} follows from the state"


def _comparable_parts(state: State, schedule: Schedule) -> dict[str, dict[str, Any]]:
    """Return everything that decisions depend on, by name and key."""
    ready_queues = {
        key: ready_queue for key, ready_queue in schedule.queues.items() if ready_queue.levels or ready_queue.free
    }
    return {
        "levels": {
            key: {
                priority: [
                    (run_id, turn.since, turn.since_ms, list(turn.tasks.items())) for run_id, turn in level.items()
                ]
                for priority, level in ready_queue.levels.items()
            }
            for key, ready_queue in ready_queues.items()
        },
        "free agents": {
            key: (set(ready_queue.free), _ranking_order(ready_queue.best) if ready_queue.best is not None else None)
            for key, ready_queue in ready_queues.items()
        },
        "slots": {
            key: (
                slots.running,
                slots.total,
                slots.processes,
                slots.capped,
                (slots.ageing_ms, slots.balance, slots.urgent),
                # Its own queues are not ranked while it is full, because none of their tasks can begin.
                _ranking_order(slots.own) if slots.running < state.supervisors[key].max_parallel else None,
                _ranking_order(slots.offers),
            )
            for key, slots in schedule.slots.items()
        },
        "the rest": {
            "roots": _ranking_order(schedule.roots),
            "urgent": set(schedule.urgent),
            "pools": set(schedule.resizable),
            "processes": schedule.processes,
            "holders of processes": sorted(schedule.holders_of_processes()),
        },
    }


def _ranking_order(ranking: Ranking) -> Any:
    """Return the orders of a ranking and its top entry; stale entries do not matter."""
    return ranking.ranks, ranking.heap[:1]
