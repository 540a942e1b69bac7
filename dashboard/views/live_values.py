"""Reads the JSON that an engine publishes while attempts run; the values, and the file, are untrusted."""

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any


def published(live: Mapping[str, str], key: str) -> Any:
    """Return what stands under a key; None where nothing does, or what cannot be read."""
    try:
        return json.loads(live.get(key, "null"), parse_constant=_number, parse_float=_number)
    except (ValueError, RecursionError):
        return None


def _number(text: str) -> float:
    if not isfinite(number := float(text)):
        raise ValueError(f"{text} is not a number that is drawn")
    return number
