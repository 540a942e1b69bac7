"""What laws look at."""

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from engine.core.commands import Command, Order
from engine.core.events import Event
from engine.core.state import State
from engine.simulation.chronicle import Chronicle
from engine.simulation.disk import Disk


class Seen(Protocol):
    """A history as laws see it."""

    books: Chronicle
    disk: Disk
    acting: set[tuple[str, int]]
    """Attempts that agents are really at, in the engine of the moment."""
    batch: list[Event]
    """What was written last."""
    inbox_ids: list[str]
    """Commands that were put on disk for an engine to find."""
    commands: dict[str, Command]
    """What operators sent, by the id of the order."""

    @property
    def state(self) -> State:
        """The state of the engine of the moment."""

    @property
    def now_ms(self) -> int:
        """The time of the moment."""

    def next_order(self) -> Order | None:
        """Return something that an operator might ask next."""


Law: TypeAlias = Callable[[Seen, Any], str | None]
