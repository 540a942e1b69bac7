"""Targets of jump mode: a place on the screen, and the action there."""

from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol, runtime_checkable

from textual.widget import Widget


class Spot(NamedTuple):
    """A place that jump mode can go to, such as a row, a pane or a tab."""

    x: int
    y: int
    """Where its letter is drawn, in cells of the widget or of the screen."""
    go: Callable[[], object]
    letter: str = ""
    """A fixed letter, such as the number of a tab; empty for any."""


@runtime_checkable
class Spotted(Protocol):
    """A widget that has targets of jump mode."""

    def spots(self) -> Iterable[Spot]:
        """Return the visible targets, in cells of the widget."""
        ...


def spots_of(widgets: Iterable[Widget]) -> list[Spot]:
    """Return the spots of all visible widgets in cells of the screen, from the top."""
    spots = []
    for widget in widgets:
        region = widget.region
        if not isinstance(widget, Spotted) or not (widget.display and region.width and region.height):
            continue
        visible_spots = (spot for spot in widget.spots() if 0 <= spot.x < region.width and 0 <= spot.y < region.height)
        spots += [spot._replace(x=spot.x + region.x, y=spot.y + region.y) for spot in visible_spots]
    return sorted(spots, key=lambda spot: (spot.y, spot.x))
