"""How keys are written, and which key stands where a label was clicked."""

import unicodedata

from textual.keys import KEY_NAME_REPLACEMENTS, REPLACED_KEYS, key_to_character

_NAMES = {"esc": "escape", "↑": "up", "↓": "down", "←": "left", "→": "right", "−": "minus"}


def sign_of(key: str) -> str:
    """Return how a key is written that Textual may call by a word, such as `[`; of several the first."""
    first = key.partition(",")[0] if " " not in key else key
    sign = key_to_character(REPLACED_KEYS.get(first, first))
    return sign if sign is not None and sign.isprintable() and not sign.isspace() else first


def name_of(sign: str) -> str:
    """Return what Textual calls the key of a character, such as `left_square_bracket`."""
    named = "" if sign.isalnum() else unicodedata.name(sign, "").lower().replace("-", "_").replace(" ", "_")
    return KEY_NAME_REPLACEMENTS.get(named or sign, named or sign)


def key_at(label: str, x: int) -> str:
    """Return the key, as Textual calls it, that stands in a column of a label; its first one where none does.

    A label is one key, such as `enter`, or the signs of several, such as `[ ]`, `ctrl+g ]` and `←→`.
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
