"""What every subcommand of `catalogue` has: `--catalogue`, and the options of all but `--db`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from dashboard.cli.group import shared_options

OUTPUT_OPTIONS = [option for option in shared_options() if option.name != "db"]
CATALOGUE_OPTION = click.option(
    "--catalogue",
    "path",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="The catalogue; QUARTERDECK_CATALOGUE says the same. By default it is in the data folder.",
)


def catalogue_command(name: str) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a subcommand of a function that is given the context and the path of the catalogue."""

    def make_command(function: Callable[..., Any]) -> click.Command:
        command = click.command(name)(CATALOGUE_OPTION(click.pass_context(function)))
        command.params += OUTPUT_OPTIONS
        return command

    return make_command
