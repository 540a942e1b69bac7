"""Times on the command line: lengths such as 90, 90s, 5m, 2h, 1d, and what time it is for the team."""

import re
import time
from datetime import datetime

import click

from dashboard.cli.output import WRONG_USAGE, fail
from dashboard.views.header import engine_time_ms
from store import Reader


def now_in(reader: Reader) -> int:
    """Return the time of the team in an open file, in UTC milliseconds."""
    return engine_time_ms(reader.newest_ms(), reader.engine(), time.time_ns() // 1_000_000)


def seq_of(reader: Reader, moment: str) -> int:
    """Return the last event before a moment that is said on the command line; a seq is itself.

    Raises:
        Failure: If it is none.
    """
    if moment.isascii() and moment.isdigit():
        return int(moment[:18])
    return reader.seq_at(_moment_ms(moment, now_in(reader)) - 1)


def _moment_ms(said: str, now_ms: int) -> int:
    amount, unit = said[:-1], said[-1:]
    if unit in _UNITS_MS and amount.isascii() and amount.isdigit() and len(amount) < 10:
        return now_ms - int(amount) * _UNITS_MS[unit]
    try:
        now = datetime.fromtimestamp(now_ms / 1000).astimezone()
        found = datetime.fromisoformat(said if "-" in said else f"{now.date()}T{said}")
        return int((found if found.tzinfo is not None else found.astimezone()).timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        fail("usage", f"{said!r} is neither a seq nor a time", "such as 812, 10m, 12:04, 2026-01-31T12:04")


_UNITS_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_LENGTH = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)([smhd]?)")
_UNITS_S = {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400}


def seconds(said: str, what: str) -> float:
    """Return a length of time in seconds.

    Args:
        said: The text of the argument.
        what: Its meaning, for the message.

    Raises:
        Failure: If it is not a length of time.
    """
    found = _LENGTH.fullmatch(said.strip())
    if found is None:
        fail("usage", f"{said!r} is no {what}", "write seconds, or a number with s, m, h or d: 90s, 5m", WRONG_USAGE)
    return float(found[1]) * _UNITS_S[found[2]]


class Length(click.ParamType[float]):
    """A length of time as an option."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return it in seconds."""
        return value if isinstance(value, float) else seconds(str(value), "length of time")
