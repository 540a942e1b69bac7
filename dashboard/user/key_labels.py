"""Labels of keys, and the key at a position of a label."""

import unicodedata

from textual.keys import KEY_NAME_REPLACEMENTS, REPLACED_KEYS, key_to_character

_NAMES = {"esc": "escape", "↑": "up", "↓": "down", "←": "left", "→": "right", "−": "minus"}


def label_of(key: str) -> str:
    """Return the label of a key by Textual's name, such as `[`; of several keys, that of the first."""
    first = key.partition(",")[0] if " " not in key else key  # keys after each other, as in `ctrl+g ]`, stay together
    character = key_to_character(REPLACED_KEYS.get(first, first))
    return character if character is not None and character.isprintable() and not character.isspace() else first


def textual_name_of(character: str) -> str:
    """Return what Textual calls the key of a character, such as `left_square_bracket`."""
    name = "" if character.isalnum() else unicodedata.name(character, "").lower().replace("-", "_").replace(" ", "_")
    return KEY_NAME_REPLACEMENTS.get(name or character, name or character)


def key_at(label: str, x: int) -> str:
    """Return Textual's name of the key in a column of a label, or of its first key.

    A label is one key, such as `enter`, or several, such as `[ ]`, `ctrl+g ]` and `←→`.
    """
    keys = label.split()
    if len(keys) > 1:
        start = 0
        for key in keys:
            if start <= x <= start + len(key):
                return key_at(key, x - start)
            start += len(key) + 1
        return key_at(keys[0], 0)
    if any(character.isalnum() for character in label):
        return _NAMES.get(label, label.partition(",")[0])
    character = label[x : x + 1].strip() or label[:1]
    return _NAMES.get(character, textual_name_of(character))
