"""Track records of agents, and the usage of their models.

What a model sees itself is checked in `engine.simulation.model_watch`.
"""

from collections import Counter
from decimal import Decimal
from typing import Any

from engine.core import events
from engine.core.records.values import NO_USAGE, Usage
from engine.simulation.laws.registry import When, law
from engine.simulation.ledger.agents import ENDS
from engine.simulation.shadow_ledger import ShadowLedger


@law(When.AFTER_BATCH)
def outcomes_are_kept_by_category(ledger: ShadowLedger) -> str | None:
    """An agent knows of each category of work what its attempts came to and what they used."""
    track_record = ledger.track_record
    for agent in ledger.state.agents.values():
        categories = {category for agent_id, category in track_record.usage if agent_id == agent.id}
        for category in categories.union(agent.track_record):
            record = agent.track_record.get(category)
            actual = [0, 0, 0] if record is None else [record.done, record.failed, record.cancelled]
            expected = track_record.ends.get((agent.id, category), Counter())
            if actual != [expected.get(end, 0) for end in ENDS]:
                return f"{agent.id} says of {category!r} that {actual} were done, failed, cancelled; it is {expected}"
            used = track_record.usage.get((agent.id, category), NO_USAGE)
            if (NO_USAGE if record is None else record.usage) != used:
                return f"{agent.id} says that {category!r} took {record and record.usage}; it took {used}"
    return None


@law(events.AttemptDone, events.AttemptFailed, events.AttemptCancelled, events.AttemptPreempted)
def models_are_paid_for_exactly(ledger: ShadowLedger, event: Any) -> str | None:
    """An ended attempt counts the usage of each of its model calls once, failed and interrupted ones too."""
    key = (event.task_id, event.attempt)
    charged = ledger.models.charged.get(key)
    if charged is None or key in ledger.models.inexact_attempts:
        return None
    reported = ledger.models.reported.get(key, NO_USAGE).plus(event.usage)
    reported_figures, charged_figures = _figures(reported), _figures(charged)
    if reported_figures == charged_figures:
        return None
    return f"{event.task_id}, attempt {event.attempt} counts {reported_figures}; its models took {charged_figures}"


def _figures(usage: Usage) -> tuple[int, int, Decimal]:
    return usage.tokens_in or 0, usage.tokens_out or 0, usage.cost_usd or Decimal(0)
