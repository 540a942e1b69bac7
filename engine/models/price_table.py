"""Prices and context sizes of models, from the table in litellm's package, which is read without importing litellm.

What a request costs is computed in the child process (`litellm_client.py`), from the same rows.
"""

from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from engine.core.queries.team.models import ModelFacts
from engine.core.specs.model_spec import Price

Row: TypeAlias = Mapping[str, Any]
_INPUT, _OUTPUT, _CACHED = "input_cost_per_token", "output_cost_per_token", "cache_read_input_token_cost"
_CONTEXT = ("max_input_tokens", "max_tokens")
_FIELDS = ("litellm_provider", _INPUT, _OUTPUT, _CACHED, *_CONTEXT)
_FILE = "model_prices_and_context_window*.json"


def listed_facts(model: str) -> ModelFacts | None:
    """Return the price and the context size of a model of litellm, such as `openai/gpt-4o-mini`.

    None if the table does not list it. The first call reads the table, about 50 ms.
    """
    *providers, name = model.split("/", 1)
    row = find_row(_table(), model, provider="".join(providers), name=name)
    return ModelFacts(price_of(row), context_of(row)) if row else None


def has_table() -> bool:
    """Return whether the table was found, so that a model which it does not list is an unusual one."""
    return bool(_table())


def find_row(table: Mapping[str, Row], model: str, *, provider: str, name: str) -> Row:
    """Return the row of a model, by its whole name or the one at its provider; empty if there is none."""
    for key in (model, f"{provider}/{name}", name):
        row = table.get(key)
        if row is not None and str(row.get("litellm_provider", "")).startswith(provider.partition("_")[0]):
            return row
    return {}


def price_of(row: Row) -> Price | None:
    """Return the price in a row; None if it is unknown."""
    input_cost, output_cost, cached_cost = row.get(_INPUT), row.get(_OUTPUT), row.get(_CACHED)
    if input_cost is None or output_cost is None:
        return None
    return Price(
        in_usd=_per_million(input_cost),
        out_usd=_per_million(output_cost),
        cached_usd=None if cached_cost is None else _per_million(cached_cost),
    )


def context_of(row: Row) -> int | None:
    """Return the tokens that a request to a model may hold; None if unknown."""
    return next((row[name] for name in _CONTEXT if row.get(name)), None)


def _per_million(amount: float) -> Decimal:
    return (Decimal(str(amount)) * 1_000_000).normalize()


@cache
def _table() -> dict[str, Row]:
    """Read the table; empty where litellm or its file is missing or is not what it was."""
    found = find_spec("litellm")
    folders = [] if found is None else [Path(folder) for folder in found.submodule_search_locations or ()]
    try:
        file = next(path for folder in folders for path in sorted(folder.glob(_FILE)))
        rows = msgspec.json.decode(file.read_bytes(), type=dict[str, dict[str, Any]])
    except (StopIteration, OSError, msgspec.DecodeError):
        return {}
    return {model: {name: row[name] for name in _FIELDS if name in row} for model, row in rows.items()}
