"""The `:` line: its parsing, its completion, and the hint beside it."""

import shlex
from collections.abc import Collection, Sequence
from difflib import get_close_matches

from dashboard.actions import WORDS
from dashboard.actions.action import FLAGS, OPTIONS, REPEATED, Action, CommandLine
from dashboard.actions.team import REQUEST_OPTIONS
from engine.core.errors import did_you_mean
from engine.core.state import State

_ALIASES = {"new": "run", "q": "quit", "net": "network", "rm": "remove", "?": "help"}


class InvalidCommandLine(ValueError):
    """A `:` line that cannot be parsed; the message says what would be valid."""


def parse_line(line: str) -> tuple[Action, CommandLine]:
    """Return what a line means.

    Raises:
        InvalidCommandLine: If it begins with no known word, its quotes do not close, or what follows is not known.
    """
    head, _, rest = line.strip().partition(" ")
    name = _ALIASES.get(head, head)
    if name not in WORDS:
        fitting = [word for word in WORDS if word.startswith(name)] if name else []
        if len(fitting) != 1:
            raise InvalidCommandLine(
                f"no command {head!r}; {did_you_mean(get_close_matches(name, WORDS), '? lists them')}"
            )
        name = fitting[0]
    action, rest = WORDS[name], rest.strip()
    if action.verbatim:
        return action, _parse_verbatim(rest)
    try:
        words = shlex.split(rest)
    except ValueError as error:
        raise InvalidCommandLine(f"{name}: the quotes do not close") from error
    command_line = _split_options(words)
    if action.options is not None:
        _check_options(name, command_line, action.options)
    if command_line.words and not action.arguments:
        raise InvalidCommandLine(f"{name} stands alone; {' '.join(command_line.words)!r} means nothing after it")
    return action, command_line


def _check_options(name: str, command_line: CommandLine, option_names: Collection[str]) -> None:
    unknown = next((option for option in command_line.options or () if option not in option_names), None)
    if unknown is not None:
        hint = (
            f"; there {'is' if len(option_names) == 1 else 'are'} --{', --'.join(option_names)}" if option_names else ""
        )
        raise InvalidCommandLine(f"{name}: no option --{unknown} here{hint}")


def _parse_verbatim(rest: str) -> CommandLine:
    """Return a text as it stands; as a shell reads it where it is one word, or one in quotes, with options of a run."""
    try:
        command_line = _split_options(shlex.split(rest))
    except ValueError:  # an apostrophe
        command_line = CommandLine()
    if len(command_line.words) == 1 and rest[:1] in ("'", '"'):
        _check_options("run", command_line, REQUEST_OPTIONS)
    is_line = len(command_line.words) == 1 and (command_line.options or {}).keys() <= {*REQUEST_OPTIONS}
    return command_line if is_line else CommandLine((rest,) if rest else (), {}, (rest,))


def _split_options(words: Sequence[str]) -> CommandLine:
    plain, options = list[str](), dict[str, str]()
    left = iter(words)
    for word in left:
        if word.startswith("--") and len(word) > 2:
            key, equals, value = word[2:].partition("=")
            value = value if equals or key in FLAGS else next(left, "")
            options[key] = f"{options[key]}\n{value}" if key in REPEATED and key in options else value
        else:
            plain.append(word)
    return CommandLine(tuple(plain), options, tuple(words))


def completions(line: str, state: State) -> list[str]:
    """Return complete lines that start with `line`, the likeliest first."""
    head, space, rest = line.partition(" ")
    if not space:
        return [word for word in WORDS if word.startswith(head) and word != head]
    action = WORDS.get(_ALIASES.get(head, head))
    if action is None:
        return []
    before, _, last = rest.rpartition(" ")
    start = line[: len(line) - len(last)]
    choices = _choices(action, before.split(), state)
    return [start + choice for choice in choices if choice.startswith(last) and choice != last]


def _choices(action: Action, before: Sequence[str], state: State) -> list[str]:
    last = before[-1] if before else ""
    if last in OPTIONS:
        return OPTIONS[last](state, last)
    completes = (action.targets, action.values)[len(before)] if len(before) < 2 else None
    return completes(state, last) if completes is not None else []


def hint(line: str) -> str:
    """Return the arguments and the description of the line's command word; empty if it is unknown."""
    name = line.strip().partition(" ")[0]
    action = WORDS.get(_ALIASES.get(name, name))
    return f"{action.name} {action.arguments}  {action.about}".replace("   ", "  ") if action is not None else ""
