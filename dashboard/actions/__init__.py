"""The table of all actions: keys, words of the `:` line, their completion and the help come from it.

Each action is in the file of its subject, with its handler.
"""

import shlex
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

from textual.binding import Binding

from dashboard.actions.action import FLAGS, OPTIONS, Action, CommandLine
from dashboard.actions.agents import AGENT_ACTIONS
from dashboard.actions.application import APPLICATION_ACTIONS
from dashboard.actions.inspection import INSPECTION_ACTIONS
from dashboard.actions.specs import SPEC_ACTIONS
from dashboard.actions.team import REQUEST_OPTIONS, TEAM_ACTIONS
from dashboard.actions.time_travel import TIME_TRAVEL_ACTIONS
from dashboard.actions.work import WORK_ACTIONS
from dashboard.deck import places
from dashboard.views.drawing.rows import AnyColumn, Cell
from dashboard.views.words.help import MOVES, NEEDS_YOU, SETTINGS, SHARED_KEYS, STATES
from dashboard.views.words.keyed import write_keys
from engine.core.state import State

ACTIONS: tuple[Action, ...] = (
    *AGENT_ACTIONS,
    *SPEC_ACTIONS,
    *WORK_ACTIONS,
    *TEAM_ACTIONS,
    *TIME_TRAVEL_ACTIONS,
    *INSPECTION_ACTIONS,
    *APPLICATION_ACTIONS,
)
"""In the order of the help."""
BY_NAME = {action.name: action for action in ACTIONS}
OWN_KEYS = {action.name: action.key for action in ACTIONS}
BY_KEY = {action.key: action for action in ACTIONS if action.key}
_OTHER_KEYS: dict[str, str] = {}
"""Keys that a user has given, by the names of the actions."""
WORDS = {action.name: action for action in ACTIONS if action.about}
"""Actions with a command word."""
_ALIASES = {"new": "run", "q": "quit", "net": "network", "rm": "remove", "?": "help"}
_KEY, _WORD = 14, 38


class InvalidCommandLine(ValueError):
    """A `:` line that cannot be parsed; the message says what would be valid."""


def bindings() -> list[Binding]:
    """Return the keys of every action."""
    return [
        # An action without a key is bound to a name that no key has, so that users can give it a key.
        Binding(
            action.key or f"key of {action.name}",
            f"act('{action.name}')",
            action.label or action.name,
            show=False,
            id=action.name,
        )
        for action in ACTIONS
    ]


def give_keys(keys: Mapping[str, str], signs: Mapping[str, str] = MappingProxyType({})) -> None:
    """Use the user's keys for lookup and display; Textual's keymap binds them.

    Args:
        keys: Textual's names of the keys, by the names of the actions.
        signs: The keys as texts write them.
    """
    _OTHER_KEYS.clear()
    _OTHER_KEYS.update(keys)
    BY_KEY.clear()
    BY_KEY.update({key_of(action): action for action in ACTIONS if key_of(action)})
    write_keys(signs)


def key_of(action: Action) -> str:
    """Return Textual's name of an action's key; empty for none."""
    return _OTHER_KEYS.get(action.name, action.key)


def display_key(action: Action) -> str:
    """Return how the help writes the key of an action."""
    return key_of(action) or f":{action.name}" if action.name in _OTHER_KEYS else action.key_text or action.key


def parse_line(line: str) -> tuple[Action, CommandLine]:
    """Return what a line means.

    Raises:
        Misspoken: If it begins with no known word, its quotes do not close, or an option is not known here.
    """
    head, _, rest = line.strip().partition(" ")
    name = _ALIASES.get(head, head)
    if name not in WORDS:
        fitting = [word for word in WORDS if word.startswith(name)] if name else []
        if len(fitting) != 1:
            raise InvalidCommandLine(f"no command {head!r}; there are {', '.join(WORDS)}")
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
    plain, options = [], {}
    left = iter(words)
    for word in left:
        if word.startswith("--") and len(word) > 2:
            key, equals, value = word[2:].partition("=")
            options[key] = value if equals or key in FLAGS else next(left, "")
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


def _describe_key(key: str) -> str:
    action = BY_KEY.get(key)
    return action.key_help or action.about if action is not None else ""


def help_lines(
    own: Sequence[tuple[str, str, str]],
    columns: Sequence[AnyColumn],
    *,
    overridden_keys: Collection[str] = (),
    settings: str = "",
    writes: bool = True,
) -> list[Cell]:
    """Return the help of a screen: its keys, its columns, the keys of every screen, and the command words.

    Args:
        own: Keys of the screen, each with its label and an optional sentence.
        columns: Columns of its tables.
        overridden_keys: Keys that have another meaning on this screen.
        settings: Path of the user's settings file.
        writes: Whether to list actions that change the team.
    """
    listed = [action for action in ACTIONS if writes or not action.writes]
    column_cells = [
        Cell(column.meaning, "", f"{column.title:<{max(_KEY, len(column.title) + 2)}}")
        for column in columns
        if column.meaning
    ]
    hidden = [action for action in listed if not {*key_of(action).split(",")}.isdisjoint(overridden_keys)]
    keys = [
        *MOVES,
        *((display_key(action), action.key_help) for action in listed if action.key_help and action not in hidden),
        *((key, f"go to {place.capitalize()}") for place, key in places.keys().items() if place not in places.tabs()),
    ]
    key_signs = {sign for key, _ in keys for sign in (key, *key.split())}
    own_keys = [(key, does, says or SHARED_KEYS.get(does, "")) for key, does, says in own]
    own_cells = [
        Cell(says or _describe_key(key) or does, "", f"{key:<{_KEY}}")
        for key, does, says in own_keys
        if says or key not in key_signs
    ]
    instead = [
        Cell(
            f"{action.key_help or action.about}  (on other screens: {display_key(action)})",
            "",
            f"{f':{action.name}':<{_KEY}}",
        )
        for action in hidden
        if action.about
    ]
    words = [
        Cell(action.about, "", f"{f': {action.name} {action.arguments}':<{_WORD}}  ")
        for action in listed
        if action.about
    ]
    return [
        *((Cell("HERE", "muted"), *own_cells, *instead, Cell("")) if own_cells or instead else ()),
        *((Cell("COLUMNS", "muted"), *column_cells, Cell("")) if column_cells else ()),
        *(Cell(NEEDS_YOU), Cell("")),
        *(Cell("EVERYWHERE", "muted"), *(Cell(does, "", f"{key:<{_KEY}}") for key, does in keys)),
        *(Cell(""), *(Cell(line, "muted") for line in STATES), Cell("")),
        *((Cell(f"{SETTINGS} {settings}"), Cell("")) if settings else ()),
        *(Cell("COMMAND LINE", "muted"), *words),
    ]
