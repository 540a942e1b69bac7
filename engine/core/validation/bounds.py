"""The annotated types of written values, with their bounds.

The fields of records have these types, and the blocks of the team file are made from records, so that a value is valid
everywhere or nowhere. Python, the inbox and the YAML reader all check by these annotations.
"""

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, TypeAlias

from engine.core.validation.rules import Says, Within

NAME_PATTERN = r"^[A-Za-z][A-Za-z0-9_-]{0,63}$"
NAME = re.compile(NAME_PATTERN)
"""Names of agents and supervisors."""
LONGEST_S = 315_360_000
"""Upper bound of every timeout and delay, in seconds: ten years."""
DAY_S = 86_400
LOWEST_PRIORITY = 9
"""Priorities go from 0, the most urgent, to this one."""

Name: TypeAlias = Annotated[
    str, Within(pattern=NAME_PATTERN), Says("an ASCII letter, then up to 63 of these, digits, '_' or '-'")
]
Participants: TypeAlias = Annotated[list[Name], Within(min_length=1)]
LONGEST_LABEL = 200
Label: TypeAlias = Annotated[str, Within(min_length=1, max_length=LONGEST_LABEL)]
Reference: TypeAlias = Annotated[str, Within(min_length=1, max_length=500)]
"""`module:qualname`, or what stands for a callable of the running process."""
Text: TypeAlias = Annotated[str, Within(max_length=100_000)]
Message: TypeAlias = Annotated[str, Within(min_length=1, max_length=10_000)]
"""A message of a person to a running attempt; the state holds it until the attempt has read it."""
Seconds: TypeAlias = Annotated[float, Within(gt=0, le=LONGEST_S)]
UpToADay: TypeAlias = Annotated[float, Within(gt=0, le=DAY_S)]
"""Seconds."""
ZeroToADay: TypeAlias = Annotated[float, Within(ge=0, le=DAY_S)]
"""Seconds."""
Share: TypeAlias = Annotated[float, Within(gt=0, le=1)]
Weight: TypeAlias = Annotated[float, Within(ge=0.001, le=1_000_000)]
"""Bounded below too: shares by weight are counted in whole numbers."""
Priority: TypeAlias = Annotated[
    int, Within(ge=0, le=LOWEST_PRIORITY), Says(f"a whole number from 0, the most urgent, to {LOWEST_PRIORITY}")
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
Rows: TypeAlias = Annotated[int, Within(ge=0, le=10**12)]
Depth: TypeAlias = Annotated[int, Within(ge=1, le=64)]
Remark: TypeAlias = Annotated[str, Within(min_length=1, max_length=10_000)]
Tags: TypeAlias = Annotated[tuple[Label, ...], Within(max_length=20)]
Importance: TypeAlias = Annotated[float, Within(ge=0, le=1)]
RecallLimit: TypeAlias = Annotated[int, Within(ge=1, le=100)]
