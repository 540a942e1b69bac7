"""Regular expressions whose time is bounded, for filters that people type while a team works.

Rule: no text is walked twice. Python's own expressions go back and try again, and some that a person can type in a
second would hold the screen for hours. These are compiled to an automaton that is made while texts are read; one that
grows beyond `MOST_STATES` is refused. Therefore there are no references back and no looking around; case is ignored.
"""

from collections.abc import Callable
from typing import NamedTuple

from dashboard.views.factors import factor_of

MOST_STATES = 500
"""Of the automaton, before and after: what people type needs a few dozen."""
MOST_CHARACTERS = 200
"""Of an expression."""
LONGEST_TEXT = 4_000
"""Characters of a text that are looked at."""
_MOST_REPEATS = 100
_START, _END, _WORD, _OTHER = "start", "end", "word", "other"


class BadPattern(ValueError):
    """An expression that cannot be used, in one line."""


_Test = Callable[[str], bool]
"""Whether a character is one that a step takes."""


class _Step(NamedTuple):
    """A state before anything is read: on to others without a character, where that is allowed, or with one."""

    test: _Test | None
    """Takes a character; None takes none."""
    to: list[int]
    only: str = ""
    """Passed without a character only at `^`, `$`, a border of a word `b`, or where there is none, `B`."""


class Pattern:
    """A compiled expression; it remembers what it has found out about texts."""

    def __init__(self, written: str) -> None:
        """Compile an expression.

        Raises:
            BadPattern: If it is none, or too large.
        """
        if len(written) > MOST_CHARACTERS:
            raise BadPattern(f"it is longer than {MOST_CHARACTERS} characters")
        self.written = written
        reader = _Reader(written)
        self._accept, self._begin = reader.compiled()
        self._steps = reader.steps
        self._tests = list({id(step.test): step.test for step in self._steps if step.test is not None}.values())
        self._class_of: dict[str, int] = {}
        self._classes: dict[tuple[bool, ...], int] = {}
        self._examples: list[str] = []
        self._numbers: dict[tuple[frozenset[int], str], int] = {}
        self._states: list[tuple[frozenset[int], str]] = []
        self._next: list[dict[int, int]] = []
        """From a state and the class of a character to the next state; -1 is a match."""
        self._first = self._number(frozenset({self._begin}), _START)
        self._factor = factor_of(written)

    def may_be_in(self, text: str) -> bool:
        """Tell, many times as fast, whether it is worth to look for a match: False where there is none."""
        return self._factor is None or self._factor(text[:LONGEST_TEXT]) is not None

    def is_in(self, text: str) -> bool:
        """Tell whether a part of a text matches.

        Raises:
            BadPattern: If too many different things have to be kept in mind for it.
        """
        if not self.may_be_in(text):
            return False
        state, classes = self._first, self._class_of
        for letter in text[:LONGEST_TEXT]:
            letter_class = classes.get(letter)
            if letter_class is None:
                letter_class = self._classified(letter)
            following = self._next[state].get(letter_class)
            if following is None:
                following = self._followed(state, letter_class)
            if following < 0:
                return True
            state = following
        return self._ends_well(state)

    def _classified(self, letter: str) -> int:
        """Return the class of a character: all that the expression does not tell apart are one."""
        if len(self._class_of) > 10_000:
            self._class_of.clear()
        signature = (_kind(letter) == _WORD, *(test(letter) for test in self._tests))
        found = self._classes.setdefault(signature, len(self._classes))
        if found == len(self._examples):
            self._examples.append(letter)
        self._class_of[letter] = found
        return found

    def _followed(self, state: int, letter_class: int) -> int:
        letter, (steps, before) = self._examples[letter_class], self._states[state]
        open_now = self._opened(steps, before, _kind(letter))
        if self._accept in open_now:
            following = -1
        else:
            taken = {self._begin}
            for number in open_now:
                step = self._steps[number]
                if step.test is not None and step.test(letter):
                    taken.update(step.to)
            following = self._number(frozenset(taken), _kind(letter))
        self._next[state][letter_class] = following
        return following

    def _ends_well(self, state: int) -> bool:
        return self._accept in self._opened(*self._states[state], _END)

    def _opened(self, steps: frozenset[int], before: str, after: str) -> set[int]:
        """Return what is reached between two characters, of these kinds, without taking one."""
        found, waiting = set(steps), list(steps)
        while waiting:
            step = self._steps[waiting.pop()]
            if step.test is None and _holds(step.only, before, after):
                waiting += (fresh := [one for one in step.to if one not in found])
                found.update(fresh)
        return found

    def _number(self, steps: frozenset[int], before: str) -> int:
        key = (steps, before)
        if key not in self._numbers:
            if len(self._states) >= MOST_STATES:
                raise BadPattern("it takes too long here: say it in a simpler way")
            self._numbers[key] = len(self._states)
            self._states.append(key)
            self._next.append({})
        return self._numbers[key]


def _kind(letter: str) -> str:
    return _WORD if letter.isalnum() or letter == "_" else _OTHER


def _holds(only: str, before: str, after: str) -> bool:
    if only in ("b", "B"):
        return ((before == _WORD) != (after == _WORD)) == (only == "b")
    return not only or (only == "^" and before == _START) or (only == "$" and after == _END)


_CLASSES: dict[str, _Test] = {
    "d": str.isdecimal,
    "s": str.isspace,
    "w": lambda letter: _kind(letter) == _WORD,
    "D": lambda letter: not letter.isdecimal(),
    "S": lambda letter: not letter.isspace(),
    "W": lambda letter: _kind(letter) != _WORD,
}
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r"}


def _any(letter: str) -> bool:
    return letter != "\n"


def _variants(letter: str) -> set[str]:
    return {letter, letter.lower(), letter.upper()}


def _one_of(letters: set[str]) -> _Test:
    known = {variant for letter in letters for variant in _variants(letter)}
    return lambda letter: bool(known & _variants(letter))


def _between(low: str, high: str) -> _Test:
    return lambda letter: any(low <= variant <= high for variant in _variants(letter) if len(variant) == 1)


_Make = Callable[[int], int]
"""Makes the steps of a part, given where they lead; returns where they begin."""


class _Reader:
    """Reads an expression once, from the left."""

    def __init__(self, written: str) -> None:
        self.steps: list[_Step] = []
        self._written = written
        self._at = 0

    def compiled(self) -> tuple[int, int]:
        """Return the step that accepts, and the one that begins."""
        make, end = self._ways(), self._add(None)
        if self._at < len(self._written):
            raise BadPattern("a ) without its (")
        return end, make(end)

    def _add(self, test: _Test | None, *to: int, only: str = "") -> int:
        if len(self.steps) >= MOST_STATES:
            raise BadPattern("it stands for too much: repeat less")
        self.steps.append(_Step(test, list(to), only))
        return len(self.steps) - 1

    def _peek(self) -> str:
        return self._written[self._at : self._at + 1]

    def _take(self, what: str) -> str:
        letter = self._peek()
        if not letter:
            raise BadPattern(f"it ends before {what}")
        self._at += 1
        return letter

    def _ways(self) -> _Make:
        ways = [self._row()]
        while self._peek() == "|":
            self._at += 1
            ways.append(self._row())
        return ways[0] if len(ways) == 1 else lambda end: self._add(None, *[way(end) for way in ways])

    def _row(self) -> _Make:
        parts: list[_Make] = []
        while self._peek() not in ("", "|", ")"):
            parts.append(self._repeated(self._part()))

        def make(end: int) -> int:
            for part in reversed(parts):
                end = part(end)
            return end

        return make

    def _part(self) -> _Make:
        letter = self._take("")
        if letter == "(":
            return self._group()
        if letter in "*+?":
            raise BadPattern(f"nothing stands before {letter}")
        if letter in "^$":
            return lambda end: self._add(None, end, only=letter)
        if letter == "\\":
            return self._escaped()
        test = self._set() if letter == "[" else _any if letter == "." else _one_of({letter})
        return lambda end: self._add(test, end)

    def _group(self) -> _Make:
        if self._written.startswith("?:", self._at):
            self._at += 2
        elif self._peek() == "?":
            raise BadPattern("(?… is not known here, but for (?:…)")
        make = self._ways()
        if self._take("the ) of a (") != ")":
            raise BadPattern("a ( without its )")
        return make

    def _escaped(self) -> _Make:
        letter = self._take("what is behind a \\")
        if letter in "bB":
            return lambda end: self._add(None, end, only=letter)
        test = self._escape(letter)
        return lambda end: self._add(test, end)

    def _escape(self, letter: str) -> _Test:
        if letter in _CLASSES:
            return _CLASSES[letter]
        if letter.isalnum() and letter not in _CONTROLS:
            raise BadPattern(f"\\{letter} is not known here")
        return _one_of({_CONTROLS.get(letter, letter)})

    def _set(self) -> _Test:
        negated = self._peek() == "^"
        self._at += negated
        tests: list[_Test] = []
        first = True
        while (letter := self._take("the ] of a [")) != "]" or first:
            first = False
            if letter == "\\":
                tests.append(self._escape(self._take("what is behind a \\")))
            elif self._peek() == "-" and self._written[self._at + 1 : self._at + 2] not in ("", "]"):
                self._at += 1
                high = self._take("the end of a range")
                if high == "\\":
                    high = self._take("what is behind a \\")
                if high < letter:
                    raise BadPattern(f"{letter}-{high} is no range")
                tests.append(_between(letter, high))
            else:
                tests.append(_one_of({letter}))
        return lambda one: any(test(one) for test in tests) != negated

    def _repeated(self, part: _Make) -> _Make:
        while (bounds := self._bounds()) is not None:
            if self._peek() == "?":  # whether the shortest or the longest is wanted makes no difference here
                self._at += 1
            part = self._several(part, *bounds)
        return part

    def _bounds(self) -> tuple[int, int | None] | None:
        simple: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        if (letter := self._peek()) in simple:
            self._at += 1
            return simple[letter]
        end = self._written.find("}", self._at)
        if letter != "{" or end < 0:
            return None
        low, comma, high = self._written[self._at + 1 : end].partition(",")
        if not (low + high).isdecimal() or not (low + high).isascii():
            return None  # then it is a brace like any letter
        self._at = end + 1
        least, most = int(low or "0"), int(high) if high else None if comma else int(low)
        if max(least, most or 0) > _MOST_REPEATS:
            raise BadPattern(f"no more than {_MOST_REPEATS} repeats")
        if most is not None and most < least:
            raise BadPattern(f"{{{low},{high}}} is no range")
        return least, most

    def _several(self, part: _Make, least: int, most: int | None) -> _Make:
        def make(end: int) -> int:
            if most is None:
                loop = self._add(None, end)
                self.steps[loop].to.append(part(loop))
                end = loop
            else:
                out = end
                for _ in range(most - least):
                    end = self._add(None, part(end), out)
            for _ in range(least):  # a step each, so that also what stands for nothing cannot be repeated without end
                end = self._add(None, part(end))
            return end

        return make
