"""Fold: questions to a person."""

from engine.core.events import Escalated, EscalationAnswered
from engine.core.fold.doubt import doubt
from engine.core.fold.ending import withdraw
from engine.core.fold.handlers import Handlers
from engine.core.fold.ids import note
from engine.core.fold.timers import drop_timer, set_timer
from engine.core.state import Escalation, State
from engine.core.values import held


def _escalated(state: State, event: Escalated) -> None:
    note(state, event.escalation_id)
    state.escalations[event.escalation_id] = Escalation(
        id=event.escalation_id,
        kind=event.kind,
        subject=event.subject,
        run_id=event.run_id,
        question=event.question,
        options=list(event.options),
        default=event.default,
        due_ms=event.due_ms,
        asked_ms=event.at_ms,
        detail=dict(event.detail),
    )
    drop_timer(state, event.kind, event.subject)  # the moment that asked has come
    task = state.tasks.get(event.subject)
    if task is not None:
        task.escalation_id = task.escalation_id or event.escalation_id
        if event.kind == "doubt":
            doubt(state, task)
    if event.due_ms is not None:
        set_timer(state, "escalation", event.escalation_id, event.due_ms)


def _escalation_answered(state: State, event: EscalationAnswered) -> None:
    withdraw(state, event.escalation_id)
    task = state.tasks.get(event.subject)
    if task is not None and event.answer == "use":
        task.output = held(event.output, state.seq, "output")
    elif task is not None and event.kind == "doubt" and event.answer == "ran":
        task.steps[str(event.detail["key"])] = held(event.output, state.seq, "output")


HANDLERS: Handlers = {Escalated: _escalated, EscalationAnswered: _escalation_answered}
