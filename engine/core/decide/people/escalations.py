"""Escalations (questions to a person): answers, defaults, and tool calls in doubt.

Each kind of question has its handler in `ON_ANSWER`, which the module that asks provides. A question is closed without
an answer when its task ends (`fold.completion`).
"""

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import TypeAlias

from engine.core.commands import Answer
from engine.core.decide.people.trust import trust
from engine.core.decide.work.attempts import find_attempt
from engine.core.decisions.decision_context import DecisionContext
from engine.core.decisions.outcomes import Decided, ask, attempt_event
from engine.core.errors import NotTrusted, Refused
from engine.core.events import DoubtSettled, Escalated, EscalationAnswered, Event, TaskFailed, ToolFailed, ToolStarted
from engine.core.followups import ActOnAnswer, AskDoubt
from engine.core.queries.people.grants import argument_texts
from engine.core.queries.people.offers import ADD, DISCOVER, offered_in
from engine.core.queries.people.questions import REPLY, find_question, similar_questions, takes_text
from engine.core.queries.team.tree import is_cancelled
from engine.core.records.records import JsonValue, copy_with
from engine.core.signals import FoundSpec, ToolBegan, ToolRaised
from engine.core.state import OF_ATTEMPTS, Escalation, State, Timer

MAX_NAMED_QUESTIONS = 3
"""Number of questions named in the summary of an answer; the others are counted."""

OnAnswer: TypeAlias = Callable[[State, EscalationAnswered, DecisionContext], list[Event]]
ON_ANSWER: dict[str, OnAnswer] = {}
"""Handlers of answers by kind of question, registered in `decide/__init__`."""


def answer(state: State, command: Answer, ctx: DecisionContext) -> Decided:
    """Answer a question, and with it the questions named in addition or all similar ones."""
    question = find_question(state, command.escalation)
    questions = {
        escalation.id: escalation
        for escalation in (question, *(find_question(state, target) for target in command.also))
    }
    # The same agents join once, for all requests that wait for them.
    if command.alike or (question.kind == DISCOVER and command.answer == ADD):
        questions |= {escalation.id: escalation for escalation in similar_questions(state, question)}
    trusted = _trust_offered(state, question, _let_in(questions.values(), command), ctx)
    events = [_answer_question(state, escalation, command) for escalation in questions.values()]
    more = f" and {len(questions) - MAX_NAMED_QUESTIONS:,} more" if len(questions) > MAX_NAMED_QUESTIONS else ""
    return Decided(
        events=[*trusted, *events],
        summary=f"answered {', '.join([*questions][:MAX_NAMED_QUESTIONS])}{more}: {events[0].answer}",
        result={"escalation_id": question.id, "subject": question.subject, "answered": [*questions]},
    )


def _let_in(questions: Iterable[Escalation], command: Answer) -> list[FoundSpec]:
    """Return the agents that an answer lets into the team."""
    if command.answer != ADD:
        return []
    return [each for question in questions if question.kind == DISCOVER for each in offered_in(question.detail)]


def _trust_offered(
    state: State, question: Escalation, offered: Iterable[FoundSpec], ctx: DecisionContext
) -> list[Event]:
    """Return the event of new trust in agents that are let in, if any; raises NotTrusted with what to do."""
    try:
        return trust(state, [each.spec for each in offered], ctx)
    except NotTrusted as error:
        hint = f"look at them, then allow them with: quarterdeck answer {question.id} {ADD} --trust"
        raise NotTrusted(error.references, hint) from error


def _answer_question(state: State, question: Escalation, command: Answer) -> EscalationAnswered:
    choice, output = command.answer, command.output
    if question.kind in OF_ATTEMPTS:
        if choice == REPLY and isinstance(output, str) and output in question.options:
            choice = output  # a reply with one of the options is that option
        output = output if choice == REPLY else None
        if choice == REPLY and not (isinstance(output, str) and output.strip()):
            raise Refused(f"{question.id} asks for a text: give it as the output of the answer {REPLY!r}")
    if choice not in question.options and not (choice == REPLY and takes_text(question)):
        raise Refused(f"{choice!r:.60} is not an answer to {question.id}; choose one of {', '.join(question.options)}")
    scope = None if command.scope == "always" else "until" if command.minutes is not None else command.scope
    _check_grant(question, choice, command)
    amount = _raised_amount(state, question, choice, command)
    return copy_with(
        answer_event(question, choice, by="person", output=output),
        scope=scope,
        minutes=command.minutes,
        where=list(command.where),
        amount=amount,
    )


def _check_grant(question: Escalation, choice: str, command: Answer) -> None:
    """Refuse a scope that does not fit an answer, or that code of others could not be told of."""
    if command.scope is None and command.minutes is None and not command.where:
        return
    if not choice.endswith("_always") or question.kind not in ("approval", "permission"):
        raise Refused(f"{choice!r:.60} is an answer for one call; a scope goes with allow_always and reject_always")
    if (command.scope == "until") != (command.minutes is not None) and command.scope is not None:
        raise Refused("minutes go with the scope 'until', and this scope with minutes")
    if choice.replace("_always", "_once") not in question.options:
        raise Refused(f"{question.id} can be answered for good only: the program offers no answer for one call")
    argument_texts(command.where, question.detail.get("arguments"))


def _raised_amount(state: State, question: Escalation, choice: str, command: Answer) -> Decimal | None:
    """Return the amount by which a budget is raised; raises Refused for one that is not above what is spent."""
    if command.amount is None:
        return None
    if question.kind != "budget" or choice != "continue":
        raise Refused("an amount goes with the answer 'continue' to a spent budget")
    spent, limit = (Decimal(str(question.detail[key])) for key in ("spent", "limit"))
    ledger = state.ledgers.get(question.subject)
    needs = Decimal(0) if ledger is None else ledger.needs.get(str(question.detail["amount"]), Decimal(0))
    amount, least = Decimal(str(command.amount)), spent + needs - limit
    if amount < least or limit + amount <= spent:
        needed = f"{'more than ' if not needs else ''}{least.normalize():,f}"
        raise Refused(f"{amount.normalize():,f} more is not enough to go on; {question.id} needs {needed}")
    return amount


def answer_event(
    question: Escalation | Escalated, choice: str, *, by: str, output: JsonValue = None
) -> EscalationAnswered:
    """Return the event that answers a question, which may have been asked in the same decision."""
    return EscalationAnswered(
        escalation_id=question.escalation_id if isinstance(question, Escalated) else question.id,
        kind=question.kind,
        subject=question.subject,
        run_id=question.run_id,
        answer=choice,
        output=output,
        by=by,
        detail=question.detail,
    )


def escalation_due(state: State, timer: Timer, ctx: DecisionContext) -> list[Event]:
    """Apply the default to a question that was not answered in time."""
    question = state.escalations.get(timer.subject)
    if question is None or question.default is None:
        return []
    return [answer_event(question, question.default, by="default", output=question.detail.get("output"))]


def act_on_answer(state: State, followup: ActOnAnswer, ctx: DecisionContext) -> list[Event]:
    """Carry out an answer."""
    return ON_ANSWER[followup.event.kind](state, followup.event, ctx)


DOUBT_OPTIONS = ["again", "ran", "fail"]
"""Answers to a doubt: call the tool again, it ran with the given output, or fail the task."""


def tool_began(state: State, signal: ToolBegan, ctx: DecisionContext) -> list[Event]:
    """Record that a tool is about to be called."""
    attempt = find_attempt(state, signal)
    return [] if attempt is None else [attempt_event(ToolStarted, attempt, signal)]


def tool_raised(state: State, signal: ToolRaised, ctx: DecisionContext) -> list[Event]:
    """Record that a tool call ended with an error."""
    attempt = find_attempt(state, signal)
    if attempt is None or signal.key not in state.tasks[signal.task_id].calling:
        return []
    task = state.tasks[signal.task_id]
    return [attempt_event(ToolFailed, attempt, signal, name=task.calling[signal.key])]


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
            options=DOUBT_OPTIONS,
            detail={"key": key, "name": name},
        )
    ]


def on_doubt_answered(state: State, event: EscalationAnswered, ctx: DecisionContext) -> list[Event]:
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
