"""Files that a program wrote: what an audit finds in them is about that program, so a person is asked first."""

import re
from collections.abc import Sequence

from dashboard.demo.source import SourceRefused, read_bytes

HEAD_BYTES = 800
"""Of a file, in which it would say where it comes from."""
LONG_LINE = 2_000
"""Bytes of a line that nobody writes by hand."""
MANY_LINES = 20_000

_SAYS_SO = re.compile(
    rb"\b(?:auto(?:matically)?[- ]generated|generated (?:by|from|automatically)|do not edit)\b", re.IGNORECASE
)


def generated_among(folder: str, names: Sequence[str]) -> list[str]:
    """Return the files that say that they are generated, or look like it: endless lines, or far too many; blocking."""
    return [name for name in names if _is_generated(folder, name)]


def _is_generated(folder: str, name: str) -> bool:
    try:
        data = read_bytes(folder, name)
    except SourceRefused:
        return False
    head = data[:HEAD_BYTES]
    if b"\0" in head:
        return False
    return bool(_SAYS_SO.search(head)) or data.count(b"\n") > MANY_LINES or max(map(len, data.split(b"\n"))) > LONG_LINE
