"""Targets of jump mode: a place on the screen, and the action there."""

from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol, runtime_checkable

from textual.widget import Widget


class Spot(NamedTuple):
    """A row, a pane, a tab."""

    x: int
    y: int
    """Where its letter stands: in a widget's own cells, or in those of the screen."""
    go: Callable[[], object]
    letter: str = ""
    """Its own, such as the number of a tab; empty where it may be any."""


@runtime_checkable
class Spotted(Protocol):
    """A widget with things to go to."""

    def spots(self) -> Iterable[Spot]:
        """Return those that are in sight, in cells of the widget."""
        ...


def spots_of(widgets: Iterable[Widget]) -> list[Spot]:
    """Return all spots in cells of the screen, from the top; those of panes that take no room are left out."""
    spots = []
    for widget in widgets:
        region = widget.region
        if not isinstance(widget, Spotted) or not (widget.display and region.width and region.height):
            continue
        visible_spots = (spot for spot in widget.spots() if 0 <= spot.x < region.width and 0 <= spot.y < region.height)
        spots += [spot._replace(x=spot.x + region.x, y=spot.y + region.y) for spot in visible_spots]
    return sorted(spots, key=lambda spot: (spot.y, spot.x))
