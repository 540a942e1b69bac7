"""How the last line writes keys, and which key stands where a label was clicked."""

from textual.keys import _character_to_key

SIGNS = {"exclamation_mark": "!", "question_mark": "?", "full_stop": ".", "question_mark,f1": "?"}
"""Keys that Textual calls by a word."""
_NAMES = {"esc": "escape", "↑": "up", "↓": "down", "←": "left", "→": "right", "−": "minus"}


def key_at(label: str, x: int) -> str:
    """Return the key, as Textual calls it, that stands in a column of a label; its first one where none does.

    A label is one key, such as `enter`, or the signs of several, such as `[ ]` and `←→`.
    """
    if any(one.isalnum() for one in label):
        return _NAMES.get(label, label.partition(",")[0])
    sign = label[x : x + 1].strip() or label[:1]
    return _NAMES.get(sign, _character_to_key(sign))
