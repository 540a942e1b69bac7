"""The words of each subcommand that sends a command: which fields are arguments, which are options, and their names.

Rule: words are declared here, once; types, bounds and defaults are those of the fields. The command line makes its
parameters from this (`dashboard/cli/fields.py`), the audit its lines (`shell_line`), the `:` line reads `run` and
`set` with it (`dashboard/actions/team.py`).
"""

import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, Union, cast, get_args, get_origin

from msgspec.structs import FieldInfo

from engine.core.commands import COMMAND_KINDS, Command
from engine.core.records.records import fields

Path: TypeAlias = tuple[str, ...]
"""Of a field: its name, after those of the fields that hold its record."""


class Parameter(NamedTuple):
    """A field of a command, or of a record in it, that has a place in the line."""

    path: Path
    name: str
    """Of an option, without dashes; of an argument, the field."""
    record: type
    """The record that has the field."""
    default: Any
    """None where the field has none."""
    type: Any
    """The type of its values, without None and without bounds."""
    marks: tuple[Any, ...] = ()
    """The annotations of the type, such as its bounds."""
    may_be_none: bool = False
    is_argument: bool = False
    """Whether it stands without its name."""

    @property
    def choices(self) -> tuple[str, ...]:
        """The values that it may have; empty where they are not listed."""
        return get_args(self.type) if get_origin(self.type) is Literal else ()

    def value_in(self, values: Mapping[str, Any]) -> Any:
        """Return the value in the fields of a command, from which defaults were left out; None where it says nothing.

        A record in the command says its defaults too: it is there although they are.
        """
        for name in self.path[:-1]:
            inside = values.get(name)
            if not isinstance(inside, Mapping):
                return None
            values = inside
        return values.get(self.path[-1], self.default if len(self.path) > 1 else None)


class Subcommand(NamedTuple):
    """The words of a command."""

    word: str
    command: Any
    parameters: tuple[Parameter, ...]
    """Arguments, then options."""

    @property
    def options(self) -> list[Parameter]:
        """The parameters that stand with their names."""
        return [parameter for parameter in self.parameters if not parameter.is_argument]

    def build(self, values: Mapping[Path, Any]) -> Command:
        """Return the command with these values of parameters; None stands for the default."""
        return cast(Command, _build(self.command, {path: value for path, value in values.items() if value is not None}))

    def uncovered_fields(self, args: Mapping[str, Any]) -> Iterator[str]:
        """Yield the fields that a command sets and that no word says, except guards and what stands in its file."""
        yield from _uncovered_fields(self.command, args, [parameter.path for parameter in self.parameters], "")


class _Words(NamedTuple):
    word: str
    arguments: Sequence[str] | None = None
    """Paths of fields; None are the required ones."""
    options: Sequence[str] | None = None
    """Paths of fields, after `NAME=` if that is not theirs; None are those with a default, but for `_PYTHON_ONLY`."""


_PYTHON_ONLY = {"grace_s", "place"}
_GUARDS = {"generation", "paused", "registry", "token"}
"""Fields that are no part of what a command does, or stand in the file that it names."""
_WORDS: dict[str, _Words] = {
    "submit": _Words(
        "run",
        options=(
            *("supervisor", "priority", "deadline_s", "category", "after", "conversation"),
            "label=labels",
            *("max-attempts=limits.attempts", "max-tokens=limits.tokens", "max-cost=limits.cost_usd"),
        ),
    ),
    "set_priority": _Words("priority"),
    "retry_work": _Words("retry"),
    "revoke_grant": _Words("grants", (), ("revoke=grant",)),
    "switch_strategy": _Words(
        "strategy",
        ("supervisor", "mode"),
        ("aggregation", "aggregator", "lead", "run", "set=settings", "no-preserve=preserve_agent_states"),
    ),
    "stop_engine": _Words("stop", options=()),
    "import_state": _Words("import", ("path",), ()),
    "load_team": _Words("up", ("path",), ("on_conflict", "prune")),
    "remember": _Words(
        "remember", options=("supervisor", "segment", "tag=tags", "importance", "supersedes", "expect", "expires_s")
    ),
    "remove_member": _Words("remove"),
    "swap_agent": _Words("swap", options=("with=registered", "model", "mode", "deadline_s")),
    "rollback": _Words("rollback", options=("mode",)),
    "replace_team": _Words("replace", ("supervisor",)),
    "change_capabilities": _Words("capability"),
    "change_supervisor": _Words(
        "set",
        options=(
            *("max_parallel", "options.max_total", "options.processes", "max_agents", "options.balance"),
            *("options.track_record", "options.ageing_s", "preempt=options.preempt.at", "auto_discover"),
            *("discover=discovery.modes", "discovery.documents", "discovery.approve", "discovery.max_new"),
            "discovery.evict",
        ),
    ),
}
"""By the type of the command, where its word is not the type with `-`, or its words are not all of its fields."""


def _subcommand_of(command: Any) -> Subcommand:
    words = _WORDS.get(command.type) or _Words(command.type.replace("_", "-"))
    required = [field.name for field in fields(command) if field.required]
    optional = [field.name for field in fields(command) if not field.required and field.name not in _PYTHON_ONLY]
    arguments = [_parameter(command, path) for path in (required if words.arguments is None else words.arguments)]
    options = [_parameter(command, path) for path in (optional if words.options is None else words.options)]
    return Subcommand(words.word, command, (*(argument._replace(is_argument=True) for argument in arguments), *options))


subcommand_of: Callable[[Any], Subcommand] = cache(_subcommand_of)
"""From a class of commands to its words."""


def subcommand_of_kind(kind: str) -> Subcommand:
    """Return the words of a kind of commands, such as `swap_agent`."""
    return subcommand_of(COMMAND_KINDS[kind])


def _parameter(record: Any, words: str) -> Parameter:
    word, _, dotted = words.rpartition("=")
    *groups, name = path = tuple(dotted.split("."))
    for group in groups:
        record = _plain_type(_field(record, group).type)[0]
    field = _field(record, name)
    kind, marks, may_be_none = _plain_type(field.type)
    word = word or name.removesuffix("_s").replace("_", "-")
    default = None if field.required or not isinstance(field.default, str | int | float) else field.default
    return Parameter(path, word, record, default, kind, marks, may_be_none)


def _field(record: Any, name: str) -> FieldInfo:
    return next(field for field in fields(record) if field.name == name)


def _plain_type(hint: Any) -> tuple[Any, tuple[Any, ...], bool]:
    """Return a type without its marks and None, its marks, and whether None is allowed."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType) and types.NoneType in args:
        return (*_plain_type(next(arg for arg in args if arg is not types.NoneType))[:2], True)
    if origin is Annotated:
        kind, marks, may_be_none = _plain_type(args[0])
        return kind, (*marks, *args[1:]), may_be_none
    return hint, (), False


def _build(record: Any, values: Mapping[Path, Any]) -> object:
    own = {path[0]: value for path, value in values.items() if len(path) == 1}
    for name in {path[0] for path in values if len(path) > 1}:
        inside = {path[1:]: value for path, value in values.items() if path[0] == name}
        own[name] = _build(_plain_type(_field(record, name).type)[0], inside)
    return record(**own)


def _uncovered_fields(record: Any, args: Mapping[str, Any], paths: Sequence[Path], inside: str) -> Iterator[str]:
    below = {name: [path[1:] for path in paths if path[0] == name] for name in args}
    silent = {*_GUARDS, *(field.name for field in fields(record) if field.required)}
    yield from (inside + name for name in args if not below[name] and name not in silent)
    for name, value in args.items():
        if any(below[name]) and isinstance(value, Mapping):
            yield from _uncovered_fields(_plain_type(_field(record, name).type)[0], value, below[name], f"{name}.")
