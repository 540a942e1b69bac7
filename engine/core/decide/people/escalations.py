"""Escalations (questions to a person): answers, defaults, and tool calls in doubt.

Each kind of question has its handler in `ON_ANSWER`, which the module that asks provides. A question is closed without
an answer when its task ends (`fold.completion`).
"""

from collections.abc import Callable
from typing import TypeAlias

from engine.core.commands import Answer
from engine.core.decide.work.attempts import live
from engine.core.decisions.decision_context import DecisionContext
from engine.core.decisions.outcomes import Decided, ask, of_attempt
from engine.core.errors import Refused
from engine.core.events import DoubtSettled, Escalated, EscalationAnswered, Event, TaskFailed, ToolFailed, ToolStarted
from engine.core.followups import ActOnAnswer, AskDoubt
from engine.core.queries.people.questions import alike, find_question
from engine.core.queries.team.tree import is_cancelled
from engine.core.records.records import JsonValue
from engine.core.signals import ToolBegan, ToolRaised
from engine.core.state import OF_ATTEMPTS, Escalation, State, Timer

REPLY = "reply"
"""The answer to a question without options; the text is its output."""
NAMED = 3
"""Questions that the outcome of an answer names; the rest is counted."""

OnAnswer: TypeAlias = Callable[[State, EscalationAnswered, DecisionContext], list[Event]]
ON_ANSWER: dict[str, OnAnswer] = {}
"""Handlers of answers by kind of question, registered in `decide/__init__`."""


def answer(state: State, command: Answer, ctx: DecisionContext) -> Decided:
    """Give a question the answer, and likewise the similar ones or those named in addition."""
    found = find_question(state, command.escalation)
    asked = {one.id: one for one in (found, *(find_question(state, target) for target in command.also))}
    if command.alike:
        asked |= {one.id: one for one in alike(state, found)}
    events = [_answered(one, command) for one in asked.values()]
    more = f" and {len(asked) - NAMED:,} more" if len(asked) > NAMED else ""
    return Decided(
        events=[*events],
        summary=f"answered {', '.join([*asked][:NAMED])}{more}: {events[0].answer}",
        result={"escalation_id": found.id, "subject": found.subject, "answered": [*asked]},
    )


def _answered(found: Escalation, command: Answer) -> EscalationAnswered:
    said, output = command.answer, command.output
    if found.kind in OF_ATTEMPTS:
        if said == REPLY and said not in found.options and isinstance(output, str):
            said = output  # a reply with one of the options is that option
        output = output if said == REPLY else None
        if said == REPLY and not (isinstance(output, str) and output.strip()):
            raise Refused(f"{found.id} asks for a text: give it as the output of the answer {REPLY!r}")
    if said not in found.options:
        raise Refused(f"{said!r:.60} is not an answer to {found.id}; choose one of {', '.join(found.options)}")
    return answered(found, said, by="person", output=output)


def answered(found: Escalation | Escalated, said: str, *, by: str, output: JsonValue = None) -> EscalationAnswered:
    """Return the event that answers a question, which may have been asked in the same decision."""
    return EscalationAnswered(
        escalation_id=found.escalation_id if isinstance(found, Escalated) else found.id,
        kind=found.kind,
        subject=found.subject,
        run_id=found.run_id,
        answer=said,
        output=output,
        by=by,
        detail=found.detail,
    )


def overdue(state: State, timer: Timer, ctx: DecisionContext) -> list[Event]:
    """Apply the default to a question that was not answered in time."""
    found = state.escalations.get(timer.subject)
    if found is None or found.default is None:
        return []
    return [answered(found, found.default, by="default", output=found.detail.get("output"))]


def after_answer(state: State, followup: ActOnAnswer, ctx: DecisionContext) -> list[Event]:
    """Carry out an answer."""
    return ON_ANSWER[followup.event.kind](state, followup.event, ctx)


OPTIONS = ["again", "ran", "fail"]
"""Answers to a doubt: call the tool again, it ran with the given output, or fail the task."""


def tool_began(state: State, signal: ToolBegan, ctx: DecisionContext) -> list[Event]:
    """Record that a tool is about to be called."""
    found = live(state, signal)
    return [] if found is None else [of_attempt(ToolStarted, found[1], signal)]


def tool_raised(state: State, signal: ToolRaised, ctx: DecisionContext) -> list[Event]:
    """Record that a tool call ended with an error."""
    found = live(state, signal)
    if found is None or signal.key not in found[0].calling:
        return []
    task, attempt = found
    return [of_attempt(ToolFailed, attempt, signal, name=task.calling[signal.key])]


def ask_doubt(state: State, followup: AskDoubt, ctx: DecisionContext) -> list[Event]:
    """Ask a person about the first tool call of a task without a recorded end."""
    task = state.tasks.get(followup.task_id)
    if task is None or task.ended or task.attempt is not None or not task.calling or task.escalation_id is not None:
        return []
    if is_cancelled(state, task):
        return []
    key, name = next(iter(task.calling.items()))
    return [
        ask(
            state,
            ctx,
            kind="doubt",
            subject=task.id,
            run_id=task.run_id,
            question=f"{task.title} was cut off while it called {name}; did that happen?",
            options=OPTIONS,
            detail={"key": key, "name": name},
        )
    ]


def settled(state: State, event: EscalationAnswered, ctx: DecisionContext) -> list[Event]:
    """Carry out the answer to a task in doubt."""
    task, key = state.tasks.get(event.subject), str(event.detail.get("key"))
    if task is None or task.ended or key not in task.calling:
        return []
    name = task.calling[key]
    if event.answer == "fail":
        error = f"it is unknown whether {name} happened"
        return [TaskFailed(task_id=task.id, error=error)]
    ran = event.answer == "ran"
    return [DoubtSettled(task_id=task.id, name=name, key=key, ran=ran)]
