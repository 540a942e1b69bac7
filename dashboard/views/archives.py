"""What an import would do, in lines."""

from collections.abc import Mapping, Sequence
from typing import Any

from dashboard.views.rows import Cell

SHOWN = 8
"""References and clashes that are named."""


def plan_lines(
    creates: Mapping[str, Any], needs_trust: Sequence[str], clashes: Sequence[str], bound: Sequence[str]
) -> list[Cell]:
    """Return what comes in, what code it would run, and which names are taken."""
    brings = [f"{_number(what)} {name}" for name, what in creates.items() if _number(what) != "0"]
    cells = [Cell(", ".join(brings) or "nothing", "strong", "brings   ")]
    cells += _some("runs     ", needs_trust, "draining")
    cells += _some("clashes  ", clashes, "error")
    cells += _some("swap     ", [f"{name} was bound to the process that exported it" for name in bound], "draining")
    return [*cells, Cell("everything comes in paused; ids are minted anew", "muted")]


def _number(what: Any) -> str:
    return f"{what if isinstance(what, int) else len(what):,}"


def _some(label: str, items: Sequence[str], tone: str) -> list[Cell]:
    cells = [
        Cell(str(item), tone, label if place == 0 else " " * len(label)) for place, item in enumerate(items[:SHOWN])
    ]
    more = len(items) - SHOWN
    return [*cells, Cell(f"and {more} more", tone, " " * len(label))] if more > 0 else cells
