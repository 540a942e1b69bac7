"""One sentence for every kind of event, in the words of the interface.

The subject comes first, then what it did; ids are replaced by the names that `Names` knows.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from dashboard.views import (
    sentences_engine,
    sentences_failure,
    sentences_hierarchy,
    sentences_limits,
    sentences_people,
    sentences_scheduling,
    sentences_swap,
    sentences_team,
    sentences_work,
)
from dashboard.views.names import Names
from engine.core.events import Event


class Sentence(NamedTuple):
    """What happened, and how loud it is said."""

    text: str
    tone: str


_TONES = {
    "attempt_failed": "error",
    "task_failed": "error",
    "agent_broke": "error",
    "command_refused": "error",
    "signal_dropped": "error",
    "call_refused": "warn",
    "attempt_lost": "warn",
    "attempt_preempted": "draining",
    "preemption_asked": "draining",
    "priority_set": "accent",
    "retry_scheduled": "draining",
    "escalated": "error",
    "circuit_opened": "warn",
    "agents_restarted": "warn",
    "supervisor_failed": "error",
    "supervisor_mended": "accent",
    "tool_started": "muted",
    "tool_failed": "warn",
    "doubt_settled": "accent",
    "task_failed_over": "draining",
    "task_answered": "accent",
    "task_tried_anew": "accent",
    "deadline_passed": "error",
    "deadline_warned": "warn",
    "grace_ended": "warn",
    "budget_exhausted": "error",
    "budget_warned": "warn",
    "budget_extended": "accent",
    "budget_timed": "muted",
    "attempt_set_aside": "warn",
    "attempt_done": "done",
    "run_finished": "strong",
    "run_submitted": "strong",
    "agent_swapped": "accent",
    "swap_rolled_back": "warn",
    "swap_hurried": "warn",
    "capabilities_changed": "accent",
    "attempt_migrated": "accent",
    "task_reassigned": "accent",
    "strategy_switched": "accent",
    "command_applied": "accent",
    "member_moved": "accent",
    "supervisor_changed": "accent",
    "pool_watched": "muted",
    "step_recorded": "muted",
    "task_skipped": "muted",
    "queue_made": "muted",
}
SENTENCES: dict[type, Callable[[Any, Names], str]] = {
    **sentences_engine.SENTENCES,
    **sentences_team.SENTENCES,
    **sentences_scheduling.SENTENCES,
    **sentences_swap.SENTENCES,
    **sentences_hierarchy.SENTENCES,
    **sentences_work.SENTENCES,
    **sentences_people.SENTENCES,
    **sentences_failure.SENTENCES,
    **sentences_limits.SENTENCES,
}
"""By class of event; a test holds its keys against the union."""


def sentence(event: Event, names: Names) -> Sentence:
    """Say in one line what happened."""
    return Sentence(SENTENCES[type(event)](event, names), _TONES.get(event.type, ""))
