"""Usage of models in the ledger: as the journal has it, and as the simulated models counted it."""

from typing import Any

from typing_extensions import override

from engine.core.events import EngineStarted
from engine.core.records.values import NO_USAGE, Usage
from engine.simulation.ledger import Ledger


class ModelLedger(Ledger):
    """Usage of attempts of model agents, by task and number."""

    def __init__(self) -> None:
        self.reported: dict[tuple[str, int], Usage] = {}
        """Usage reported by events so far."""
        self.charged: dict[tuple[str, int], Usage] = {}
        """Usage counted by the models themselves."""
        self.inexact_attempts: set[tuple[str, int]] = set()
        """Attempts that may count less: other code than that of a model has spent something, before a swap or after, or
        they were at work when their engine was killed."""

    @override
    def take(self, event: Any) -> None:
        """Add the usage of an event."""
        if isinstance(event, EngineStarted):
            self.inexact_attempts.update(self.charged)
        usage, attempt = getattr(event, "usage", None), getattr(event, "attempt", None)
        if usage is not None and attempt is not None and event.task_id:
            key = (event.task_id, attempt)
            self.reported[key] = self.reported.get(key, NO_USAGE).plus(usage)
