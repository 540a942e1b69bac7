"""Delegations of an attempt: tasks that it gives to other agents, and their outcomes.

A delegation has a key like a step: a later attempt that delegates under the same key gets the outcomes of the earlier
one. While it waits, the attempt holds no slot.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from engine.core.effects import AnswerCall
from engine.core.effects.table import answer_of
from engine.core.records.records import JsonValue
from engine.core.signals import DelegationAsked, PlannedItem
from engine.core.state import CallKind
from engine.errors import DelegationFailed
from engine.runtimes.attempts.attempt import Attempt
from engine.runtimes.attempts.attempt_slot import AttemptSlot
from engine.runtimes.attempts.pending import Pending
from engine.runtimes.attempts.services import of_attempt
from engine.runtimes.values import copy_json


@dataclass(frozen=True, slots=True)
class DelegationResult:
    """The outcome of one delegated task."""

    task_id: str
    output: JsonValue
    error: str | None
    """None when it was done."""


class AttemptDelegations:
    """The part of an attempt that delegates."""

    def __init__(self, attempt: Attempt, slot: AttemptSlot) -> None:
        self._attempt = attempt
        self._effect = attempt.effect
        self._slot = slot

    def has_delegated(self, key: str) -> bool:
        """Return whether an attempt has already delegated under this key."""
        task = self._attempt.state.tasks.get(self._effect.task_id)
        return task is not None and key in task.calls

    async def ask(
        self, kind: CallKind, key: str, target: str, items: list[JsonValue], *, plan: Sequence[PlannedItem] = ()
    ) -> list[DelegationResult]:
        """Delegate `items`, one task each, and return the outcomes in order.

        Args:
            key: Key of the call within the task, stable across attempts (`Attempt.key`).
            target: Name of a member, or a capability; empty for a plan.
            items: Input of each task; empty for a plan.
            plan: Tasks that wait for each other.

        Raises:
            DelegationFailed: If there is no agent for it.
            AttemptInterrupted: If the attempt is asked to stop meanwhile.
        """
        self._attempt.raise_if_over()
        await self._slot.wait_while_paused()
        pending: Pending[AnswerCall] = self._attempt.open_wait()
        async with self._slot.waiting_step():
            signal = DelegationAsked(
                **of_attempt(self._effect),
                call_key=key,
                call_kind=kind,
                target=target,
                items=items,
                plan=[*plan],
                busy=self._slot.is_busy,
            )
            self._slot.calls[key] = pending
            self._attempt.live.announce(key)
            self._attempt.services.signal(signal, lambda error: None if error is None else pending.fail(error))
            # Told right away: the core parks the attempt with `Delegated`, so the time without a slot begins here.
            if not self._slot.is_busy:
                self._slot.set_held(False)
            try:
                answer = await pending.wait()
            finally:
                self._slot.calls.pop(key, None)
        if answer.refused is not None:
            raise DelegationFailed(target, answer.refused)
        return await self._to_results(answer)

    async def earlier_results(self, key: str) -> list[DelegationResult] | None:
        """Return the outcomes of an earlier attempt's delegation under this key; None while some of it is open."""
        if not self.was_answered(key):
            return None
        # No signal: the outcomes are in the journal, and reading them again is not an event.
        return await self._to_results(answer_of(self._attempt.state, self._effect.task_id, self._effect.attempt, key))

    def was_answered(self, key: str) -> bool:
        """Return True if all tasks of an earlier attempt's delegation under this key have ended."""
        task = self._attempt.state.tasks.get(self._effect.task_id)
        call = None if task is None else task.calls.get(key)
        if task is None or call is None or call.open:
            return False
        return task.attempt is None or key not in task.attempt.owed

    async def _to_results(self, answer: AnswerCall) -> list[DelegationResult]:
        text = self._attempt.services.text
        return [
            DelegationResult(
                outcome.task_id,
                copy_json(await text(outcome.output)),
                None if outcome.ok else outcome.error or "failed",
            )
            for outcome in answer.answers
        ]

    def accept_outcomes(self, answer: AnswerCall) -> None:
        """Accept the outcomes of a call; called by the host."""
        pending = self._slot.calls.get(answer.call_key)
        if pending is not None:
            pending.put(answer)
        if answer.has_slot:
            self._slot.resume_steps()
