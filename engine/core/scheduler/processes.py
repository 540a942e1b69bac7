"""How many processes of this computer may be at work, and whose limit on them holds."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

from engine.core.inheritance import above_and_self
from engine.core.state import State, Supervisor

if TYPE_CHECKING:
    from engine.core.scheduler.schedule import Schedule

Limit: TypeAlias = tuple[Supervisor | None, int, int]
"""Whose it is, None for the engine's own; how many are in use; how many may be."""


def limits_on_processes(state: State, schedule: "Schedule", supervisor: Supervisor) -> Iterator[Limit]:
    """Yield every limit on processes that holds under a supervisor, the nearest first.

    The engine's own holds for all roots together for which nothing is set.
    """
    for above in above_and_self(state, supervisor):
        most = above.options.processes
        if most is not None:
            yield above, schedule.slots[above.id].processes, most
        elif above.parent_id is None and state.engine is not None and state.engine.processes is not None:
            yield None, schedule.processes, state.engine.processes


def full_of_processes(state: State, schedule: "Schedule", supervisor: Supervisor) -> Limit | None:
    """Return the nearest limit that lets no further process begin under a supervisor; None where one may."""
    return next((limit for limit in limits_on_processes(state, schedule, supervisor) if limit[1] >= limit[2]), None)
