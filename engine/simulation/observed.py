"""Interfaces of a world for its observers: laws, models and simulated attempts."""

from contextlib import AbstractContextManager
from typing import Any, Protocol

from engine.core.commands import Order
from engine.core.state import State
from engine.runtimes.attempts.work import Work
from engine.simulation.disk import Disk
from engine.simulation.plan import Plan
from engine.simulation.shadow_ledger import ShadowLedger


class CallWatch(Protocol):
    """Checks calls of models and tools (`model_watch.ModelWatch`)."""

    def watch_tool_call(self, attempt: Any) -> AbstractContextManager[None]:
        """Check a call of a tool that must not be called twice, in a simulated attempt."""


class ObservedWorld(Protocol):
    """The shared context of one history (`world.World`)."""

    plan: Plan
    disk: Disk
    ledger: ShadowLedger
    acting: set[tuple[str, int]]
    inbox_ids: list[str]

    @property
    def state(self) -> State:
        """The state of the current engine; between two engines, that of the journal."""

    @property
    def now_ms(self) -> int:
        """The simulated time, UTC milliseconds."""

    @property
    def models(self) -> CallWatch:
        """The checks of calls of models and tools."""

    def should_fail(self, key: str, share: float) -> bool:
        """Return whether an attempt with the draw `share` fails."""

    def next_order(self) -> Order | None:
        """Return a random next command of an operator."""

    def report_violation(self, law: str, statement: str, details: str) -> None:
        """Record a broken law, which ends the history; the first one counts."""

    def check_step(self, work: Work, name: str, *, key: str | None = None) -> None:
        """Check that a step that runs was not recorded before."""

    def check_tool_call(self, work: Work) -> None:
        """Check that a tool that must not be called twice has not been called before."""
