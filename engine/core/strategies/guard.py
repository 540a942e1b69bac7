"""Guards: conditions on an output, written as data and never as code.

`else` · `{status: done}` · `{contains: words}` · `{names: word}` · `{matches: pattern}` ·
`{json: path, equals: value}`. This file validates guards and refuses patterns that may not terminate; the shell
evaluates them (`engine.guards`).
"""

import re
from collections.abc import Iterator
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from engine.core.discovery import nearest
from engine.core.errors import Refused
from engine.core.records import JsonValue

KINDS = ("status", "contains", "names", "matches", "json")
STATUSES = ("done", "failed", "cancelled", "skipped")
LONGEST_PATTERN = 500
MOST_CHOICES = 24
"""Limit on the repetitions and alternatives of one pattern; each can double the time of a match."""
_UNBOUNDED = 64
"""A repetition of more than this many counts as unbounded."""


def check_guard(where: str, guard: JsonValue) -> None:
    """Check a guard.

    Raises:
        Refused: If it is invalid; the message says what a guard looks like, or what is wrong with its pattern.
    """
    if guard == "else":
        return
    if not isinstance(guard, dict) or not guard:
        raise Refused(f"{where}: a guard is 'else' or one of {', '.join(KINDS)} with a value, not {guard!r:.60}")
    kind = next((key for key in guard if key in KINDS), None)
    if kind is None:
        near = nearest(str(next(iter(guard))), KINDS)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(KINDS)} and else"
        raise Refused(f"{where}: no guard {next(iter(guard))!r:.40}; {hint}")
    strange = set(guard) - ({"json", "equals"} if kind == "json" else {kind})
    if strange:
        raise Refused(f"{where}: a guard asks one thing; {sorted(map(str, strange))[0]!r:.40} does not go with {kind}")
    value = guard[kind]
    if not isinstance(value, str) or not value:
        raise Refused(f"{where}: {kind} takes a text, not {value!r:.60}")
    if kind == "status" and value not in STATUSES:
        raise Refused(f"{where}: status is one of {', '.join(STATUSES)}, not {value!r:.40}")
    if kind == "json" and "equals" not in guard:
        raise Refused(f"{where}: json takes a path and what it equals, such as {{json: verdict.ok, equals: true}}")
    if kind == "matches":
        check_pattern(where, value)


def check_pattern(where: str, pattern: str) -> None:
    """Check that matching a regular expression takes bounded time.

    Raises:
        Refused: If it is too long, invalid, or has back references or nested repetitions.
    """
    if len(pattern) > LONGEST_PATTERN:
        raise Refused(f"{where}: a pattern has up to {LONGEST_PATTERN} characters, not {len(pattern)}")
    try:
        tree = parser.parse(pattern)
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise Refused(f"{where}: {pattern!r:.60} is no regular expression ({error})") from error
    many = sum(1 for _ in _choices(tree)) > MOST_CHOICES
    fault = "has too many choices" if many else next(_faults(tree, repeated=False), None)
    if fault is not None:
        raise Refused(f"{where}: {pattern!r:.60} {fault}, which may not terminate; write it without")


def may_backtrack(pattern: str) -> bool:
    """Return True when a match may backtrack, so that its time may grow faster than the text."""
    return next(_choices(parser.parse(pattern)), None) is not None


def _choices(tree: Any) -> Iterator[Any]:
    """Yield every place at which a match can backtrack."""
    for code, value in tree:
        if code is codes.BRANCH or (code in _REPEATS and value[1] != value[0]):
            yield value
        for inner in _inside(code, value):
            yield from _choices(inner)


_REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)


def _faults(tree: Any, *, repeated: bool) -> Iterator[str]:
    unbounded = 0
    for code, value in tree:
        again = code in _REPEATS and (value[1] is codes.MAXREPEAT or value[1] > _UNBOUNDED)
        unbounded += again
        if code in (codes.GROUPREF, codes.GROUPREF_EXISTS):
            yield "refers back to a group"
        if repeated and code in _REPEATS and value[1] - value[0] > 0:
            yield "repeats what repeats already"
        if repeated and code is codes.BRANCH:
            yield "repeats a choice"
        for inner in _inside(code, value):
            yield from _faults(inner, repeated=repeated or again)
    if unbounded > 3:
        yield "has more than three repetitions without an end side by side"


def _inside(code: Any, value: Any) -> list[Any]:
    if code in _REPEATS:
        return [value[2]]
    if code is codes.BRANCH:
        return list(value[1])
    if code is codes.SUBPATTERN:
        return [value[3]]
    if code in (codes.ASSERT, codes.ASSERT_NOT):
        return [value[1]]
    if code is codes.ATOMIC_GROUP:
        return [value]
    return []


def in_words(guard: JsonValue) -> str:
    """Return the text of a guard for people, such as "contains 'yes'"."""
    if not isinstance(guard, dict):
        return "else"
    if "json" in guard:
        return f"{guard['json']} == {guard.get('equals')!r:.40}"
    kind, value = next(iter(guard.items()))
    return f"{kind} {value!r:.40}" if kind != "status" else f"status {value}"


def asks_status(guard: JsonValue) -> bool:
    """Return True when a guard checks how work ended: then its failure does not fail the graph."""
    return isinstance(guard, dict) and "status" in guard
