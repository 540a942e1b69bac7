"""What a supervisor does where nothing was set for it: what the one above it does."""

from collections.abc import Iterator
from typing import Any

from engine.core.state import State, Supervisor


def inherited(state: State, supervisor: Supervisor, name: str, otherwise: Any) -> Any:
    """Return an option of the nearest supervisor, itself first, for which it was set.

    Args:
        state: Where they stand.
        supervisor: Whose option it is.
        name: A field of `SupervisorOptions`.
        otherwise: What it is where nobody set it.
    """
    above: Supervisor | None = supervisor
    while above is not None:
        value = getattr(above.options, name)
        if value is not None and value != ():
            return value
        above = state.supervisors[above.parent_id] if above.parent_id is not None else None
    return otherwise


def above_and_self(state: State, supervisor: Supervisor) -> Iterator[Supervisor]:
    """Yield a supervisor and all above it, the nearest first."""
    above: Supervisor | None = supervisor
    while above is not None:
        yield above
        above = state.supervisors[above.parent_id] if above.parent_id is not None else None
