"""What happened between the team and a person, each event in one sentence."""

from collections.abc import Callable
from typing import Any

from dashboard.views.names import Names
from engine.core.events import Escalated, EscalationAnswered


def _escalated(event: Escalated, names: Names) -> str:
    return f"a person is asked ({event.escalation_id}): {event.question}"


def _answered(event: EscalationAnswered, names: Names) -> str:
    about = f"{event.escalation_id} about {names.of(event.subject)}"
    if event.by == "default":
        return f"nobody answered {about} in time, so its default holds: {event.answer}"
    return f"a person answered {about}: {event.answer}"


SENTENCES: dict[type, Callable[[Any, Names], str]] = {Escalated: _escalated, EscalationAnswered: _answered}
