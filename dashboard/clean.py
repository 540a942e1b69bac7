r"""Makes untrusted text safe to print: the only way from agents' text to the terminal.

Everything from the state, an event or a file passes `clean` before it becomes part of a line. What a
terminal would execute, hide or reverse is shown as an escape (`\x1b`, `\u202e`), so that a person sees that it was
there.
"""

import re
import unicodedata
from collections.abc import Iterator

MARKS = 2
"""How many combining marks may stand on one character; more would run into the lines above and below."""
# Letters and symbols by category that are drawn as nothing.
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\U0001d159")
# They select another glyph, of another width than the tables say.
_SELECTORS = frozenset(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0), 0x180B, 0x180C, 0x180D, 0x180F)))
# Skin tones and letters of flags: terminals disagree on how wide they are beside others.
_BY_NEIGHBOUR = frozenset(map(chr, (*range(0x1F1E6, 0x1F200), *range(0x1F3FB, 0x1F400))))
_HIDING = _INVISIBLE | _SELECTORS | _BY_NEIGHBOUR
# An emoji and its selector, which models write after most symbols: without it a symbol is as wide as the tables say.
_EMOJI_SELECTOR = re.compile(
    "(?<=[©®‼⁉™ℹ←-⇿⌀-⏿Ⓜ■-➿⤴⤵⬀-⯿〰〽㊗㊙\U0001f000-\U0001f1e5\U0001f200-\U0001f3fa\U0001f400-\U0001faff])[\ufe0e\ufe0f]"
)
# Signs of the screens themselves: all of them are drawn as they are, so that they need not be looked at one by one.
_DRAWN = re.compile("[ -~·×…–—−←-⇿─-◿⠁-⣿✓✕◆◇⚑⚙▸]*").fullmatch
_NAMED_CHARACTERS = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}


def clean(text: str) -> str:
    """Return `text` as one line that a terminal prints literally.

    Control characters, escape sequences, direction overrides and isolates, characters without width, lone
    surrogates, tabs and line ends become visible escapes; other spaces become a plain one. One selector of a glyph
    after a symbol is left out, because it is part of how emoji are written.
    """
    if (text.isascii() and text.isprintable()) or _DRAWN(text):
        return text
    text = _EMOJI_SELECTOR.sub("", text)
    return "".join(character if safe else _escape_character(character) for character, safe in literal(text))


def literal(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each character, and whether a terminal prints it as it is."""
    marks = 0
    for character in text:
        is_mark = unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me")
        marks = marks + 1 if is_mark else 0
        yield character, character.isprintable() and character not in _HIDING and marks <= MARKS


def clean_lines(text: str) -> list[str]:
    """Return the lines of a longer text, each cleaned; tabs become spaces."""
    return [clean(line) for line in text.replace("\r\n", "\n").expandtabs(4).split("\n")]


def _escape_character(character: str) -> str:
    if unicodedata.category(character) == "Zs":
        return " "
    code = ord(character)
    escape = f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
    return _NAMED_CHARACTERS.get(character, escape)
