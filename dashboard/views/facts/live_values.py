"""Reads the JSON that an engine publishes while attempts run; its contents are untrusted."""

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any


def read_live_value(live: Mapping[str, str], key: str) -> Any:
    """Return the value of a key; None if it is missing or invalid."""
    text = live.get(key)
    if text is None:
        return None
    try:
        return _decoder.decode(text)
    except (ValueError, RecursionError):
        return None


def _number(text: str) -> float:
    if not isfinite(number := float(text)):
        raise ValueError(f"{text} is not a number that is drawn")
    return number


_decoder = json.JSONDecoder(parse_constant=_number, parse_float=_number)
"""A constant, because every drawn row uses it."""
