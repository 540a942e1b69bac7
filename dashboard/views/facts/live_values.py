"""Reads the JSON that an engine publishes while attempts run; the values, and the file, are untrusted."""

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any


def read_live_value(live: Mapping[str, str], key: str) -> Any:
    """Return what stands under a key; None where nothing does, or what cannot be read."""
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
"""Made once: every row that is drawn asks."""
