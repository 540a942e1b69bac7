"""Usage of models. What a model sees itself is checked in `engine.simulation.model_watch`."""

from decimal import Decimal
from typing import Any

from engine.core import events
from engine.core.records.values import NO_USAGE, Usage
from engine.simulation.laws.registry import law
from engine.simulation.shadow_ledger import ShadowLedger


@law(events.AttemptDone, events.AttemptFailed, events.AttemptCancelled, events.AttemptPreempted)
def models_are_paid_for_exactly(books: ShadowLedger, event: Any) -> str | None:
    """An ended attempt counts the usage of each of its model calls once, failed and interrupted ones too."""
    key = (event.task_id, event.attempt)
    charged = books.models.charged.get(key)
    if charged is None or key in books.models.inexact_attempts:
        return None
    reported = books.models.reported.get(key, NO_USAGE).plus(event.usage)
    reported_figures, charged_figures = _figures(reported), _figures(charged)
    if reported_figures == charged_figures:
        return None
    return f"{event.task_id}, attempt {event.attempt} counts {reported_figures}; its models took {charged_figures}"


def _figures(usage: Usage) -> tuple[int, int, Decimal]:
    return usage.tokens_in or 0, usage.tokens_out or 0, usage.cost_usd or Decimal(0)
