"""The filter language of every screen and of `--filter`: terms that must all hold, in any order.

A term is a word, `"several words"`, `/an expression/`, `key:value`, or a bound on the duration such as `>5s`; a `-`
before it negates it. A row is tested through its `Subject`. See docs/reference/command-line.md.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from engine.platform.patterns import BadPattern, Pattern

MAX_CHARACTERS = 1_000
"""Characters of a filter."""
MAX_PATTERN_CHARACTERS = 200
"""Characters of an expression."""
MAX_TEXT_CHARACTERS = 4_000
"""Characters of a text that an expression is matched against."""
KEYS = ("agent", "run", "task", "supervisor", "kind", "status", "tool", "model", "label")
_UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "": 1_000}
_TIME = re.compile(r"(\d{1,9}(?:\.\d{0,3})?)(ms|s|m|h|d|)")
_PARTIAL_TIME = re.compile(r"[\d.]*")
_KEYED = re.compile(r"([a-z]+):(.*)", re.DOTALL)
T = TypeVar("T")


class FilterError(ValueError):
    """An invalid filter; the message is one line that says what to write instead."""


class Value(NamedTuple):
    """A value of a row under a key."""

    name: str = ""
    id: str = ""
    """Matches only as a whole, with or without `@`; for a name a part is enough."""


def label_values(labels: Mapping[str, str]) -> Iterator[Value]:
    """Yield what `label:` matches, as a whole: each key, and each key with its text."""
    for key, text in labels.items():
        yield from (Value("", key), Value("", f"{key}={text}".casefold()))


class Subject(Protocol):
    """What a filter reads from a row."""

    def has(self, word: str) -> bool:
        """Return whether a case-folded word occurs in one of its texts."""
        ...

    def texts(self) -> Iterable[str]:
        """Return its texts."""
        ...

    def values(self, key: str) -> Iterable[Value]:
        """Return its values under one of `KEYS`."""
        ...

    def took_ms(self) -> float | None:
        """Return its duration so far in milliseconds; None if it is unknown."""
        ...


@dataclass(frozen=True, slots=True)
class FilterFields:
    """A subject made of texts and a few keyed values."""

    raw_texts: Sequence[str | None]
    values_by_key: Mapping[str, str | None] = field(default_factory=dict)
    labels: Sequence[Mapping[str, str]] = ()
    """Labels of runs that it is about."""

    def has(self, word: str) -> bool:
        return any(word in text.casefold() for text in self.texts())

    def texts(self) -> Iterable[str]:
        return (text for text in self.raw_texts if text)

    def values(self, key: str) -> Iterable[Value]:
        if key == "label":
            return (value for labels in self.labels for value in label_values(labels))
        value = self.values_by_key.get(key) or ""
        return [Value(value, value)] if value else []

    def took_ms(self) -> float | None:
        return None


@dataclass(frozen=True, slots=True)
class RequiredWord:
    """A word that must occur in one of the row's texts."""

    text: str

    def holds(self, subject: Subject) -> bool:
        return subject.has(self.text)


@dataclass(frozen=True, slots=True)
class KeyedTerm:
    """A `key:value` term."""

    key: str
    value: str

    def holds(self, subject: Subject) -> bool:
        return any(self.meets(value) for value in subject.values(self.key))

    def meets(self, value: Value) -> bool:
        return self.value in value.name.casefold() or self.value.removeprefix("@") == value.id


@dataclass(frozen=True, slots=True)
class DurationBound:
    """A bound on the duration."""

    longer: bool
    than_ms: float

    def holds(self, subject: Subject) -> bool:
        took_ms = subject.took_ms()
        return took_ms is not None and (took_ms > self.than_ms if self.longer else took_ms < self.than_ms)


@dataclass(frozen=True, slots=True)
class Expression:
    """A regular expression that must match one of the row's texts."""

    source: str
    pattern: Pattern

    def holds(self, subject: Subject) -> bool:
        return any(map(self.is_in, subject.texts()))

    def is_in(self, text: str) -> bool:
        """Return whether it matches a part of a text.

        Raises:
            FilterError: If an expression takes too long.
        """
        try:
            return self.pattern.is_in(text[:MAX_TEXT_CHARACTERS])
        except BadPattern as bad:
            raise FilterError(f"/{self.source}/: {bad.reason}") from bad


Test: TypeAlias = RequiredWord | KeyedTerm | DurationBound | Expression


class Term(NamedTuple):
    """One part of a filter."""

    test: Test
    negated: bool = False


@dataclass(slots=True)
class Filter:
    """Terms that must all hold; without any, everything passes."""

    terms: Sequence[Term] = ()
    fault: str = field(default="", compare=False)
    """Why it is invalid, in one line; then nothing passes."""

    def passes(self, subject: Subject) -> bool:
        """Return whether a row passes.

        Raises:
            FilterError: If an expression takes too long.
        """
        return not self.fault and all(test.holds(subject) != negated for test, negated in self.terms)

    def apply(
        self,
        rows: Iterable[T],
        subject_of: Callable[[T], Subject],
        *,
        having: Callable[[str], Callable[[T], bool]] | None = None,
    ) -> list[T]:
        """Return the rows that pass, in their order; if an expression takes too long, set `fault` and return none.

        Args:
            subject_of: Returns the subject of a row.
            having: Returns a test whether a row contains a case-folded word; faster than a subject for each row.
        """
        left = [] if self.fault else [*rows]
        try:
            for test, negated in self.terms:
                if having is not None and isinstance(test, RequiredWord):
                    has = having(test.text)
                    left = [row for row in left if has(row) != negated]
                else:
                    left = [row for row in left if test.holds(subject_of(row)) != negated]
        except FilterError as error:
            self.fault = str(error)
            return []
        return left

    def __bool__(self) -> bool:
        return bool(self.terms or self.fault)


def parse_filter(text: str) -> Filter:
    """Parse a complete filter.

    Raises:
        FilterError: If it is invalid or incomplete.
    """
    _check_length(text)
    return Filter([_term(token) for token in split_terms(text)])


@lru_cache(64)
def parse_partial_filter(text: str) -> Filter:
    """Parse a filter that is being typed: an incomplete term always holds, an error is its `fault`."""
    terms: list[Term] = []
    try:
        _check_length(text)
        for token in split_terms(text):
            with suppress(_Unfinished):
                terms.append(_term(token))
    except FilterError as error:
        return Filter(terms, str(error))
    return Filter(terms)


class _Unfinished(FilterError):
    """Incomplete but valid so far."""


def _check_length(text: str) -> None:
    if len(text) > MAX_CHARACTERS:  # SQLite limits patterns, too
        raise FilterError(f"a filter has at most {MAX_CHARACTERS:,} characters, and this has {len(text):,}")


def split_terms(text: str) -> list[str]:
    """Split a filter at blanks, except those inside quotes and expressions."""
    tokens, at = [], 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        start, end = at, _end_of(text, at)
        tokens.append(text[start:end])
        at = end
    return tokens


def last_token(text: str) -> str:
    """Return the term that is being typed; empty after a blank."""
    tokens = split_terms(text)
    return tokens[-1] if tokens and text.endswith(tokens[-1]) else ""


def _end_of(text: str, at: int) -> int:
    """Return the end of the token that begins at `at`."""
    inner = at + (text[at] == "-")
    keyed = _KEYED.match(text, inner)
    quoted = inner if keyed is None else keyed.start(2)
    mark = text[inner : inner + 1]
    if mark == "/":
        end = _closing_end(text, inner + 1, "/")
        return len(text) if end is None else end
    if text[quoted : quoted + 1] == '"':
        end = _closing_end(text, quoted + 1, '"')
        return len(text) if end is None else end
    while at < len(text) and not text[at].isspace():
        at += 1
    return at


def _closing_end(text: str, at: int, mark: str) -> int | None:
    """Return the index after the mark that closes a token, which a blank or the end follows; None without one."""
    while (at := text.find(mark, at)) >= 0:
        at += 1
        escaped = mark == "/" and text[at - 2] == "\\"
        if not escaped and (at == len(text) or text[at].isspace()):
            return at
    return None


def _term(token: str) -> Term:
    negated = token.startswith("-") and len(token) > 1
    text = token[1:] if negated else token
    if token == "-":
        raise _Unfinished('- comes before a term that must not match, such as -status:done; for the sign itself: "-"')
    return Term(_test(text), negated)


def _test(text: str) -> Test:
    if text.startswith("/"):
        return Expression(text[1:-1], _pattern(text))
    if text[0] in "<>":
        return DurationBound(text[0] == ">", _milliseconds(text))
    if (keyed := _KEYED.fullmatch(text)) is not None and (key := _key(keyed[1])) is not None:
        value = _unquote(keyed[2]).casefold()
        if not value:
            raise _Unfinished(f"{key}: needs a value, such as {_EXAMPLES[key]}")
        return KeyedTerm(key, value)
    return RequiredWord(_word(text))


def _word(text: str) -> str:
    word = _unquote(text).casefold()
    if not word:
        raise _Unfinished("there is nothing between the quotes")
    return word


_EXAMPLES = {
    "agent": "agent:scout",
    "run": "run:r4",
    "task": "task:t17",
    "supervisor": "supervisor:crew",
    "kind": "kind:failed",
    "status": "status:running",
    "tool": "tool:search",
    "model": "model:gpt",
    "label": "label:team=web",
}


def _key(named: str) -> str | None:
    """Return the key; None if the text before the colon is not a key and resembles none."""
    if named in KEYS:
        return named
    near = get_close_matches(named, KEYS, n=1, cutoff=0.75)
    if near:
        raise FilterError(f'there is no {named}:, did you mean {near[0]}: ? for the text itself: "{named}:"')
    return None


def _unquote(text: str) -> str:
    if not text.startswith('"'):
        return text
    if len(text) < 2 or not text.endswith('"'):
        raise _Unfinished(f"{text} lacks its closing quote")
    return text[1:-1]


def _pattern(text: str) -> Pattern:
    if len(text) < 2 or not text.endswith("/") or text.endswith("\\/"):
        raise _Unfinished(f'{text} lacks its closing / ; where no expression is meant: "{text}"')
    if text == "//":
        raise _Unfinished("there is nothing between the two /")
    return _compile(text[1:-1])


@lru_cache(64)
def _compile(source: str) -> Pattern:
    if len(source) > MAX_PATTERN_CHARACTERS:
        raise FilterError(f"/{source[:20]}…/: it is longer than {MAX_PATTERN_CHARACTERS} characters")
    try:
        return Pattern(source, ignore_case=True)
    except BadPattern as bad:
        raise FilterError(f"/{source}/: {bad.reason}") from bad


def _milliseconds(text: str) -> float:
    time_match = _TIME.fullmatch(text[1:])
    if time_match is not None:
        return float(time_match[1]) * _UNITS_MS[time_match[2]]
    kind = _Unfinished if _PARTIAL_TIME.fullmatch(text[1:]) else FilterError
    raise kind(f"{text} is not a time bound: write {text[0]}5s, or ms, m, h, d")
