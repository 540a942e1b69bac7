"""Model calls of one attempt: rate limits, budget reservations and usage.

A call waits for the rate limit of its provider's key without a slot, then for room in the budgets that pay for it. Its
usage is reported with the next finished step.
"""

from collections.abc import Callable

from engine.core.events import ModelFailed
from engine.core.records.records import copy_with
from engine.core.records.values import NO_USAGE, Usage
from engine.core.signals import BudgetShort, ModelErred
from engine.core.specs.model_spec import ModelSpec
from engine.models.records import Chunk, ModelAnswer, ModelError, ModelRequest
from engine.runtimes.attempts.attempt import Attempt
from engine.runtimes.attempts.attempt_slot import AttemptSlot
from engine.runtimes.attempts.reservations import Reservation, has_budget, unreported_usage
from engine.runtimes.attempts.services import of_attempt
from engine.runtimes.values import one_line


class ModelCalls:
    """The part of an attempt that calls models."""

    _spent = NO_USAGE
    _total = NO_USAGE
    _reported_before: Usage | None = None
    _asked_ms = 0

    def __init__(self, attempt: Attempt, slot: AttemptSlot) -> None:
        self.effect = attempt.effect
        self._attempt = attempt
        self._slot = slot

    async def ask(self, request: ModelRequest, on_chunk: Callable[[Chunk], None]) -> ModelAnswer:
        """Send one request to a model; its usage is reported with the next finished step.

        Raises:
            ModelError: If there is no complete answer.
        """
        models = self._attempt.services.models
        characters_received = 0

        def count_chunk(chunk: Chunk) -> None:
            nonlocal characters_received
            characters_received += len(chunk.text)
            on_chunk(chunk)

        usage, is_cut_off = NO_USAGE, False
        retry_after_s = None
        hold: Reservation | None = None
        try:
            await self._slot.wait_while_paused()
            await self._until_due(models.due_ms(request, self._attempt.now_ms()))
            hold = await self._reserve(request)
            self._asked_ms = self._attempt.now_ms()
            try:
                answer = await models.ask(request, count_chunk, self._attempt.sleep)
            except ModelError as error:
                usage, retry_after_s = error.usage, error.retry_after_s
                raise
            except BaseException:  # cancelled by us: the provider reports no usage, but charges for it
                usage, is_cut_off = models.estimate(request, characters_received), True
                raise
            usage = answer.usage
            return answer
        finally:
            self.spend(usage)
            if is_cut_off and not self._attempt.over:
                self._attempt.record_cut_off("model", request.name, self._asked_ms, self.take_spent())
            if hold is not None:
                self._attempt.services.reserved.release(hold)
            models.settle(request, usage, self._attempt.now_ms(), retry_after_s=retry_after_s)

    async def _reserve(self, request: ModelRequest) -> Reservation | None:
        """Reserve the estimate of a call in the budgets that pay for it; None without budgets.

        Raises:
            AttemptInterrupted: If a budget is too small: then the attempt is stopped.
        """
        attempt = self._attempt
        reserved = attempt.services.reserved
        while has_budget(attempt.state, self):
            reservation = reserved.hold(attempt.state, self, attempt.services.models.estimate(request))
            if isinstance(reservation, Reservation):
                return reservation
            if reservation is None:
                with attempt.stoppable_wait() as pending:
                    reserved.wait_on(pending)
                    await pending.wait()
                continue
            await attempt.report(
                BudgetShort(
                    **of_attempt(self.effect),
                    subject=reservation.subject,
                    amount=reservation.amount,
                    needs=reservation.needs,
                )
            )
            # Usually the core stops the attempt now. If not, the budget was raised meanwhile, or the core does not know
            # yet what other attempts have spent: try again.
            await attempt.sleep(1)
        return None

    def unreported_usage(self) -> Usage:
        """Return the usage that the core does not know yet."""
        if self._reported_before is None:
            return NO_USAGE
        return unreported_usage(self._attempt.state, self.effect, self._total, self._reported_before)

    async def _until_due(self, due_ms: int) -> None:
        """Wait for the rate limit, without a slot."""
        if due_ms > self._attempt.now_ms():
            async with self._slot.parked("rate_limit", due_ms):
                await self._attempt.sleep((due_ms - self._attempt.now_ms()) / 1000)

    def context_tokens(self, model: ModelSpec) -> int | None:
        """Return the context size of a model in tokens, if known."""
        return self._attempt.services.models.context_tokens(model)

    def spend(self, usage: Usage) -> None:
        """Add usage, to be charged with the next step or at the end."""
        if self._reported_before is None:  # what this attempt reported before it was executed here (it migrated)
            task = self._attempt.state.tasks.get(self.effect.task_id)
            spent = None if task is None or task.attempt is None else task.attempt.spent
            self._reported_before = NO_USAGE if spent is None else copy_with(spent)
        self._spent = self._spent.plus(usage)
        self._total = self._total.plus(usage)

    def take_spent(self) -> Usage:
        """Return the unreported usage, which the caller reports now."""
        spent, self._spent = self._spent, NO_USAGE
        return spent

    def record_error(self, error: ModelError) -> None:
        """Journal the failure of the last call, with its time and its cost."""
        self._attempt.raise_if_over()
        self._attempt.live.announce(ModelFailed.type)
        self._attempt.services.signal(
            ModelErred(
                **of_attempt(self.effect),
                model=error.model,
                error=one_line(error),
                error_type=error.error_type,
                retry_after_s=error.retry_after_s,
                duration_ms=self._attempt.now_ms() - self._asked_ms,
                usage=self.take_spent(),
            )
        )
