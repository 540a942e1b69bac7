"""Spans: how long something went on, and of which kind.

A stored span is two integers: its milliseconds, and `detail << CODE_BITS | code`. Most tasks have two or three, so a
record for each would cost more memory than the rest of a task. `fold/times.py` adds them, `queries/work/times.py` reads
them.
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
CODE_BITS = 4
CODE_MASK = (1 << CODE_BITS) - 1


class TimeSpan(NamedTuple):
    """A span with its place in time, in UTC milliseconds."""

    code: int
    since_ms: int
    until_ms: int
    detail: int = 0
    """For a person: the number of the question. For a model or a tool: the number of the step; 0 for a call that
    failed, below 0 for a step that runs.
    """
