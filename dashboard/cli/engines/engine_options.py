"""The options of `engine` that say how an engine runs: each is declared once, as a field with its option of click."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Annotated, Any, TypeVar, get_args

import click

from dashboard.cli.printing.times import FiniteRange
from store import Durability

F = TypeVar("F", bound=Callable[..., Any])


def _option(text: str = "", **attributes: Any) -> dict[str, Any]:
    return {"help": text, **attributes}


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """Values of the options."""

    takeover: Annotated[
        bool, _option("End an engine of this database that hangs, and take its place.", is_flag=True)
    ] = False
    standby: Annotated[bool, _option("Wait, and take over when the running engine is gone.", is_flag=True)] = False
    takeover_after: Annotated[
        float | None,
        _option(
            "With --standby: also take over from an engine that has been silent for so long; 3 or more.",
            metavar="SECONDS",
            type=FiniteRange(min=3),
        ),
    ] = None
    durability: Annotated[
        Durability,
        _option(
            "normal is faster; a power cut can lose the last moments.",
            type=click.Choice(["full", "normal"]),
        ),
    ] = "full"
    without_code: Annotated[
        bool,
        _option("Start although agents need code of the program that made them; those wait.", is_flag=True),
    ] = False
    accept_loss: Annotated[
        int,
        _option(
            "Start although N acknowledged events are missing at the end of the database; doctor counts them.",
            metavar="N",
            type=click.IntRange(min=0),
        ),
    ] = 0
    ready_fd: Annotated[int | None, _option(type=int, hidden=True)] = None
    """Write end of a pipe on which it reports that it is up."""
    while_fd: Annotated[int | None, _option(type=int, hidden=True)] = None
    """The engine ends when this pipe is closed at its other end."""


def takes_engine_options(command: F) -> F:
    """Add the options to a subcommand; `EngineOptions` takes their values."""
    for field in reversed(fields(EngineOptions)):
        flag, attributes = f"--{field.name.replace('_', '-')}", get_args(field.type)[1]
        command = click.option(flag, default=field.default, **attributes)(command)
    return command
