"""Reservations: estimated costs of model calls in progress, held back from the budgets that pay for them.

The core knows only reported usage, and a call reports when it ends. Without reservations, concurrent calls could
together overspend a budget in which each of them fits. They are not journaled: calls in progress end with the engine.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, Protocol, TypeAlias

from engine.core.effects import StartAttempt
from engine.core.queries.money.budget import Budget, Subject, budgets, is_limited, paying_subjects
from engine.core.records.values import NO_USAGE, Usage
from engine.core.state import State
from engine.runtimes.attempts.pending import Pending

_NONE = Decimal(0)
AmountName: TypeAlias = Literal["tokens", "cost_usd"]


class Payer(Protocol):
    """An attempt that calls models."""

    @property
    def effect(self) -> StartAttempt:
        """The effect that started it."""

    def unreported_usage(self) -> Usage:
        """Return its usage that the core does not know yet."""


@dataclass(eq=False)
class Reservation:
    """The reservation of one call."""

    attempt: Payer
    usage: Usage
    subjects: frozenset[str]
    """Ids of all levels that pay."""


@dataclass(frozen=True)
class BudgetShortage:
    """A budget that is too small for a call, even with no other call in progress."""

    subject: str
    amount: AmountName
    needs: Decimal


class Reservations:
    """The model calls in progress of one engine."""

    def __init__(self) -> None:
        self._holds: dict[Reservation, None] = {}
        self._payers: dict[Payer, frozenset[str]] = {}
        """Attempts with usage that the core may not know yet, with the ids of all levels that pay for them."""
        self._waiting: list[Pending[None]] = []

    def hold(self, state: State, attempt: Payer, usage: Usage) -> Reservation | BudgetShortage | None:
        """Reserve the estimate of a call.

        Returns:
            The reservation; or the budget that is too small; or None if other calls have to end first.
        """
        must_wait = False
        spent = {payer: payer.unreported_usage() for payer in self._payers}
        self._payers = {payer: ids for payer, ids in self._payers.items() if spent[payer] != NO_USAGE}
        subjects = _payers_of(state, attempt)
        for subject, budget in _budgets(state, subjects):
            amount: AmountName = "tokens" if budget.name == "tokens" else "cost_usd"
            needed = amount_of(usage, amount)
            subject_payers = [payer for payer, ids in self._payers.items() if subject.id in ids]
            unreported = sum((amount_of(spent[payer], amount) for payer in subject_payers), _NONE)
            if budget.spent + unreported + needed > budget.limit:
                return BudgetShortage(subject.id, amount, needed)
            holds = [hold for hold in self._holds if subject.id in hold.subjects]
            reserved = sum((amount_of(hold.usage, amount) for hold in holds), _NONE)
            must_wait = must_wait or budget.spent + unreported + reserved + needed > budget.limit
        if must_wait:
            return None
        hold = Reservation(attempt, usage, frozenset(subject.id for subject in subjects))
        self._holds[hold] = None
        return hold

    def release(self, hold: Reservation) -> None:
        """Release the reservation of a finished call, whose cost is known now."""
        self._holds.pop(hold, None)
        self._payers[hold.attempt] = hold.subjects
        waiting, self._waiting = self._waiting, []
        for pending in waiting:
            pending.put(None)

    def wait_on(self, pending: Pending[None]) -> None:
        """Set `pending` when any call ends."""
        self._waiting.append(pending)


def has_budget(state: State, attempt: Payer) -> bool:
    """Return whether any level that pays for an attempt has a budget."""
    effect = attempt.effect
    task, agent = state.tasks.get(effect.task_id), state.agents.get(effect.agent_id)
    return is_limited(state, task, state.runs.get(task.run_id) if task is not None else None, agent)


def amount_of(usage: Usage, name: AmountName) -> Decimal:
    """Return an amount of a usage; unknown counts as nothing."""
    if name == "tokens":
        return Decimal((usage.tokens_in or 0) + (usage.tokens_out or 0))
    return usage.cost_usd or _NONE


def unreported_usage(state: State, effect: StartAttempt, spent: Usage, before: Usage) -> Usage:
    """Return the usage of an attempt that the core does not know yet.

    Args:
        effect: The attempt.
        spent: Its total usage.
        before: What the core knew when the attempt began to be executed here.
    """
    task = state.tasks.get(effect.task_id)
    attempt = None if task is None else task.attempt
    if attempt is None or attempt.number != effect.attempt:
        return NO_USAGE
    reported_usage = attempt.spent or NO_USAGE
    all_in = (spent.tokens_in or 0) + (before.tokens_in or 0) - (reported_usage.tokens_in or 0)
    all_out = (spent.tokens_out or 0) + (before.tokens_out or 0) - (reported_usage.tokens_out or 0)
    cost = (spent.cost_usd or _NONE) + (before.cost_usd or _NONE) - (reported_usage.cost_usd or _NONE)
    return NO_USAGE if not (all_in or all_out or cost) else Usage(tokens_in=all_in, tokens_out=all_out, cost_usd=cost)


def _payers_of(state: State, attempt: Payer) -> list[Subject]:
    effect = attempt.effect
    task, agent = state.tasks.get(effect.task_id), state.agents.get(effect.agent_id)
    return list(paying_subjects(state, task, state.runs.get(task.run_id) if task is not None else None, agent))


def _budgets(state: State, subjects: Iterable[Subject]) -> Iterator[tuple[Subject, Budget]]:
    for subject in subjects:
        for budget in budgets(state, subject):
            if budget.name in ("tokens", "cost_usd"):
                yield subject, budget
