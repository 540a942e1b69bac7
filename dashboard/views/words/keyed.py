"""Keys in texts: those that the user has given to actions, in place of the usual ones.

As the theme they belong to the process: a screen is the same function of the team with other signs in it.
"""

import re
from collections.abc import Mapping

KEY = re.compile("<([a-z][a-z -]*):([^>]+)>")
"""The name of an action with its usual key."""
_CHOSEN_KEYS: dict[str, str] = {}


def write_keys(keys: Mapping[str, str]) -> None:
    """Write these keys from now on, by the names of the actions that have no longer their usual ones."""
    _CHOSEN_KEYS.clear()
    _CHOSEN_KEYS.update(keys)


def fill_keys(text: str) -> str:
    """Return a text of our own with its keys, each of which stands there as in `<undo:u> undoes it`."""
    return KEY.sub(lambda key: _CHOSEN_KEYS.get(key[1], key[2]), text)
