"""The words of a subcommand are fields of the command that it sends."""

from collections.abc import Iterator

import click
import pytest

from dashboard.cli import quarterdeck
from dashboard.cli.group import COMMANDS
from dashboard.views.words.subcommands import Parameter, subcommand_of
from engine.core import commands as on
from engine.core.commands import Command
from engine.core.specs.options import Preempt, SupervisorOptions
from engine.platform.field_docstrings import field_docstrings


def parameters() -> Iterator[Parameter]:
    assert isinstance(quarterdeck, click.Group)
    ctx = click.Context(quarterdeck)
    for name in COMMANDS:
        command = quarterdeck.get_command(ctx, name)
        assert command is not None
        yield from (option._field for option in command.params if hasattr(option, "_field"))


def test_every_option_that_is_a_field_is_described_by_its_docstring() -> None:
    undescribed = [
        f"{parameter.record.__name__}.{parameter.path[-1]}"
        for parameter in parameters()
        if not field_docstrings(parameter.record).get(parameter.path[-1])
    ]

    assert undescribed == [], "the help of the option is the docstring of the field: write it"


@pytest.mark.parametrize(
    ("values", "command"),
    [
        ({("supervisor",): "chief"}, on.ChangeSupervisor(supervisor="chief")),
        ({("supervisor",): "chief", ("options", "balance"): None}, on.ChangeSupervisor(supervisor="chief")),
        (
            {("supervisor",): "chief", ("max_agents",): 3, ("options", "preempt", "at"): "now"},
            on.ChangeSupervisor(supervisor="chief", max_agents=3, options=SupervisorOptions(preempt=Preempt(at="now"))),
        ),
    ],
)
def test_a_command_is_made_of_what_was_given_alone(values: dict[tuple[str, ...], object], command: Command) -> None:
    assert subcommand_of(on.ChangeSupervisor).build(values) == command
