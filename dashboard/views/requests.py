"""What can be chosen for a new request, and how it would be worked on."""

from dashboard.views.choices import Choice
from dashboard.views.rows import Cell
from engine.core.options import DEFAULT_PRIORITY
from engine.core.state import State
from engine.core.validation.bounds import LOWEST_PRIORITY

_ABOUT = {0: "first; may take slots from what is less urgent", DEFAULT_PRIORITY: "as usual", LOWEST_PRIORITY: "last"}


def priorities() -> list[Choice]:
    """Return every priority, the most urgent first."""
    return [Choice(str(number), str(number), _ABOUT.get(number, "")) for number in range(LOWEST_PRIORITY + 1)]


def categories(state: State, supervisor_id: str | None) -> list[Choice]:
    """Return the categories that a supervisor has strategies for; the first lets it be found."""
    supervisor = state.supervisors.get(supervisor_id or "")
    strategies = dict(supervisor.options.strategies) if supervisor is not None else {}
    found = Choice("", "as it is found", "from its words" if strategies else "")
    return [found, *(Choice(name, name, f"coordinated by {mode}") for name, mode in strategies.items())]


def how_it_goes(state: State, supervisor_id: str | None, category: str | None) -> list[Cell]:
    """Return who coordinates a request, and how."""
    supervisor = state.supervisors.get(supervisor_id or "")
    if supervisor is None:
        return []
    mode = supervisor.options.strategies.get(category or "", supervisor.mode)
    lines = [Cell(f"{supervisor.name} coordinates it: {mode}", "muted")]
    if supervisor.error is not None:
        lines.append(Cell(f"{supervisor.name} has failed and takes no requests until it is resumed (z)", "error"))
    elif supervisor.paused:
        lines.append(Cell(f"{supervisor.name} is paused: it is begun when that ends", "paused"))
    return lines
