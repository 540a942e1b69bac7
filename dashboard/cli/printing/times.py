"""Numbers and times on the command line: durations such as 90, 90s, 5m, 2h, 1d, and the time of the team."""

import math
from typing import Any

import click

from dashboard.cli.printing.output import fail
from dashboard.views.header import engine_time_ms
from dashboard.views.words.parsers import Mistyped, Seq, parse_duration_s, parse_moment
from store import Reader
from store.wall_clock import wall_ms


class FiniteRange(click.FloatRange):
    """A number in a range. Refuses `nan`, which is in every range of click."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"{value!r} is not a number", param, ctx)
        return number


def now_in(reader: Reader) -> int:
    """Return the time of the team in an open file, in UTC milliseconds."""
    return engine_time_ms(reader.newest_ms(), reader.engine(), wall_ms())


def seq_of(reader: Reader, moment: str) -> int:
    """Return the seq of the last event before a moment, which is a time or a seq.

    Raises:
        Failure: If it is neither.
    """
    try:
        position = parse_moment(moment, now_in(reader))
    except Mistyped as error:
        fail("usage", str(error))
    return int(position) if isinstance(position, Seq) else reader.seq_at(position - 1)


def seconds(text: str, meaning: str) -> float:
    """Return a duration in seconds.

    Args:
        text: The text of the argument.
        meaning: Its meaning, for the message.

    Raises:
        Failure: If it is not a duration.
    """
    try:
        length = parse_duration_s(text)
    except Mistyped:
        length = None
    if length is None:
        fail("usage", f"{text!r} is not a {meaning}", "write seconds, or a number with s, m, h or d: 90s, 5m")
    return length


class Length(click.ParamType[float]):
    """A duration as an option."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return it in seconds."""
        return value if isinstance(value, float) else seconds(str(value), "duration")
