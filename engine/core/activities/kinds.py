"""What an agent or a task does at one moment: its kind, words for a column, and since when.

Rule: `ACTIVITY_KINDS` is ordered, and the first kind that fits is the one that shows. What needs a person or holds up
work comes before work that goes on, and that before what merely waits.
"""

from typing import Literal, TypeAlias, get_args

from engine.core.records.records import fact

ActivityKind: TypeAlias = Literal[
    "suspended",
    "away",
    "error",
    "stuck",
    "person",
    "doubt",
    "budget",
    "silent",
    "pausing",
    "draining",
    "working",
    "rate_limit",
    "backoff",
    "delegated",
    "slot",
    "circuit",
    "paused",
    "stopped",
    "queued",
    "idle",
]
"""No engine works on it; its code is not here; it cannot work; it makes no progress; a person is asked; a tool call is
in doubt; a budget is spent; it has said nothing for long; it is asked to pause; it ends what an earlier generation, or
an agent that leaves, has begun; it works; it waits for a provider's limit, its next try, delegated tasks, a slot; its
circuit is open; it is paused; its supervisor takes no work; it waits for other work or its turn; it has nothing to do.
"""
ACTIVITY_KINDS: tuple[ActivityKind, ...] = get_args(ActivityKind)
RANKS: dict[ActivityKind, int] = {kind: rank for rank, kind in enumerate(ACTIVITY_KINDS)}
"""The place of each kind in the order."""
BUSY_KINDS: frozenset[ActivityKind] = frozenset({"working", "pausing", "draining", "silent", "stuck"})
"""Kinds of an attempt that holds a slot."""
SILENT_KINDS: frozenset[ActivityKind] = frozenset({"silent", "stuck"})
"""Kinds of an attempt that gives no sign of life."""


@fact
class CurrentActivity:
    """What an agent or a task does at one moment."""

    kind: ActivityKind
    words: str = ""
    """What it does this second, the important word first; one line, without the times below."""
    since_ms: int | None = None
    """Since when, where that is known; UTC milliseconds."""
    until_ms: int | None = None
    """When it ends by itself, where that is known; UTC milliseconds."""
    ids: tuple[str, ...] = ()
    """Questions, tasks, runs, agents or supervisors that it is about."""


def first_of(first: CurrentActivity | None, second: CurrentActivity | None) -> CurrentActivity | None:
    """Return the one whose kind comes first; the former of two alike."""
    if first is None or second is None:
        return first or second
    return second if RANKS[second.kind] < RANKS[first.kind] else first
