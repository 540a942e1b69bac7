"""What attempts ask a person: asked once for each key, answered, given up. Why a tool may be called without asking.

The answer is kept like the output of a step, under the key of what asked: an attempt that asks again, also one after a
crash, finds the question that is open, or its answer. What a task asked ends with the task (`fold.ending`).
"""

from engine.core.context import Context
from engine.core.decide.attempts import live
from engine.core.decide.escalations import REPLY
from engine.core.events import Event, QuestionWithdrawn
from engine.core.outcomes import ask
from engine.core.prompts import Answered
from engine.core.signals import AskGivenUp, PersonAsked
from engine.core.state import State

ALLOW_ONCE, ALLOW_ALWAYS, REJECT_ONCE, REJECT_ALWAYS = "allow_once", "allow_always", "reject_once", "reject_always"
ALLOWS = frozenset({ALLOW_ONCE, ALLOW_ALWAYS})
"""Answers that let a tool be called, or a program do what it asks."""


def person_asked(state: State, signal: PersonAsked, ctx: Context) -> list[Event]:
    """Ask a person, unless that was asked or answered already."""
    found = live(state, signal)
    if found is None or found[1].agent_id is None or found[1].stopping not in (None, "migrate"):
        return []
    task, attempt = found
    if signal.key in task.steps or signal.key in task.asks:
        return []
    detail = {**signal.detail, "key": signal.key, "generation": attempt.generation}
    if signal.options:
        default = signal.default
    else:
        default = None if signal.default is None else REPLY
        detail |= {} if signal.default is None else {"output": signal.default}
    return [
        ask(
            state,
            ctx,
            kind=signal.kind,
            subject=task.id,
            run_id=task.run_id,
            question=signal.question,
            options=signal.options or [REPLY],
            default=default,
            after_ms=None if signal.due_s is None else max(1, round(signal.due_s * 1000)),
            detail=detail,
        )
    ]


def given_up(state: State, signal: AskGivenUp, ctx: Context) -> list[Event]:
    """Ask nobody any more what an attempt does not wait for."""
    found = live(state, signal)
    if found is None or signal.key not in found[0].asks:
        return []
    task, attempt = found
    return [
        QuestionWithdrawn(
            task_id=task.id,
            attempt=attempt.number,
            agent_id=attempt.agent_id,
            escalation_id=task.asks[signal.key],
            key=signal.key,
        )
    ]


def replied(state: State, prompt: Answered, ctx: Context) -> list[Event]:
    """Let nothing follow from a reply: the attempt that asked has it."""
    return []
