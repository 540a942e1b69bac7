"""Regular expressions with bounded time and memory, for expressions of users on texts of agents.

Python's `re` cannot be interrupted, and a short expression can block the process for hours. The package `regex` has the
same syntax and a timeout; only this file imports it.
"""

import re

from engine.core.specs.guard import MAX_REPEATS, count_repeats

SLOW_TIMEOUT_S = 0.1
"""Time limit if nothing else waits for the result, in seconds of processor time."""
FAST_TIMEOUT_S = 0.01
"""Time limit in the event loop, in seconds of processor time; usual expressions take a hundredth of it."""
_BRACE = re.compile(r"\\[NpP]\{[^}]*\}|\\.|\{(?!\d*,?\d*\})", re.DOTALL)
"""A brace that is no repetition, which `regex` would read as fuzzy matching; the first alternatives are escapes."""


class BadPattern(ValueError):
    """A pattern cannot be used.

    Attributes:
        reason: What is wrong with it, in one line.
    """

    def __init__(self, expression: str, reason: str) -> None:
        super().__init__(f"the pattern {expression[:60]!r}: {reason}")
        self.reason = reason


class TooSlow(BadPattern):
    """A pattern exceeded its time limit."""

    def __init__(self, expression: str, timeout_s: float) -> None:
        super().__init__(expression, f"it takes longer than {timeout_s:g} s; write it without nested repetitions")


class Pattern:
    """A compiled regular expression.

    Args:
        expression: The expression in Python's syntax.
        ignore_case: Whether case is ignored.

    Raises:
        BadPattern: If it is invalid, or repeats a part too often.
    """

    def __init__(self, expression: str, *, ignore_case: bool = False) -> None:
        import regex  # only where an expression is used

        if count_repeats(expression) > MAX_REPEATS:  # `regex` expands repetitions in memory
            raise BadPattern(expression, f"it repeats a part more than {MAX_REPEATS:,} times")
        self._expression = expression
        escaped = _BRACE.sub(lambda brace: r"\{" if brace[0] == "{" else brace[0], expression)
        try:
            self._search = regex.compile(escaped, regex.IGNORECASE if ignore_case else 0).search
        except regex.error as error:
            raise BadPattern(expression, str(error)) from error

    def is_in(self, text: str, *, timeout_s: float = FAST_TIMEOUT_S) -> bool:
        """Return whether a part of a text matches; above `FAST_TIMEOUT_S` other threads may run meanwhile.

        Args:
            timeout_s: Processor time that this may take, in seconds.

        Raises:
            TooSlow: If it takes longer.
        """
        return self.groups_in(text, timeout_s=timeout_s) is not None

    def groups_in(self, text: str, *, timeout_s: float = FAST_TIMEOUT_S) -> dict[str, str] | None:
        """Return the named groups of the first match, "" for unmatched ones; None without one; raises as `is_in`."""
        try:
            first_match = self._search(text, timeout=timeout_s, concurrent=timeout_s > FAST_TIMEOUT_S)
        except TimeoutError:
            raise TooSlow(self._expression, timeout_s) from None
        return None if first_match is None else first_match.groupdict("")
