"""Regular expressions whose time and memory are bounded: people write them, and texts of agents are matched.

Python's own cannot be interrupted, and some that a person can type in a second would hold the process for hours. The
package `regex` reads the same language and gives up in time; this is the one file that imports it.
"""

import re

SLOW_TIMEOUT_S = 0.1
"""Time for what an engine looks at while it does nothing else, in seconds."""
FAST_TIMEOUT_S = 0.01
"""Time for what has to be answered at once, in seconds; what people write takes a hundredth of it."""
_BRACE = re.compile(r"\\[NpP]\{[^}]*\}|\\.|\{(?!\d*,?\d*\})", re.DOTALL)
"""A brace that repeats nothing, which `regex` would read as leave for errors; before that, what is not a brace."""


class BadPattern(ValueError):
    """A pattern cannot be used.

    Attributes:
        why: What is wrong with it, in one line.
    """

    def __init__(self, expression: str, why: str) -> None:
        super().__init__(f"the pattern {expression[:60]!r}: {why}")
        self.why = why


class TooSlow(BadPattern):
    """A pattern took longer than it may."""

    def __init__(self, expression: str, within_s: float) -> None:
        super().__init__(expression, f"it takes longer than {within_s:g} s; write it without nested repetitions")


class Pattern:
    """A compiled regular expression.

    Args:
        written: In Python's syntax.
        any_case: Whether case is ignored.

    Raises:
        BadPattern: If it is none, or repeats too much.
    """

    def __init__(self, expression: str, *, any_case: bool = False) -> None:
        import regex  # only where an expression is used

        from engine.core.specs.guard import MAX_REPEATS, count_repeats

        if count_repeats(expression) > MAX_REPEATS:  # it unfolds them
            raise BadPattern(expression, f"it repeats a part more than {MAX_REPEATS:,} times")
        self._expression = expression
        escaped = _BRACE.sub(lambda brace: r"\{" if brace[0] == "{" else brace[0], expression)
        try:
            self._search = regex.compile(escaped, regex.IGNORECASE if any_case else 0).search
        except regex.error as error:
            raise BadPattern(expression, str(error)) from error

    def is_in(self, text: str, *, within_s: float = FAST_TIMEOUT_S) -> bool:
        """Return whether a part of a text matches; above `FAST_TIMEOUT_S` other threads may run meanwhile.

        Args:
            within_s: Processor time that this may take, in seconds.

        Raises:
            TooSlow: If it takes longer.
        """
        return self.groups_in(text, within_s=within_s) is not None

    def groups_in(self, text: str, *, within_s: float = FAST_TIMEOUT_S) -> dict[str, str] | None:
        """Return what the named groups of the first match have, those without anything as an empty text.

        Raises:
            TooSlow: As of `is_in`.
        """
        try:
            first_match = self._search(text, timeout=within_s, concurrent=within_s > FAST_TIMEOUT_S)
        except TimeoutError:
            raise TooSlow(self._expression, within_s) from None
        return None if first_match is None else first_match.groupdict("")
