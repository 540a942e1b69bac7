"""The host of a simulation: the engine's own, with everything outside it drawn, and observed by the world."""

from typing import Any

from typing_extensions import override

from engine.core.commands import ImportState, Order
from engine.core.signals import Signal, StateUnusable, StepFinished
from engine.host.batch import Batch, OnWritten
from engine.host.host import Host
from engine.simulation.models import SimulatedModels
from engine.simulation.searching import NoThreads, SimulatedSearch
from engine.simulation.world import World
from store.layout.opening import Store


class ObservedHost(Host):
    """A host whose effects are checked against what is on disk before they are performed.

    Args:
        world: Hears the last event of each batch whose effects are performed, and of each step whose attempt is told
            that it is on disk.
    """

    def __init__(self, store: Store, world: World, **settings: Any) -> None:
        super().__init__(store, **settings)
        self._world = world
        self.models = SimulatedModels(world.models, world.plan.seed)
        self.threads = NoThreads()
        self._search = SimulatedSearch(self, self._trusting, self.programs, world)

    @override
    def signal(self, signal: Signal, on_written: OnWritten | None = None) -> None:
        """Report to the core, and check each step that it reports as recorded."""
        if on_written is None or not isinstance(signal, StepFinished):
            super().signal(signal, on_written)
            return

        def report_outcome(error: Exception | None) -> None:
            if error is None:
                self._world.check_recorded_step(signal)
            on_written(error)

        super().signal(signal, report_outcome)

    @override
    def _perform(self, batch: Batch) -> None:
        self._world.check_effects(batch.first_seq + len(batch.events) - 1)
        super()._perform(batch)

    @override
    async def _import(self, order: Order, command: ImportState) -> None:
        # A simulation reads no file: that takes a thread, whose timing does not depend on the seed.
        signal = StateUnusable(
            order_id=order.id, sender=order.sender, role=order.role, reason=f"no {command.path} here"
        )
        await self._signal_and_wait(signal)
        self._importing.discard(order.id)
