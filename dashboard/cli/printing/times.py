"""Numbers and times on the command line: lengths such as 90, 90s, 5m, 2h, 1d, and what time it is for the team."""

import math
from typing import Any

import click

from dashboard.cli.printing.output import WRONG_USAGE, fail
from dashboard.views.header import engine_time_ms
from dashboard.views.words.parsers import Mistyped, Seq, length_s, moment_of
from store import Reader
from store.wall_clock import wall_ms


class Within(click.FloatRange):
    """A number in a range; the one that is none, `nan`, is in every range of click."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = float(super().convert(value, param, ctx))
        if math.isnan(found):
            self.fail(f"{value!r} is not a number", param, ctx)
        return found


def now_in(reader: Reader) -> int:
    """Return the time of the team in an open file, in UTC milliseconds."""
    return engine_time_ms(reader.newest_ms(), reader.engine(), wall_ms())


def seq_of(reader: Reader, moment: str) -> int:
    """Return the last event before a moment that is said on the command line; a seq is itself.

    Raises:
        Failure: If it is none.
    """
    try:
        found = moment_of(moment, now_in(reader))
    except Mistyped as error:
        fail("usage", str(error))
    return int(found) if isinstance(found, Seq) else reader.seq_at(found - 1)


def seconds(said: str, what: str) -> float:
    """Return a length of time in seconds.

    Args:
        said: The text of the argument.
        what: Its meaning, for the message.

    Raises:
        Failure: If it is not a length of time.
    """
    try:
        found = length_s(said)
    except Mistyped:
        found = None
    if found is None:
        fail("usage", f"{said!r} is not a {what}", "write seconds, or a number with s, m, h or d: 90s, 5m", WRONG_USAGE)
    return found


class Length(click.ParamType[float]):
    """A length of time as an option."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return it in seconds."""
        return value if isinstance(value, float) else seconds(str(value), "duration")
