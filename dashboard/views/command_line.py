"""Formats a command as the equivalent command line: one that was carried out, or one that is to be sent."""

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dashboard.views.names import short_id
from engine.core.commands import COMMAND_KINDS, Command
from engine.core.queries.excerpts import args_of
from engine.core.queries.targets import words
from engine.core.records import JsonValue, fields
from engine.core.state import State

Args = Mapping[str, Any]
_MEMBERS = ("agent", "supervisor", "target", "parent")
"""Arguments that name a member, or may."""


def command_line(kind: str, args: Args) -> str:
    """Return the command line that does the same as a command; empty where only Python can send it.

    Args:
        kind: The type of the command, such as `swap_agent`.
        args: What the journal keeps of it: fields at their default are left out, long texts are cut.
    """
    if kind in _PYTHON_ONLY or kind not in COMMAND_KINDS:
        return ""
    said = (_WAYS.get(kind) or _plain(kind))(args)
    return "quarterdeck " + " ".join(shlex.quote(word) for word in said if word)


def in_shell(state: State, command: Command) -> str:
    """Return the command line that sends a command, with members by their shortest unambiguous names."""
    named = words(state)

    def worded(args: Args) -> Args:
        said = {name: args[name] for name in _MEMBERS if name in args}
        swaps = {name: [worded(one) for one in args[name]] for name in ("swaps", "rollbacks") if name in args}
        return {**args, **{name: named.get(str(one).removeprefix("@"), one) for name, one in said.items()}, **swaps}

    return command_line(command.type, worded(args_of(command)))


def in_words(kind: str, args: Args) -> str:
    """Return what a command did in words, where no command line does it, such as `register spec scout`."""
    spec = args.get("spec")
    name = args.get("name") or (spec.get("name") if isinstance(spec, Mapping) else None)
    return f"{kind.replace('_', ' ')} {name or ''}".strip()


def _text(value: JsonValue) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value, ensure_ascii=False)


def _options(args: Args, names: Sequence[str], **other: str) -> list[str]:
    """Return `--name value` for the arguments that were given; a true one is a flag. `other` renames."""
    words: list[str] = []
    for name in names:
        value = args.get(name)
        if value is None or value is False:
            continue
        words.append("--" + other.get(name, name.removesuffix("_s").replace("_", "-")))
        if value is not True:
            words.append(f"{_text(value)}s" if name.endswith("_s") else _text(value))
    return words


def _of(word: str, *places: str, options: Sequence[str] = (), **other: str) -> Callable[[Args], list[str]]:
    """Return a way of words: the subcommand, then the arguments that stand without a name, then options."""

    def words(args: Args) -> list[str]:
        stand = [_text(args[place]) for place in places if args.get(place) is not None]
        return [word, *stand, *_options(args, options, **other)]

    return words


def _plain(kind: str) -> Callable[[Args], list[str]]:
    """Return the way of a subcommand of the same name, with what is required as arguments and the rest as options."""
    given = [one for one in fields(COMMAND_KINDS[kind]) if one.name != "type"]
    return _of(
        kind, *(one.name for one in given if one.required), options=[one.name for one in given if not one.required]
    )


def _spec_name(spec: JsonValue) -> str:
    """Return what stands for a spec that was given whole: the file with it."""
    name = spec.get("name") if isinstance(spec, Mapping) else None
    return f"{name or 'agent'}.yaml"


def _swap(args: Args) -> list[str]:
    with_spec = ["--with", _spec_name(args["spec"])] if args.get("spec") is not None else []
    after = args.get("rollback_failures")
    rollback = ["--rollback-after", f"{_text(after)}/{_text(args.get('rollback_tasks', 10))}"] if after else []
    options = _options(args, ("registered", "mode", "deadline_s"), registered="with")
    return ["swap", _text(args.get("agent", "")), *with_spec, *options, *rollback]


def _swaps(args: Args) -> list[str]:
    swaps = args.get("swaps")
    several = [one for one in swaps if isinstance(one, Mapping)] if isinstance(swaps, list) else []
    if not several:
        return ["swap"]
    first = _swap(several[0])
    return ["swap", *(_text(one.get("agent", "")) for one in several), *first[2:]]


def _rollbacks(args: Args) -> list[str]:
    rollbacks = args.get("rollbacks")
    several = [one for one in rollbacks if isinstance(one, Mapping)] if isinstance(rollbacks, list) else []
    options = _options(several[0], ("mode",)) if several else []
    return ["rollback", *(_text(one.get("agent", "")) for one in several), *options]


def _strategy(args: Args) -> list[str]:
    words = ["strategy", _text(args.get("supervisor", "")), _text(args.get("mode", ""))]
    words += _options(args, ("aggregation", "aggregator", "lead", "run"))
    settings = args.get("settings")
    for name, value in settings.items() if isinstance(settings, Mapping) else ():
        words += ["--set", f"{name}={_text(value)}"]
    words += ["--no-preserve"] if args.get("preserve_agent_states") is False else []
    return [*words, *(["--new-only"] if args.get("scope") == "new" else [])]


def _capability(args: Args) -> list[str]:
    words = ["capability", _text(args.get("agent", ""))]
    for name in ("add", "remove"):
        labels = args.get(name)
        for label in labels if isinstance(labels, list) else ():
            words += [f"--{name}", _text(label)]
    return words


def _answer(args: Args) -> list[str]:
    words = ["answer", _text(args.get("escalation", "")), _text(args.get("answer", ""))]
    output = args.get("output")
    if output is not None:
        words += ["--output" if isinstance(output, str) else "--output-json", _text(output)]
    return [*words, *(["--all-alike"] if args.get("alike") else [])]


def _add(args: Args) -> list[str]:
    spec = args.get("spec") or args.get("team")
    named = _text(args["registered"]) if args.get("registered") is not None else _spec_name(spec)
    return ["add", named, *_options(args, ("supervisor", "parent"), supervisor="under", parent="under")]


def _settings(args: Args) -> list[str]:
    options = args.get("options")
    own = _options(args, ("max_parallel", "max_agents"))
    return (
        ["set", _text(args.get("supervisor", "")), *own, *_options(options, list(options))]
        if isinstance(options, Mapping)
        else ["set", _text(args.get("supervisor", "")), *own]
    )


_RUN = ("supervisor", "priority", "deadline_s", "category", "conversation")
_WAYS: dict[str, Callable[[Args], list[str]]] = {
    "submit": _of("run", "request", options=_RUN),
    "set_priority": _of("priority", "target", "priority"),
    "set_deadline": lambda args: [
        "deadline", _text(args.get("target", "")), f"{_text(args['deadline_s'])}s" if args.get("deadline_s") else "none"
    ],
    "answer": _answer,
    "revoke_grant": lambda args: ["grants", "--revoke", _text(args.get("grant", ""))],
    "cancel": _of("cancel", "target", options=("reason",)),
    "retry_work": _of("retry", "target"),
    "switch_strategy": _strategy,
    "undo": lambda args: ["undo", short_id(_text(args.get("command_id") or ""))],
    "stop_engine": _of("stop"),
    "hand_over": _of("engine", options=("grace_s",)),
    "import_state": _of("import", "path"),
    "load_team": _of("up", "path"),
    "declare": lambda args: ["add", _spec_name(args.get("member")), *_options(args, ("parent",), parent="under")],
    "add_agent": _add,
    "add_supervisor": _add,
    "remove_member": _of("remove", "target", options=("mode",)),
    "swap_agent": _swap,
    "swap_agents": _swaps,
    "rollback": _of("rollback", "agent", options=("mode",)),
    "rollback_agents": _rollbacks,
    "change_capabilities": _capability,
    "move": _of("move", "target", "parent"),
    "replace_team": lambda args: [
        "replace", _text(args.get("supervisor", "")), _spec_name(args.get("team")), *_options(args, ("mode",))
    ],
    "change_supervisor": _settings,
}  # fmt: skip
"""By the type of the command, where its words are not those of `_plain`."""
_PYTHON_ONLY = ("register_spec", "unregister_spec", "ping")
"""These have no subcommand."""
