"""The lines of models that an agent may be given: price, context size, and how the team has fared with them."""

import math
from collections.abc import Mapping

from dashboard.views.words.amounts import UNKNOWN, duration, price_text
from engine.core.queries.money.recent import RecentFigures, model_figures
from engine.core.queries.team.models import ModelFacts
from engine.core.state import State

UNLISTED = "not known here: neither the team nor the price table of litellm has it"


def model_lines(state: State, models: Mapping[str, ModelFacts | None]) -> dict[str, str]:
    """Describe models, aligned: price of a million tokens, calls of the last hour, and tokens of context.

    None are the facts of a model that is not listed.
    """
    rows = {
        name: _cells(facts, model_figures(state, name).last_1h) for name, facts in models.items() if facts is not None
    }
    widths = [max(map(len, column)) for column in zip(*rows.values(), strict=True)]
    return {name: "  ".join(map(str.rjust, rows[name], widths)) if name in rows else UNLISTED for name in models}


def _cells(facts: ModelFacts, figures: RecentFigures) -> tuple[str, ...]:
    price, outcomes = facts.price, figures.done + figures.failed
    prices = (UNKNOWN, UNKNOWN) if price is None else (price_text(price.in_usd), price_text(price.out_usd))
    return (
        f"in {prices[0]}",
        f"out {prices[1]} /M",
        f"p50 {UNKNOWN if math.isnan(figures.p50_ms) else duration(figures.p50_ms)}",
        f"{figures.done:,} of {outcomes:,} ok" if outcomes else f"{UNKNOWN} ok",
        f"{UNKNOWN if facts.context_tokens is None else _thousands(facts.context_tokens)} context",
    )


def _thousands(tokens: int) -> str:
    return f"{tokens / 1_000_000:.1f}M" if tokens >= 1_000_000 else f"{tokens / 1_000:.0f}k"
