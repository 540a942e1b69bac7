"""Lengths of time on the command line: `90`, `90s`, `5m`, `2h`, `1d`."""

import re

import click

from dashboard.cli.output import WRONG_USAGE, fail

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
