"""Puts the user's key bindings into texts, in place of the default keys.

The bindings are global to the process, as the theme is, so that views stay functions of the team.
"""

import re
from collections.abc import Mapping

KEY = re.compile("<([a-z][a-z -]*):([^>]+)>")
"""Matches an action with its default key, such as `<undo:u>`."""
_CHOSEN_KEYS: dict[str, str] = {}


def write_keys(keys: Mapping[str, str]) -> None:
    """Set the keys of actions whose key is not the default, by the names of the actions."""
    _CHOSEN_KEYS.clear()
    _CHOSEN_KEYS.update(keys)


def fill_keys(text: str) -> str:
    """Replace keys such as `<undo:u>` in a text; never use it on text of users or agents."""
    return KEY.sub(lambda key: _CHOSEN_KEYS.get(key[1], key[2]), text)
