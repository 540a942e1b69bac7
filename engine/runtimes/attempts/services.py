"""What the host offers to attempts."""

from collections.abc import Callable
from typing import Any, Protocol

from engine.core.commands import Command
from engine.core.effects import StartAttempt
from engine.core.records.records import JsonValue
from engine.core.records.values import StoredValue
from engine.core.signals import Signal
from engine.core.state import State
from engine.models.service import ModelService
from engine.platform.clock import Clock
from engine.runtimes.attempts.insight_desk import InsightDesk
from engine.runtimes.attempts.reservations import Reservations
from engine.runtimes.functions.threads import Threads
from engine.stream.bus import Bus


class Services(Protocol):
    """The services that the host offers to attempts and to its own parts."""

    clock: Clock
    threads: Threads
    models: ModelService
    reserved: Reservations
    bus: Bus
    insights: InsightDesk

    @property
    def state(self) -> State:
        """The present state, for reading."""

    def spawn(self, function: Callable[..., Any], /, *args: object) -> None:
        """Run `function` with `args` in a task of its own, for as long as the engine runs."""

    def fail(self, error: Exception) -> None:
        """End the engine with an error: the journal is unreadable, or the engine has a defect."""

    def signal(self, signal: Signal, on_done: Callable[[Exception | None], None] | None = None) -> None:
        """Queue a signal for the core; `on_done` is called once it is on disk, with an error if it was not decided."""

    async def order(
        self,
        command: Command,
        *,
        sender: str | None = None,
        role: str = "operator",
        id: str | None = None,
        run_id: str | None = None,
    ) -> object:
        """Execute a command; raises `CommandRefusedError` if it is refused."""

    def may_act(self) -> bool:
        """Return whether the engine still holds its lease; a deposed engine starts nothing more."""

    async def state_written(self) -> bool:
        """Wait until the present state may take effect; False if the engine stops first."""

    async def text(self, value: StoredValue) -> JsonValue:
        """Return a value that the state holds by reference."""

    def live(self, key: str, text: str) -> None:
        """Publish a live text under a key; an empty text removes it."""

    def call_later(self, due_ms: int, call: Callable[[], None]) -> Callable[[], None]:
        """Schedule `call`; returns a function that cancels it."""


def of_attempt(effect: StartAttempt) -> dict[str, Any]:
    """Return the fields by which a signal names its attempt."""
    return {"task_id": effect.task_id, "attempt": effect.attempt, "generation": effect.generation}
