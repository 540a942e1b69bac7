"""Regular expressions whose time and memory are bounded, for filters that people type while a team works.

Python's own cannot be interrupted, and some that a person can type in a second would hold the screen for hours. The
package `regex` reads the same language, and gives up in time. It unfolds repeats when it compiles, so many are refused.
"""

import re
from math import prod

MOST_CHARACTERS = 200
"""Of an expression."""
MOST_REPEATS = 1_000
"""Of a part of an expression, counted through all groups around it."""
LONGEST_TEXT = 4_000
"""Characters of a text that are looked at."""
LONGEST_S = 0.01
"""Processor time for one text, in seconds; what people type takes a hundredth of it."""
_REPEATS = re.compile(r"(\)?)\{(\d*),?(\d*)\}")


class BadPattern(ValueError):
    """An expression that cannot be used, in one line."""


class Pattern:
    """A compiled expression; case is ignored."""

    def __init__(self, written: str) -> None:
        """Compile an expression.

        Raises:
            BadPattern: If it is none, or too large.
        """
        import regex  # Only filters with an expression need it.

        if len(written) > MOST_CHARACTERS:
            raise BadPattern(f"it is longer than {MOST_CHARACTERS} characters")
        if _repeats(written) > MOST_REPEATS:
            raise BadPattern("it stands for too much: repeat less")
        self.written = written
        try:
            self._search = regex.compile(written, regex.IGNORECASE).search
        except regex.error as error:
            raise BadPattern(str(error)) from error

    def is_in(self, text: str) -> bool:
        """Tell whether a part of a text matches.

        Raises:
            BadPattern: If that takes too long.
        """
        try:
            return self._search(text[:LONGEST_TEXT], timeout=LONGEST_S) is not None
        except TimeoutError:
            raise BadPattern("it takes too long here: say it in a simpler way") from None


def _repeats(written: str) -> int:
    """Return how often a part is repeated at most: repeats of groups multiply, others follow each other."""
    found = [(group, max(int(low or 1), int(high or 1))) for group, low, high in _REPEATS.findall(written)]
    return prod(many for group, many in found if group) * max(1, sum(many for group, many in found if not group))
