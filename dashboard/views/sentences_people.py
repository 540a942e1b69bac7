"""What happened between the team and a person, each event in one sentence."""

from collections.abc import Callable
from typing import Any

from dashboard.views.names import Names
from engine.core.events import Escalated, EscalationAnswered


def _escalated(event: Escalated, names: Names) -> str:
    return f"asks a person ({event.escalation_id}): {event.question}"


def _answered(event: EscalationAnswered, names: Names) -> str:
    whose = "nobody answered in time, so the default holds" if event.by == "default" else "a person answered"
    return f"{event.escalation_id} about {names.of(event.subject)}: {whose}: {event.answer}"


SENTENCES: dict[type, Callable[[Any, Names], str]] = {Escalated: _escalated, EscalationAnswered: _answered}
