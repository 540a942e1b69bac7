"""Formats a command, applied or about to be sent, as the equivalent command line."""

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dashboard.views.words.names import short_id
from dashboard.views.words.subcommands import Parameter, Subcommand, subcommand_of_kind
from engine.core.commands import COMMAND_KINDS, Command
from engine.core.queries.targets import shortest_targets
from engine.core.queries.work.excerpts import args_of, is_truncated
from engine.core.records.records import JsonValue
from engine.core.state import State

Args = Mapping[str, Any]
_MEMBERS = ("agent", "supervisor", "target", "parent")
"""Arguments that may name a member."""


def shell_line(kind: str, args: Args) -> str:
    """Return the command line equivalent to a command; empty if only Python can send it.

    Args:
        kind: The type of the command, such as `swap_agent`.
        args: Its fields as the journal keeps them: without those at their default, long texts truncated.
    """
    if kind in _PYTHON_ONLY or kind not in COMMAND_KINDS:
        return ""
    arguments = _FORMATTERS[kind](args) if kind in _FORMATTERS else _make_plain_line(subcommand_of_kind(kind), args)
    return "quarterdeck " + " ".join(map(shlex.quote, arguments)) if arguments else ""


def describe_omissions(kind: str, args: Args) -> str:
    """Return what the command line of a command leaves out; empty if the line is equivalent."""
    if kind in _FORMATTERS or kind in _PYTHON_ONLY or kind not in COMMAND_KINDS:
        unsaid = [name for name in _FIELDS_WITHOUT_OPTION.get(kind, ()) if name in args]
    else:
        unsaid = [*subcommand_of_kind(kind).uncovered_fields(args)]
    if kind == "submit" and not isinstance(args.get("request", ""), str):
        unsaid.append("a request that is no text")
    if kind == "switch_strategy" and not (args.get("mode") and args.get("supervisor")):
        unsaid.append("the same strategy" if args.get("supervisor") else "the first supervisor")
    if kind == "swap_agents" and not _is_one_swap(_read_items(args, "swaps")):
        unsaid.append("another spec for each agent")
    if "catalogue" in args:
        unsaid = [name for name in unsaid if name != "name"]  # --as says it
    if unsaid:
        return f"no option says {', '.join(unsaid)}"
    is_cut = kind not in ("load_team", "add_agent") and is_truncated(_without_files(args))  # their line names a file
    return "the journal keeps only a part of what was given" if is_cut else ""


def _without_files(value: Any) -> Any:
    if isinstance(value, list):
        return [*map(_without_files, value)]
    if isinstance(value, Mapping):
        return {name: _without_files(each) for name, each in value.items() if name not in _IN_FILES}
    return value


def shell_line_to_send(state: State, command: Command) -> str:
    """Return the command line that sends a command, with members by their shortest unambiguous names.

    It is empty if no line is equivalent.
    """
    names_by_id = shortest_targets(state)

    def replace_ids(args: Args) -> Args:
        members = {name: args[name] for name in _MEMBERS if name in args}
        names = {name: names_by_id.get(str(member).removeprefix("@"), member) for name, member in members.items()}
        swaps = {name: [replace_ids(swap) for swap in args[name]] for name in ("swaps", "rollbacks") if name in args}
        return {**args, **names, **swaps}

    args = args_of(command)
    if describe_omissions(command.type, args).startswith("no option"):
        return ""
    return shell_line(command.type, replace_ids(args))


def describe_command(kind: str, args: Args) -> str:
    """Describe a command that has no command line, such as `register spec scout`."""
    spec = args.get("spec")
    name = args.get("name") or (spec.get("name") if isinstance(spec, Mapping) else args.get("registered"))
    return f"{kind.replace('_', ' ')} {name or ''}".strip()


def _text(value: JsonValue) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value, ensure_ascii=False)


def _line(word: str, positional: Sequence[str], options: Sequence[str] = ()) -> list[str]:
    """Return the words of a line; positional arguments go last, after `--`, if one of them looks like an option."""
    positional = [argument for argument in positional if argument]
    if any(argument[0] == "-" and argument != "-" for argument in positional):
        return [word, *options, "--", *positional]
    return [word, *positional, *options]


def _seconds(value: JsonValue) -> str:
    """Return a duration as options take it."""
    return f"{value:.3f}".rstrip("0").rstrip(".") + "s" if isinstance(value, int | float) else _text(value)


def _make_plain_line(subcommand: Subcommand, args: Args, *more: str) -> list[str]:
    """Return the words of a subcommand whose parameters are fields of the command."""
    arguments = [each.value_in(args) for each in subcommand.parameters if each.is_argument]
    texts = [_text(value) for value in arguments if value is not None]
    return _line(subcommand.word, texts, [*_options(subcommand, args), *more])


def _options(subcommand: Subcommand, args: Args) -> list[str]:
    return [word for option in subcommand.options for word in _option(option, option.value_in(args))]


def _option(parameter: Parameter, value: JsonValue) -> list[str]:
    """Return the words that set a field to a value; none for its default."""
    option = f"--{parameter.name}"
    if isinstance(value, bool):
        if parameter.may_be_none:
            return [option if value else f"--no-{parameter.name}"]
        return [] if value is parameter.default else [option]
    if isinstance(value, Mapping):
        return [word for key, each in value.items() for word in (option, f"{key}={_setting(each)}")]
    if isinstance(value, list):
        return [word for each in value for word in (option, _text(each))]
    if value is None:
        return []
    return [option, _seconds(value) if parameter.path[-1].endswith("_s") else _text(value)]


def _spec_name(spec: JsonValue) -> str:
    """Return the name of the file that stands for an inline spec."""
    name = spec.get("name") if isinstance(spec, Mapping) else None
    return f"{name or 'agent'}.yaml"


def _swap_options(args: Args) -> list[str]:
    values = args if args.get("spec") is None else {**args, "registered": _spec_name(args["spec"])}
    after = args.get("rollback_failures")
    rollback = ["--rollback-after", f"{_text(after)}/{_text(args.get('rollback_tasks', 10))}"] if after else []
    return [*_options(subcommand_of_kind("swap_agent"), values), *rollback]


def _swap(args: Args) -> list[str]:
    return ["swap", _text(args.get("agent", "")), *_swap_options(args)]


def _read_items(args: Args, name: str) -> list[Args]:
    each = args.get(name)
    return [item for item in each if isinstance(item, Mapping)] if isinstance(each, list) else []


def _is_one_swap(swaps: Sequence[Args]) -> bool:
    """Return whether one line can send several swaps: all have the same spec, or all specs come from one file."""
    return len({*map(_make_swap_key, swaps)}) < 2 or _is_of_file(swaps)


def _make_swap_key(swap: Args) -> str:
    return json.dumps({name: value for name, value in swap.items() if name not in ("agent", "generation")})


def _is_of_file(swaps: Sequence[Args]) -> bool:
    rest = {_make_swap_key({**swap, "spec": None}) for swap in swaps}
    return len(rest) == 1 and all(isinstance(swap.get("spec"), Mapping) for swap in swaps)


def _swaps(args: Args) -> list[str]:
    swaps = _read_items(args, "swaps")
    agents = [_text(swap.get("agent", "")) for swap in swaps]
    options = _swap_options(swaps[0]) if swaps else []
    if len({*map(_make_swap_key, swaps)}) > 1 and _is_of_file(swaps):
        options = ["--from", "agents.yaml", *options[2:]]
    return ["swap", *agents, *options]


def _rollbacks(args: Args) -> list[str]:
    several = _read_items(args, "rollbacks")
    options = _options(subcommand_of_kind("rollback"), several[0]) if several else []
    return ["rollback", *(_text(rollback.get("agent", "")) for rollback in several), *options]


def _strategy(args: Args) -> list[str]:
    return _make_plain_line(
        subcommand_of_kind("switch_strategy"), args, *(["--new-only"] if args.get("scope") == "new" else [])
    )


def _setting(value: JsonValue) -> str:
    """Return a value as `--set` parses it: a text that would be parsed as JSON is quoted."""
    if not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    try:
        json.loads(value)
    except ValueError:
        return value
    return json.dumps(value, ensure_ascii=False)


def _answer(args: Args) -> list[str]:
    also = args.get("also")
    questions = [_text(args.get("escalation", "")), *map(_text, also if isinstance(also, list) else ())]
    output = args.get("output")
    options = ["--all-alike"] if args.get("alike") else []
    options += [] if args.get("amount") is None else ["--amount", _text(args["amount"])]
    minutes, scope, where = args.get("minutes"), args.get("scope"), args.get("where")
    if isinstance(minutes, int | float):
        options += ["--for", f"{minutes:g}m"]
    elif scope is not None:
        options += ["--for", _text(scope)]
    for name in where if isinstance(where, list) else ():
        options += ["--where", _text(name)]
    if output is not None:
        options = ["--output" if isinstance(output, str) else "--output-json", _text(output), *options]
    return _line("answer", [",".join(questions), _text(args.get("answer", ""))], options)


def _add(args: Args) -> list[str]:
    if args.get("registered") is not None:
        return []  # only Python can add a registered spec
    source = [_spec_name(args.get("spec") or args.get("team") or args.get("member"))]
    if args.get("catalogue"):
        source = ["--catalogue", _text(args["catalogue"]), *(["--as", _text(args["name"])] if args.get("name") else [])]
    under = args.get("supervisor") or args.get("parent")
    return ["add", *source, *(["--under", _text(under)] if under else [])]


def _forget(args: Args) -> list[str]:
    ids = args.get("insights")
    return ["memory", *_line("forget", [*map(_text, ids)] if isinstance(ids, list) else [])]


def _retire(args: Args) -> list[str]:
    ids = args.get("recipes")
    return ["recipes", *(_line("remove", [*map(_text, ids)]) if isinstance(ids, list) and ids else ["gc"])]


_FORMATTERS: dict[str, Callable[[Args], list[str]]] = {
    "set_deadline": lambda args: [
        "deadline",
        _text(args.get("target", "")),
        _seconds(args["deadline_s"]) if args.get("deadline_s") else "none",
    ],
    "answer": _answer,
    "switch_strategy": _strategy,
    "undo": lambda args: ["undo", *([short_id(_text(args["command_id"]))] if args.get("command_id") else [])],
    "hand_over": lambda args: [
        "engine",
        "--hand-over",
        *(["--grace", _text(args["grace_s"])] if "grace_s" in args else []),
    ],
    "forget": _forget,
    "retire_recipes": _retire,
    "declare": _add,
    "add_agent": _add,
    "add_supervisor": _add,
    "swap_agent": _swap,
    "swap_agents": _swaps,
    "rollback_agents": _rollbacks,
    "replace_team": lambda args: [
        "replace",
        _text(args.get("supervisor", "")),
        _spec_name(args.get("team")),
        *_options(subcommand_of_kind("replace_team"), args),
    ],
}
"""Formatters of commands whose parameters are not just their fields."""
_FIELDS_WITHOUT_OPTION = {"set_deadline": ("due_ms",), "add_agent": ("name", "evict")}
"""Fields of these commands without an option. The generation that a swap expects is left out: it is a guard."""
_IN_FILES = ("spec", "team", "member")
"""Fields whose values are in the file that the line names."""
_PYTHON_ONLY = ("register_spec", "unregister_spec", "create_agent", "ping")
"""Commands without a subcommand."""
