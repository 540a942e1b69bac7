"""Annotated types with the bounds of values that people and programs give.

Fields of records have these types, and the blocks of the team file are made from records. Python, the inbox and the
YAML reader all check values by these annotations, so that a value is valid in all of them or in none.
"""

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, TypeAlias

from engine.core.validation.rules import Also, InvalidValue, Within, Wording

NAME_PATTERN = r"^[A-Za-z][A-Za-z0-9_-]{0,63}$"
NAME = re.compile(NAME_PATTERN)
"""Names of agents and supervisors."""
MAX_DURATION_S = 315_360_000
"""Upper bound of every timeout and delay, in seconds: ten years."""
DAY_S = 86_400
LOWEST_PRIORITY = 9
"""Priorities go from 0, the most urgent, to this one."""

Name: TypeAlias = Annotated[
    str, Within(pattern=NAME_PATTERN), Wording("an ASCII letter, then up to 63 of these, digits, '_' or '-'")
]
Participants: TypeAlias = Annotated[list[Name], Within(min_length=1)]
MAX_LABEL_CHARS = 200
Label: TypeAlias = Annotated[str, Within(min_length=1, max_length=MAX_LABEL_CHARS)]
LABEL_KEY_PATTERN = r"^[a-z][a-z0-9_-]{0,31}$"
LabelKey: TypeAlias = Annotated[
    str,
    Within(pattern=LABEL_KEY_PATTERN),
    Wording("a lowercase ASCII letter, then up to 31 of these, digits, '_' or '-'"),
]
LabelText: TypeAlias = Annotated[
    str,
    Within(pattern=r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]{1,64}$"),
    Wording("a text of 1 to 64 characters without control characters"),
]
RunLabels: TypeAlias = Annotated[dict[LabelKey, LabelText], Within(max_length=8)]
"""What a program or person calls a request, by key; its tasks have the same."""
RESERVED_METRIC_LABELS = frozenset({"supervisor", "status", "kind", "job", "instance"})
"""Labels that samples of `/metrics` have already, or get from Prometheus."""


def _check_metric_label(key: str) -> None:
    if key in RESERVED_METRIC_LABELS:
        raise InvalidValue("another key than those of samples", key)


MetricLabel: TypeAlias = Annotated[
    str,
    Within(pattern=r"^[a-z][a-z0-9_]{0,31}$"),
    Wording("a key of labels without '-', which Prometheus does not take"),
    Also(_check_metric_label),
]
MetricLabels: TypeAlias = Annotated[Sequence[MetricLabel], Within(max_length=8)]


def _check_document_pattern(pattern: str) -> None:
    parts = pattern.split("/")
    is_below = {"", ".", ".."}.isdisjoint(parts) and all(part == "**" or "**" not in part for part in parts)
    if not (is_below and pattern.isprintable()):
        raise InvalidValue("a pattern of files in the team's folder, such as agents/*.md, without '..'", pattern)


DocumentPattern: TypeAlias = Annotated[Label, Also(_check_document_pattern)]
Reference: TypeAlias = Annotated[str, Within(min_length=1, max_length=500)]
"""`module:qualname`, or a reference to a callable of the running process."""
Text: TypeAlias = Annotated[str, Within(max_length=100_000)]
Message: TypeAlias = Annotated[str, Within(min_length=1, max_length=10_000)]
"""A message of a person to a running attempt; the state holds it until the attempt has read it."""
Seconds: TypeAlias = Annotated[float, Within(gt=0, le=MAX_DURATION_S)]
UpToADay: TypeAlias = Annotated[float, Within(gt=0, le=DAY_S)]
"""Seconds."""
ZeroToADay: TypeAlias = Annotated[float, Within(ge=0, le=DAY_S)]
"""Seconds."""
Share: TypeAlias = Annotated[float, Within(gt=0, le=1)]
Weight: TypeAlias = Annotated[float, Within(ge=0.001, le=1_000_000)]
"""Bounded below, because strides by weight are integers."""
Priority: TypeAlias = Annotated[
    int, Within(ge=0, le=LOWEST_PRIORITY), Wording(f"a whole number from 0, the most urgent, to {LOWEST_PRIORITY}")
]
Slots: TypeAlias = Annotated[int, Within(ge=1, le=10_000)]
Members: TypeAlias = Annotated[int, Within(ge=1, le=100_000)]
Matches: TypeAlias = Annotated[int, Within(ge=1, le=100)]
Attempts: TypeAlias = Annotated[int, Within(ge=1, le=10**9)]
Tokens: TypeAlias = Annotated[int, Within(ge=1, le=10**12)]
if TYPE_CHECKING:  # what a program may give; records hold decimals
    Dollars: TypeAlias = Decimal | float | str
else:
    Dollars = Annotated[Decimal, Within(ge=Decimal("0.000001"), le=10**9)]
if TYPE_CHECKING:
    Amount: TypeAlias = Decimal | float | str
else:
    Amount = Annotated[Decimal, Within(ge=Decimal("0.000001"), le=10**12)]
"""In the unit of what is limited: attempts, seconds, tokens or USD."""
Minutes: TypeAlias = Annotated[float, Within(gt=0, le=MAX_DURATION_S // 60)]
Rows: TypeAlias = Annotated[int, Within(ge=0, le=10**12)]
Depth: TypeAlias = Annotated[int, Within(ge=1, le=64)]
Remark: TypeAlias = Annotated[str, Within(min_length=1, max_length=10_000)]
MAX_TAGS = 20
Tags: TypeAlias = Annotated[tuple[Label, ...], Within(max_length=MAX_TAGS)]
SEGMENT_PATTERN = r"^[a-z][a-z0-9_/-]{0,63}$"
Segment: TypeAlias = Annotated[
    str,
    Within(pattern=SEGMENT_PATTERN),
    Wording("a lowercase ASCII letter, then up to 63 of these, digits, '_', '/' or '-'"),
]
"""Where an insight belongs: `private`, or a segment of the team."""
MAX_POOL = 50_000
"""Limit on the insights of a team, whatever it sets."""
PoolSize: TypeAlias = Annotated[int, Within(ge=1, le=MAX_POOL)]
Version: TypeAlias = Annotated[int, Within(ge=1, le=10**9)]
Importance: TypeAlias = Annotated[float, Within(ge=0, le=1)]
RecallLimit: TypeAlias = Annotated[int, Within(ge=1, le=100)]
