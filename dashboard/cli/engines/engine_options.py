"""The options of `engine` that say how an engine runs; each is declared once, as a field of a record."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Annotated, Any, TypeVar, get_args

import click

from dashboard.cli.printing.times import FiniteRange
from store import Durability

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """Values of the options, each annotated with its help, and with type and metavar for click where it is no flag."""

    takeover: Annotated[bool, "End an engine of this database that hangs, and take its place."] = False
    standby: Annotated[bool, "Wait, and take over when the running engine is gone."] = False
    takeover_after: Annotated[
        float | None,
        "With --standby: also take over from an engine that has been silent for so long; 3 or more.",
        FiniteRange(min=3),
        "SECONDS",
    ] = None
    durability: Annotated[
        Durability, "normal is faster; a power cut can lose the last moments.", click.Choice(["full", "normal"])
    ] = "full"
    without_code: Annotated[bool, "Start although agents need code of the program that made them; those wait."] = False
    accept_loss: Annotated[
        int,
        "Start although N acknowledged events are missing at the end of the database; doctor counts them.",
        click.IntRange(min=0),
        "N",
    ] = 0
    ready_fd: Annotated[int | None, "", click.INT] = None
    """Write end of a pipe on which it reports that it is up; hidden, as the next one."""
    while_fd: Annotated[int | None, "", click.INT] = None
    """The engine ends when this pipe is closed at its other end."""


def takes_engine_options(command: F) -> F:
    """Add the options to a subcommand; `EngineOptions` takes their values."""
    for field in reversed(fields(EngineOptions)):
        text, kind, metavar = (*get_args(field.type)[1:], None, None)[:3]
        command = click.option(
            f"--{field.name.replace('_', '-')}",
            default=field.default,
            help=text,
            hidden=not text,
            is_flag=kind is None,
            type=kind,
            metavar=metavar,
        )(command)
    return command
