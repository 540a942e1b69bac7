"""Arguments and options of subcommands, made from the fields of the command that each sends.

Rule: `dashboard/views/words/subcommands.py` says the words; types, bounds and choices are the annotation of the field,
its help is the docstring of the field.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, TypeVar, get_origin

import click

from dashboard.cli.printing.output import fail
from dashboard.cli.printing.times import FiniteRange, Length
from dashboard.views.words.parsers import Mistyped, parse_labels
from dashboard.views.words.subcommands import Parameter, subcommand_of
from engine.core.commands import Command
from engine.core.validation import rules
from engine.core.validation.bounds import RunLabels
from engine.platform.field_docstrings import field_docstrings

F = TypeVar("F", bound=Callable[..., Any])


class _FieldOption(click.Option):
    """An option that sets a field. The source of its record is read where the help is shown, and for nothing else."""

    def __init__(self, *args: Any, parameter: Parameter, **attributes: Any) -> None:
        self._field = parameter
        super().__init__(*args, **attributes)

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the line of the help."""
        name = self._field.path[-1]
        self.help = field_docstrings(self._field.record).get(name, "").replace("`", "")
        self.help += "  [90s, 5m, 2h]" if name.endswith("_s") else ""
        return super().get_help_record(ctx)


class _Amount(FiniteRange):
    """An amount of money, exactly as it was typed."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if isinstance(value, Decimal) else Decimal(str(super().convert(value, param, ctx)))


def takes(command: type[Any], *names: str) -> Callable[[F], F]:
    """Give a subcommand the arguments and options of a command, or those of these names; `built` reads their values."""

    def with_parameters(function: F) -> F:
        for parameter in reversed(subcommand_of(command).parameters):
            if not names or parameter.name in names:
                function = _decorator(parameter)(function)
        return function

    return with_parameters


def build_command(command: type[Any], values: Mapping[str, Any]) -> Command:
    """Return the command of the values of its arguments and options; what was not given stays at its default."""
    subcommand = subcommand_of(command)
    places = {parameter.path: _place(parameter) for parameter in subcommand.parameters}
    given = {path: values[place] for path, place in places.items() if values.get(place) not in (None, ())}
    return subcommand.build({path: list(value) if isinstance(value, tuple) else value for path, value in given.items()})


def _labels(_ctx: click.Context, _parameter: click.Parameter, words: tuple[str, ...]) -> dict[str, str] | None:
    """Return the labels of `KEY=TEXT` words; None without any."""
    try:
        return rules.rule_for(RunLabels).check(parse_labels(words)) if words else None
    except Mistyped as error:
        fail("usage", str(error), "for example --label team=web")
    except rules.InvalidValue as fault:
        fail("usage", f"--label {' '.join(map(str, fault.path))} {fault.text}".replace("  ", " "))


def _decorator(parameter: Parameter) -> Callable[[F], F]:
    place, (kind, metavar) = _place(parameter), _kind(parameter)
    if parameter.is_argument:
        return click.argument(place, type=kind)
    flag = f"--{parameter.name}"
    if parameter.type is bool and parameter.may_be_none:
        flag = f"{flag}/--no-{parameter.name}"
    return click.option(
        flag,
        place,
        cls=_FieldOption,
        parameter=parameter,
        type=kind,
        metavar=metavar,
        is_flag=parameter.type is bool,
        multiple=get_origin(parameter.type) in (list, tuple, dict),
        callback=_labels if get_origin(parameter.type) is dict else None,
        default=None,
    )


def _place(parameter: Parameter) -> str:
    """Return the name of the parameter of the function that gets the value."""
    return "_".join(parameter.path)


def _kind(parameter: Parameter) -> tuple[click.ParamType[Any], str | None]:
    """Return the type of the values as click has it, and what stands for one in the help."""
    bounds = next((mark for mark in parameter.marks if isinstance(mark, rules.Within)), rules.Within())
    if parameter.choices:
        return click.Choice(parameter.choices), None
    if parameter.path[-1].endswith("_s"):
        return Length(), "TIME"
    if parameter.type is int:
        return click.IntRange(bounds.ge, bounds.le), None
    if parameter.type is float:
        return FiniteRange(bounds.ge, bounds.le), None
    if parameter.type is Decimal:
        return _Amount(0, min_open=True), "USD"
    if parameter.type is bool:
        return click.BOOL, None
    if get_origin(parameter.type) is dict:
        return click.STRING, "KEY=TEXT"
    return click.STRING, "NAME" if parameter.marks or get_origin(parameter.type) in (list, tuple) else "TEXT"
