"""Tokens and cost of requests: as the provider reports them, else estimated.

An estimate takes four characters per token, about what most tokenizers need for English text.
"""

import json
from decimal import Decimal

from engine.core.records.values import Usage
from engine.core.specs.model_spec import Price
from engine.models.records import Message, ModelRequest

CHARACTERS_PER_TOKEN = 4
_MILLION = Decimal(1_000_000)


def tokens_of(characters: int) -> int:
    """Estimate the tokens of a number of characters."""
    return -(-characters // CHARACTERS_PER_TOKEN)


def tokens_in(request: ModelRequest) -> int:
    """Estimate the tokens of a request."""
    characters = sum(_characters(message) for message in request.messages)
    for tool in request.tools:
        characters += len(tool.name) + len(tool.description) + len(json.dumps(tool.parameters))
    if request.output is not None:
        characters += len(json.dumps(request.output))
    return tokens_of(characters)


def _characters(message: Message) -> int:
    calls = sum(len(call.name) + len(json.dumps(call.arguments)) for call in message.calls)
    return len(message.text) + calls


def usage_at(price: Price | None, *, tokens_in: int, tokens_out: int, tokens_cached: int | None = None) -> Usage:
    """Return the usage of tokens at a price; without a price its cost is unknown."""
    cost = None if price is None else cost_of(price, tokens_in, tokens_out, tokens_cached or 0)
    unpriced = price is None and tokens_in + tokens_out > 0
    return Usage(
        tokens_in=tokens_in, tokens_out=tokens_out, tokens_cached=tokens_cached, cost_usd=cost, unpriced=unpriced
    )


def cost_of(price: Price, tokens_in: int, tokens_out: int, tokens_cached: int) -> Decimal:
    """Return the cost of tokens in US dollars; `tokens_cached` is a part of `tokens_in`."""
    in_usd, out_usd = Decimal(price.in_usd), Decimal(price.out_usd)
    cached_usd = in_usd if price.cached_usd is None else Decimal(price.cached_usd)
    input_cost = in_usd * (tokens_in - tokens_cached) + cached_usd * tokens_cached
    return (input_cost + out_usd * tokens_out) / _MILLION
