"""Times on the command line: lengths such as 90, 90s, 5m, 2h, 1d, and what time it is for the team."""

import re
import time

import click

from dashboard.cli.output import WRONG_USAGE, fail
from dashboard.views.header import engine_time_ms
from store import Reader


def now_in(reader: Reader) -> int:
    """Return the time of the team in an open file, in UTC milliseconds."""
    return engine_time_ms(reader.newest_ms(), reader.engine(), time.time_ns() // 1_000_000)


_LENGTH = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)([smhd]?)")
_UNITS_S = {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400}


def seconds(said: str, what: str) -> float:
    """Return a length of time in seconds.

    Args:
        said: What stands on the command line.
        what: What it is of, for the message.

    Raises:
        Failure: If it is none.
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
