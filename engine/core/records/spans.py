"""Spans: how long something went on, of which kind, packed into one integer each.

A span is `detail << 44 | milliseconds << 4 | code`. Most tasks have two or three, so a record for each would cost more
memory than the rest of a task. `fold/times.py` adds them, `queries/work/times.py` reads them.
"""

from typing import Literal, NamedTuple, TypeAlias, get_args

TimeKind: TypeAlias = Literal[
    "model",
    "tool",
    "code",
    "slot",
    "rate_limit",
    "backoff",
    "budget",
    "person",
    "delegated",
    "queue",
    "paused",
    "suspended",
]
"""What time goes into: an answer of a model; a tool; code of an agent; waiting for a slot or a turn at a tool, for the
limit of a provider, the next try, a budget, a person, delegated work, in a queue; a pause; no engine."""
TIME_KINDS: tuple[TimeKind, ...] = get_args(TimeKind)
MODEL, TOOL, CODE, SLOT, RATE_LIMIT, BACKOFF, BUDGET, PERSON, DELEGATED, QUEUE, PAUSED, SUSPENDED = range(12)
BLOCKED = 12
"""It was not open: its predecessors had not ended, or it had. Counts as `queue`, and is never on a critical path."""
REST = 13
"""Time at work that no step has taken; counts as `code`. A step that ends later may still take it."""
KIND_OF: tuple[TimeKind, ...] = (*TIME_KINDS, "queue", "code")
"""The kind of each code."""
STEP_CODES = {"model": MODEL, "compact": MODEL, "tool": TOOL, "code": CODE}
"""What the time of a step counts as, by its kind."""
CODE_BITS, MS_BITS = 4, 40
CODE_MASK, MS_MASK = (1 << CODE_BITS) - 1, (1 << MS_BITS) - 1
DETAIL_SHIFT = CODE_BITS + MS_BITS
MAX_DETAIL = (1 << 19) - 1
"""Larger details are left out: JSON has integers of 64 bits."""


class TimeSpan(NamedTuple):
    """A span with its place in time, in UTC milliseconds."""

    code: int
    since_ms: int
    until_ms: int
    detail: int = 0
    """For a person: the number of the question. For a model or a tool: the number of the step; 0 for a call that
    failed, below 0 for a step that runs.
    """


def pack(code: int, duration_ms: int, detail: int = 0) -> int:
    """Return a span as an integer."""
    return (detail if detail <= MAX_DETAIL else 0) << DETAIL_SHIFT | duration_ms << CODE_BITS | code


def duration_of(packed: int) -> int:
    """Return the milliseconds of a packed span."""
    return packed >> CODE_BITS & MS_MASK
