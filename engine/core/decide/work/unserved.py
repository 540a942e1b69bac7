"""Decides on work that nobody may take as things stand: a person is asked, once for each queue, what becomes of it.

The task stays in its queue: somebody who comes takes it at once, and the question is withdrawn. An answer holds for all
tasks of the queue.
"""

from collections.abc import Iterator

from engine.core.decide.teams.leaving import requeue_event
from engine.core.decide.work.attempts import stop
from engine.core.decide.work.dispatch import find_other_place
from engine.core.decisions.decision_context import DecisionContext
from engine.core.decisions.outcomes import Mint, ask
from engine.core.events import EscalationAnswered, Event, QuestionWithdrawn, TaskFailed, TaskReassigned
from engine.core.followups import CheckUnserved
from engine.core.queries.work.placement import stand_ins
from engine.core.queries.work.queues import own_queue
from engine.core.queries.work.unserved import (
    describe_lack,
    has_taker,
    queue_of,
    unserved_queues,
    unserved_tasks,
)
from engine.core.records.records import copy_with
from engine.core.records.values import pluralize
from engine.core.state import NOBODY, Agent, Escalation, Queue, State, Task

NOBODY_OPTIONS = ["wait", "retry", "fail"]
"""Answers: wait for somebody, look for somebody again, fail the tasks."""


def check_unserved(state: State, followup: CheckUnserved, ctx: DecisionContext) -> list[Event]:
    """Withdraw questions whose work somebody may take or that waits no more, and ask about what nobody may take."""
    events: list[Event] = []
    asked: set[str] = set()
    for question in [question for question in state.escalations.values() if question.kind == NOBODY]:
        key = queue_of(state, question)
        if key in state.queues and key not in asked and not has_taker(state, state.queues[key]):
            asked.add(key)
        else:
            events.append(_withdrawal(state, question))
    mint = Mint(state)
    for queue in unserved_queues(state, of_leaving=followup.of_leaving):
        if queue.key not in asked and not queue.patient:
            asked.add(queue.key)
            events.append(_question(state, queue, ctx, mint))
    return events


def _withdrawal(state: State, question: Escalation) -> Event:
    task = state.tasks[question.subject]
    return QuestionWithdrawn(
        task_id=task.id, attempt=task.attempts, agent_id=None, escalation_id=question.id, key=NOBODY
    )


def _question(state: State, queue: Queue, ctx: DecisionContext, mint: Mint) -> Event:
    first, *others = unserved_tasks(state, queue)
    more = f" and {pluralize(len(others), 'other task')}" if others else ""
    waits, them = ("wait", "them") if others else ("waits", "it")
    return ask(
        state,
        ctx,
        kind=NOBODY,
        subject=first.id,
        run_id=first.run_id,
        question=(
            f"{first.title}{more} {waits}, and nobody may take {them}: {describe_lack(state, queue)}; "
            f"what should happen to {them}?"
        ),
        options=NOBODY_OPTIONS,
        detail={"tasks": 1 + len(others)},
        mint=mint,
    )


def on_nobody_answered(state: State, event: EscalationAnswered, ctx: DecisionContext) -> list[Event]:
    """Carry out the answer for all tasks that wait in the same queue; one that finds nobody again is asked again."""
    task = state.tasks.get(event.subject)
    queue = None if task is None or task.ended else _queue_with(state, task)
    if queue is None or event.answer == "wait" or has_taker(state, queue):
        return []
    tasks, reason = unserved_tasks(state, queue), f"nobody may take it: {describe_lack(state, queue)}"
    if event.answer == "fail":
        return [_failure_event(state, task, f"{reason}; a person let it fail") for task in tasks]
    return [move for task in tasks for move in _moves(state, task, queue, reason)]


def _queue_with(state: State, task: Task) -> Queue | None:
    attempt = task.attempt
    return state.queues.get(own_queue(attempt.agent_id or "") if attempt is not None else task.queue or "")


def _failure_event(state: State, task: Task, error: str) -> Event:
    """Return the event that fails a task; a parked attempt has to stop first."""
    if task.attempt is None:
        return TaskFailed(task_id=task.id, error=error)
    return copy_with(stop(state, task, error), failed=True)


def _moves(state: State, task: Task, queue: Queue, reason: str) -> Iterator[Event]:
    """Yield the events that give a task to somebody else; none if there is nobody."""
    if task.attempt is None and (place := find_other_place(state, task, queue)) is not None and place.queue is not None:
        if place.queue_event is not None:
            yield place.queue_event
        if place.queue != queue.key:
            yield requeue_event(task, place.queue, reason)
        return
    other: Agent | None = next(stand_ins(state, task), None)
    if other is None:
        return
    if task.attempt is None:
        yield requeue_event(task, own_queue(other.id), f"{reason}; {other.name} takes over")
        return
    yield TaskReassigned(
        task_id=task.id, agent_id=other.id, supervisor_id=other.supervisor_id, stopping=task.attempt.number
    )
