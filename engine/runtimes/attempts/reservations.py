"""Reservations: estimated costs of model calls in progress, held back from the budgets that pay for them.

The core knows only reported usage, and a call reports when it ends. Without reservations, concurrent calls could
together overspend a budget in which each of them fits. They are not journaled: calls in progress end with the engine.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, Protocol, TypeAlias

from engine.core.effects import StartAttempt
from engine.core.queries.money.budget import Budget, Subject, budgets, is_limited, touched
from engine.core.records.values import NO_USAGE, Usage
from engine.core.state import State
from engine.runtimes.attempts.pending import Pending

_NONE = Decimal(0)
Counted: TypeAlias = Literal["tokens", "cost_usd"]


class Payer(Protocol):
    """An attempt that calls models."""

    @property
    def effect(self) -> StartAttempt:
        """What started it."""

    def unreported(self) -> Usage:
        """Return its usage that the core does not know yet."""


@dataclass(eq=False)
class Hold:
    """The reservation of one call."""

    by: Payer
    usage: Usage
    subjects: frozenset[str]
    """Ids of all levels that pay."""


@dataclass(frozen=True)
class Short:
    """A budget that is too small for a call, even with no other call in progress."""

    subject: str
    amount: Counted
    needs: Decimal


class Reservations:
    """The model calls in progress of one engine."""

    def __init__(self) -> None:
        self._holds: dict[Hold, None] = {}
        self._payers: dict[Payer, frozenset[str]] = {}
        """Attempts with usage that the core may not know yet, with the ids of all levels that pay for them."""
        self._waiting: list[Pending[None]] = []

    def hold(self, state: State, by: Payer, usage: Usage) -> Hold | Short | None:
        """Reserve the estimate of a call.

        Returns:
            The reservation; or the budget that is too small; or None if other calls have to end first.
        """
        must_wait = False
        spent = {one: one.unreported() for one in self._payers}
        self._payers = {one: ids for one, ids in self._payers.items() if spent[one] != NO_USAGE}
        subjects = _payers_of(state, by)
        for subject, budget in _budgets(state, subjects):
            amount: Counted = "tokens" if budget.name == "tokens" else "cost_usd"
            takes = amount_of(usage, amount)
            under = [one for one, ids in self._payers.items() if subject.id in ids]
            unreported = sum((amount_of(spent[one], amount) for one in under), _NONE)
            if budget.spent + unreported + takes > budget.limit:
                return Short(subject.id, amount, takes)
            held = [one for one in self._holds if subject.id in one.subjects]
            under_way = sum((amount_of(one.usage, amount) for one in held), _NONE)
            must_wait = must_wait or budget.spent + unreported + under_way + takes > budget.limit
        if must_wait:
            return None
        hold = Hold(by, usage, frozenset(one.id for one in subjects))
        self._holds[hold] = None
        return hold

    def let_go(self, hold: Hold) -> None:
        """Release the reservation of a finished call, whose cost is known now."""
        self._holds.pop(hold, None)
        self._payers[hold.by] = hold.subjects
        waiting, self._waiting = self._waiting, []
        for pending in waiting:
            pending.put(None)

    def wait_on(self, pending: Pending[None]) -> None:
        """Set `pending` when any call ends."""
        self._waiting.append(pending)


def is_bound(state: State, by: Payer) -> bool:
    """Return whether any level that pays for an attempt has a budget."""
    effect = by.effect
    task, agent = state.tasks.get(effect.task_id), state.agents.get(effect.agent_id)
    return is_limited(state, task, state.runs.get(task.run_id) if task is not None else None, agent)


def amount_of(usage: Usage, name: Counted) -> Decimal:
    """Return an amount of a usage; unknown counts as nothing."""
    if name == "tokens":
        return Decimal((usage.tokens_in or 0) + (usage.tokens_out or 0))
    return usage.cost_usd or _NONE


def unreported(state: State, effect: StartAttempt, spent: Usage, before: Usage) -> Usage:
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
    known = attempt.spent or NO_USAGE
    all_in = (spent.tokens_in or 0) + (before.tokens_in or 0) - (known.tokens_in or 0)
    all_out = (spent.tokens_out or 0) + (before.tokens_out or 0) - (known.tokens_out or 0)
    cost = (spent.cost_usd or _NONE) + (before.cost_usd or _NONE) - (known.cost_usd or _NONE)
    return NO_USAGE if not (all_in or all_out or cost) else Usage(tokens_in=all_in, tokens_out=all_out, cost_usd=cost)


def _payers_of(state: State, by: Payer) -> list[Subject]:
    effect = by.effect
    task, agent = state.tasks.get(effect.task_id), state.agents.get(effect.agent_id)
    return list(touched(state, task, state.runs.get(task.run_id) if task is not None else None, agent))


def _budgets(state: State, subjects: Iterable[Subject]) -> Iterator[tuple[Subject, Budget]]:
    for subject in subjects:
        for budget in budgets(state, subject):
            if budget.name in ("tokens", "cost_usd"):
                yield subject, budget
