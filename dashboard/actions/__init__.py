"""The table of all actions: keys, words of the `:` line, their completion and the help come from it.

An action stands in the file of its subject, with what it asks and the handler that asks it.
"""

import shlex
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

from textual.binding import Binding

from dashboard.actions.action import FLAGS, OPTIONS, Action, Spoken
from dashboard.actions.agents import AGENTS
from dashboard.actions.looking import LOOKING
from dashboard.actions.moments import MOMENTS
from dashboard.actions.room import ROOM
from dashboard.actions.specs import SPECS
from dashboard.actions.team import OF_REQUEST, TEAM
from dashboard.actions.work import WORK
from dashboard.deck import places
from dashboard.views.drawing.rows import Cell
from dashboard.views.words.help import COLUMNS, HERE, MOVES, NEEDS_YOU, SETTINGS, STATES
from dashboard.views.words.keyed import write_keys
from engine.core.state import State

ACTIONS: tuple[Action, ...] = (*AGENTS, *SPECS, *WORK, *TEAM, *MOMENTS, *LOOKING, *ROOM)
"""In the order of the help."""
BY_NAME = {action.name: action for action in ACTIONS}
OWN_KEYS = {action.name: action.key for action in ACTIONS}
BY_KEY = {action.key: action for action in ACTIONS if action.key}
_OTHER_KEYS: dict[str, str] = {}
"""Keys that a user has given, by the names of the actions."""
WORDS = {action.name: action for action in ACTIONS if action.says}
"""What the `:` line knows."""
_ALIASES = {"new": "run", "q": "quit", "net": "network", "rm": "remove", "?": "help"}
_KEY, _WORD = 14, 38


class Misspoken(ValueError):
    """A `:` line that cannot be understood; the message says what is possible."""


def bindings() -> list[Binding]:
    """Return the keys of every action."""
    return [
        # One without a key stands under a name that no key has, so that a user can give it one.
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
    """Let actions be shown and found by keys of the user's; Textual's keymap makes them work.

    Args:
        keys: As Textual calls them, by the names of the actions.
        signs: How texts write them.
    """
    _OTHER_KEYS.clear()
    _OTHER_KEYS.update(keys)
    BY_KEY.clear()
    BY_KEY.update({key_of(action): action for action in ACTIONS if key_of(action)})
    write_keys(signs)


def key_of(action: Action) -> str:
    """Return the key of an action, as Textual calls it; empty where it has none."""
    return _OTHER_KEYS.get(action.name, action.key)


def shown_key(action: Action) -> str:
    """Return how the help writes the key of an action."""
    return key_of(action) or f":{action.name}" if action.name in _OTHER_KEYS else action.shown or action.key


def understand(line: str) -> tuple[Action, Spoken]:
    """Return what a line means.

    Raises:
        Misspoken: If it begins with no known word, its quotes do not close, or an option is not known here.
    """
    head, _, rest = line.strip().partition(" ")
    name = _ALIASES.get(head, head)
    if name not in WORDS:
        fitting = [word for word in WORDS if word.startswith(name)] if name else []
        if len(fitting) != 1:
            raise Misspoken(f"no command {head!r}; there are {', '.join(WORDS)}")
        name = fitting[0]
    action, rest = WORDS[name], rest.strip()
    if action.verbatim:
        return action, _whole(rest)
    try:
        words = shlex.split(rest)
    except ValueError as error:
        raise Misspoken(f"{name}: the quotes do not close") from error
    said = _sorted(words)
    if action.options is not None:
        _check_options(name, said, action.options)
    return action, said


def _check_options(name: str, said: Spoken, known: Collection[str]) -> None:
    unknown = next((one for one in said.options or () if one not in known), None)
    if unknown is not None:
        there = f"; there {'is' if len(known) == 1 else 'are'} --{', --'.join(known)}" if known else ""
        raise Misspoken(f"{name}: no option --{unknown} here{there}")


def _whole(rest: str) -> Spoken:
    """Return a text as it stands; as a shell reads it where it is one word, or one in quotes, with options of a run."""
    try:
        found = _sorted(shlex.split(rest))
    except ValueError:  # an apostrophe
        found = Spoken()
    if len(found.words) == 1 and rest[:1] in ("'", '"'):
        _check_options("run", found, OF_REQUEST)
    is_line = len(found.words) == 1 and (found.options or {}).keys() <= {*OF_REQUEST}
    return found if is_line else Spoken((rest,) if rest else (), {}, (rest,))


def _sorted(words: Sequence[str]) -> Spoken:
    plain, options = [], {}
    left = iter(words)
    for word in left:
        if word.startswith("--") and len(word) > 2:
            key, equals, value = word[2:].partition("=")
            options[key] = value if equals or key in FLAGS else next(left, "")
        else:
            plain.append(word)
    return Spoken(tuple(plain), options, tuple(words))


def completions(line: str, state: State) -> list[str]:
    """Return whole lines that `line` may become, the likeliest first."""
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
    completes = (action.of, action.then)[len(before)] if len(before) < 2 else None
    return completes(state, last) if completes is not None else []


def hint(line: str) -> str:
    """Return what the word that stands there expects and does; empty for none."""
    name = line.strip().partition(" ")[0]
    action = WORDS.get(_ALIASES.get(name, name))
    return f"{action.name} {action.arguments}  {action.says}".replace("   ", "  ") if action is not None else ""


def _said_of(key: str) -> str:
    """Return what the action of a key does, in a sentence."""
    action = BY_KEY.get(key)
    return action.told or action.says if action is not None else ""


def help_lines(
    own: Sequence[tuple[str, str, str]],
    headings: Sequence[str],
    *,
    taken: Collection[str] = (),
    meanings: Mapping[str, str] = MappingProxyType({}),
    settings: str = "",
    writes: bool = True,
) -> list[Cell]:
    """Return the keys of a screen, what its columns mean, the keys of every screen, and the words of the line.

    Args:
        own: Keys of the screen, each with what it does in a word and, where the word says too little, in a sentence.
        headings: Of its tables.
        taken: Keys that do something else here than on other screens.
        meanings: Of headings that only this screen has.
        settings: The file in which the user may give keys and colours.
        writes: Whether what changes the team is listed.
    """
    listed = [action for action in ACTIONS if writes or not action.writes]
    known_as = {**COLUMNS, **meanings}
    columns = [Cell(known_as[name], "", f"{name:<{max(_KEY, len(name) + 2)}}") for name in headings if name in known_as]
    hidden = [action for action in listed if not {*key_of(action).split(",")}.isdisjoint(taken)]
    keys = [
        *MOVES,
        *((shown_key(action), action.told) for action in listed if action.told and action not in hidden),
        *((key, f"go to {place.capitalize()}") for place, key in places.keys().items() if place not in places.tabs()),
    ]
    known = {sign for key, _ in keys for sign in (key, *key.split())}
    told = [(key, does, says or HERE.get(does, "")) for key, does, says in own]
    here = [
        Cell(says or _said_of(key) or does, "", f"{key:<{_KEY}}")
        for key, does, says in told
        if says or key not in known
    ]
    instead = [
        Cell(
            f"{action.told or action.says}  (on other screens: {shown_key(action)})", "", f"{f':{action.name}':<{_KEY}}"
        )
        for action in hidden
        if action.says
    ]
    words = [Cell(one.says, "", f"{f': {one.name} {one.arguments}':<{_WORD}}  ") for one in listed if one.says]
    return [
        *((Cell("HERE", "muted"), *here, *instead, Cell("")) if here or instead else ()),
        *((Cell("COLUMNS", "muted"), *columns, Cell("")) if columns else ()),
        *(Cell(NEEDS_YOU), Cell("")),
        *(Cell("EVERYWHERE", "muted"), *(Cell(does, "", f"{key:<{_KEY}}") for key, does in keys)),
        *(Cell(""), *(Cell(line, "muted") for line in STATES), Cell("")),
        *((Cell(f"{SETTINGS} {settings}"), Cell("")) if settings else ()),
        *(Cell("COMMAND LINE", "muted"), *words),
    ]
