"""The help of a screen, put together from its keys, its columns and the table of actions."""

from collections.abc import Collection, Sequence

from dashboard.actions import ACTIONS, BY_KEY, display_key, key_of
from dashboard.deck import places
from dashboard.views.drawing.rows import AnyColumn, Cell
from dashboard.views.words.help import MOVES, NEEDS_YOU, SETTINGS, SHARED_KEYS, STATES

_KEY, _WORD = 14, 38


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
