"""Labels of keys, and the key at a position of a label."""

import unicodedata

from textual.keys import KEY_NAME_REPLACEMENTS, REPLACED_KEYS, key_to_character

_NAMES = {"esc": "escape", "↑": "up", "↓": "down", "←": "left", "→": "right", "−": "minus"}


def sign_of(key: str) -> str:
    """Return the label of a key by Textual's name, such as `[`; of several keys, that of the first."""
    first = key.partition(",")[0] if " " not in key else key
    sign = key_to_character(REPLACED_KEYS.get(first, first))
    return sign if sign is not None and sign.isprintable() and not sign.isspace() else first


def name_of(sign: str) -> str:
    """Return what Textual calls the key of a character, such as `left_square_bracket`."""
    named = "" if sign.isalnum() else unicodedata.name(sign, "").lower().replace("-", "_").replace(" ", "_")
    return KEY_NAME_REPLACEMENTS.get(named or sign, named or sign)


def key_at(label: str, x: int) -> str:
    """Return Textual's name of the key in a column of a label, or of its first key.

    A label is one key, such as `enter`, or several, such as `[ ]`, `ctrl+g ]` and `←→`.
    """
    words, at = label.split(), 0
    if len(words) > 1:
        for word in words:
            if at <= x <= at + len(word):
                return key_at(word, x - at)
            at += len(word) + 1
        return key_at(words[0], 0)
    if any(character.isalnum() for character in label):
        return _NAMES.get(label, label.partition(",")[0])
    sign = label[x : x + 1].strip() or label[:1]
    return _NAMES.get(sign, name_of(sign))
