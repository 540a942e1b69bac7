"""Guards: conditions on an output, written as data and never as code.

`else` · `{status: done}` · `{contains: words}` · `{names: word}` · `{matches: pattern}` ·
`{json: path, equals: value}`. This file validates guards; the shell evaluates them (`engine.host.built_in.guards`).
"""

import re
from math import prod

from engine.core.discovery.nearest import nearest
from engine.core.errors import Refused, did_you_mean
from engine.core.records.records import JsonValue

KINDS = ("status", "contains", "names", "matches", "json")
STATUSES = ("done", "failed", "cancelled", "skipped")
MAX_PATTERN_CHARS = 500
MAX_REPEATS = 1_000
"""Limit on the repeats of a part of a pattern, multiplied over the groups around it: each takes memory."""
_REPEATS = re.compile(r"(\)?)\{([0-9]*),?([0-9]*)\}")


def check_guard(where: str, guard: JsonValue) -> None:
    """Refuse an invalid guard; the message says what a guard looks like, or what is wrong with its pattern."""
    if guard == "else":
        return
    if not isinstance(guard, dict) or not guard:
        raise Refused(f"{where}: a guard is 'else' or one of {', '.join(KINDS)} with a value, not {guard!r:.60}")
    kind = next((key for key in guard if key in KINDS), None)
    if kind is None:
        hint = did_you_mean(nearest(str(next(iter(guard))), KINDS, 1), f"there are {', '.join(KINDS)} and else")
        raise Refused(f"{where}: no guard {next(iter(guard))!r:.40}; {hint}")
    unknown_keys = set(guard) - ({"json", "equals"} if kind == "json" else {kind})
    if unknown_keys:
        raise Refused(
            f"{where}: a guard asks one thing; {sorted(map(str, unknown_keys))[0]!r:.40} does not go with {kind}"
        )
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
    """Check a regular expression; the time of a match is bounded where it is made (`engine.platform.patterns`).

    Raises:
        Refused: If it is too long, invalid, or repeats too much.
    """
    if len(pattern) > MAX_PATTERN_CHARS:
        raise Refused(f"{where}: a pattern has up to {MAX_PATTERN_CHARS} characters, not {len(pattern)}")
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise Refused(f"{where}: {pattern!r:.60} is not a regular expression ({error})") from error
    if count_repeats(pattern) > MAX_REPEATS:
        raise Refused(f"{where}: {pattern!r:.60} repeats a part more than {MAX_REPEATS:,} times; repeat less")


def count_repeats(pattern: str) -> int:
    """Return an upper bound of the repeats of a part: those of groups multiply, the others add up."""
    repeats = [(group, max(int(low or 1), int(high or 1))) for group, low, high in _REPEATS.findall(pattern)]
    return prod(many for group, many in repeats if group) * max(1, sum(many for group, many in repeats if not group))


def describe_guard(guard: JsonValue) -> str:
    """Return the text of a guard for people, such as "contains 'yes'"."""
    if not isinstance(guard, dict):
        return "else"
    if "json" in guard:
        return f"{guard['json']} == {guard.get('equals')!r:.40}"
    kind, value = next(iter(guard.items()))
    return f"{kind} {value!r:.40}" if kind != "status" else f"status {value}"


def checks_status(guard: JsonValue) -> bool:
    """Return True when a guard checks how work ended: then its failure does not fail the graph."""
    return isinstance(guard, dict) and "status" in guard
