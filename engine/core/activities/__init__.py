"""What agents and tasks do at a moment: the one source of every list, picture, metric and `--json`.

A room above `scheduler`, because why a task waits is the scheduler's knowledge.
See docs/semantics/activities.md.
"""

from engine.core.activities.activities import Activities, activity, activity_of_task
from engine.core.activities.kinds import ACTIVITY_KINDS, RANKS, SILENT_KINDS, ActivityKind, CurrentActivity
from engine.core.activities.live import Live, LiveCall, LiveProcess, LiveProgress, LiveStep, parse_live

__all__ = [
    "ACTIVITY_KINDS",
    "RANKS",
    "SILENT_KINDS",
    "Activities",
    "ActivityKind",
    "CurrentActivity",
    "Live",
    "LiveCall",
    "LiveProcess",
    "LiveProgress",
    "LiveStep",
    "activity",
    "activity_of_task",
    "parse_live",
]
