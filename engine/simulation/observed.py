"""An engine whose every deed is held against what is on disk at that moment."""

from collections.abc import Callable
from typing import Any

from engine.core.commands import ImportState, Order
from engine.core.signals import Signal, StateUnusable, StepFinished
from engine.host import Host
from engine.host.batch import Batch, Then
from store.opening import Store


class ObservedHost(Host):
    """A host that says what it is about to do.

    Args:
        store: As of any host.
        acts: Hears the last event of each batch whose effects are performed.
        step_recorded: Hears of each step whose attempt is told that it is on disk.
        settings: As of any host.
    """

    def __init__(
        self,
        store: Store,
        *,
        acts: Callable[[int], None],
        step_recorded: Callable[[StepFinished], None],
        **settings: Any,
    ) -> None:
        super().__init__(store, **settings)
        self._acts = acts
        self._step_recorded = step_recorded

    def signal(self, signal: Signal, then: Then | None = None) -> None:
        """Report to the core, and say so when it is told to be on disk."""
        if then is None or not isinstance(signal, StepFinished):
            super().signal(signal, then)
            return

        def told(error: Exception | None) -> None:
            if error is None:
                self._step_recorded(signal)
            then(error)

        super().signal(signal, told)

    def _perform(self, batch: Batch) -> None:
        self._acts(batch.first_seq + len(batch.events) - 1)
        super()._perform(batch)

    async def _import(self, order: Order, command: ImportState) -> None:
        # No file is read in a simulation: it takes a thread, whose timing no seed decides.
        gone = StateUnusable(order_id=order.id, sender=order.sender, role=order.role, reason=f"no {command.path} here")
        await self._told(gone)
        self._importing.discard(order.id)
