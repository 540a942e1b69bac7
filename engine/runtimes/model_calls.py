"""Model calls of one attempt: rate limits, usage, and budget reservations.

A call waits for its turn under the limits of its provider's key, without a slot, and until the budgets that pay for it
have enough left. What it spends is reported with the step that ends next.
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager

from engine.core.model_spec import ModelSpec
from engine.core.records import changed
from engine.core.signals import BudgetShort, Signal
from engine.core.state import State
from engine.core.values import NO_USAGE, Usage
from engine.models.records import Chunk, ModelAnswer, ModelError, ModelRequest, Sleeps
from engine.runtimes.attempt_slot import SlotHolder, of_attempt
from engine.runtimes.pending import Pending
from engine.runtimes.reservations import Hold, is_bound, unreported


class ModelCaller(SlotHolder):
    """What an attempt does about models."""

    sleep: Sleeps
    slot: Callable[[], AbstractContextManager[Pending[None]]]
    _written: Callable[[Signal], Awaitable[None]]
    _spent = NO_USAGE
    _total = NO_USAGE
    _before: Usage | None = None

    @property
    def state(self) -> State:
        """The state of the moment, for reading."""
        return self._services.state

    async def ask_model(self, request: ModelRequest, on_chunk: Callable[[Chunk], None]) -> ModelAnswer:
        """Send one request to a model; what it spends is counted with the step that ends next.

        Raises:
            ModelError: If there is no whole answer.
        """
        models, came = self._services.models, [0]

        def heard(chunk: Chunk) -> None:
            came[0] += len(chunk.text)
            on_chunk(chunk)

        usage, retry_after_s = NO_USAGE, None
        hold: Hold | None = None
        try:
            await self._until_due(models.due_ms(request, self.now_ms()))
            hold = await self._reserved(request)
            try:
                answer = await models.ask(request, heard, self.sleep)
            except ModelError as error:
                usage, retry_after_s = error.usage, error.retry_after_s
                raise
            except BaseException:  # cut off here, so its provider does not say what it has cost
                usage = models.estimate(request, came[0])
                raise
            usage = answer.usage
            return answer
        finally:
            self.spend(usage)
            if hold is not None:
                self._services.reserved.let_go(hold)
            models.settle(request, usage, self.now_ms(), retry_after_s=retry_after_s)

    async def _reserved(self, request: ModelRequest) -> Hold | None:
        """Reserve the estimate of a call in the budgets that pay for it; None without budgets.

        Raises:
            AttemptInterrupted: If one of them has too little left: then the attempt is stopped.
        """
        reserved = self._services.reserved
        while is_bound(self.state, self):
            found = reserved.hold(self.state, self, self._services.models.estimate(request))
            if isinstance(found, Hold):
                return found
            if found is None:
                with self.slot() as slot:
                    reserved.wait_on(slot)
                    await slot.wait()
                continue
            await self._written(
                BudgetShort(**of_attempt(self.effect), subject=found.subject, amount=found.amount, needs=found.needs)
            )
            # The core stops it; unless the budget was raised meanwhile, or others have not reported what they spent.
            await self.sleep(1)
        return None

    def unreported(self) -> Usage:
        """Return usage of models that is not reported to the core yet."""
        if self._before is None:
            return NO_USAGE
        return unreported(self.state, self.effect, self._total, self._before)

    async def _until_due(self, due_ms: int) -> None:
        """Wait for the rate limit, without a slot."""
        if due_ms > self.now_ms():
            async with self.parked("rate_limit", due_ms):
                await self.sleep((due_ms - self.now_ms()) / 1000)

    def context_tokens(self, model: ModelSpec) -> int | None:
        """Return how many tokens a request to a model may hold, where that is known."""
        return self._services.models.context_tokens(model)

    def spend(self, usage: Usage) -> None:
        """Note usage that the attempt's code reports; it is charged with the next step, or at the end."""
        if self._before is None:  # usage that the attempt had reported before it was executed here
            task = self.state.tasks.get(self.effect.task_id)
            known = None if task is None or task.attempt is None else task.attempt.spent
            self._before = NO_USAGE if known is None else changed(known)
        self._spent = self._spent.plus(usage)
        self._total = self._total.plus(usage)

    def take_spent(self) -> Usage:
        """Return what was spent and not reported yet, to be reported now."""
        spent, self._spent = self._spent, NO_USAGE
        return spent
