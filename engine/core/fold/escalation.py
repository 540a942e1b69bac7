"""Fold: escalations, and tool calls that have begun."""

from engine.core import events
from engine.core.fold.completion import withdraw
from engine.core.fold.queues import dequeue, enqueue, is_ready
from engine.core.fold.timers import drop_timer, note_id, set_timer
from engine.core.fold.times import count_time
from engine.core.queries.work.queues import own_queue
from engine.core.records.shared import drop, put
from engine.core.records.values import stored_value
from engine.core.state import NOBODY, OF_ATTEMPTS, Escalation, State, Task, TaskStatus


def doubt(state: State, task: Task) -> None:
    """Put a task in doubt: one of its tool calls may or may not have happened."""
    dequeue(state, task)
    task.status = TaskStatus.IN_DOUBT


def start_clock(state: State, question: Escalation) -> None:
    """Set the timer after which a question gets its default answer; it is stopped while the run is paused."""
    run = state.runs.get(question.run_id or "")
    if question.left_ms is not None:
        question.due_ms, question.left_ms = state.at_ms + question.left_ms, None
    if question.due_ms is not None and run is not None and run.paused:
        question.left_ms, question.due_ms = max(0, question.due_ms - state.at_ms), None
        drop_timer(state, "escalation", question.id)
    elif question.due_ms is not None:
        set_timer(state, "escalation", question.id, question.due_ms)


def start_clocks(state: State, run_id: str) -> None:
    """Stop or start the timers of the questions of a run that was paused or resumed."""
    for question in state.escalations.values():
        if question.run_id == run_id:
            start_clock(state, question)


def _tool_started(state: State, event: events.ToolStarted) -> None:
    task = state.tasks[event.task_id]
    task.calling = put(task.calling, event.key, event.name)


def _tool_failed(state: State, event: events.ToolFailed) -> None:
    task = state.tasks[event.task_id]
    task.calling = drop(task.calling, event.key)


def _doubt_settled(state: State, event: events.DoubtSettled) -> None:
    task = state.tasks[event.task_id]
    count_time(state, task)
    task.calling = drop(task.calling, event.key)
    task.status = TaskStatus.WAITING
    if is_ready(task):
        enqueue(state, task, again=True)


def _escalated(state: State, event: events.Escalated) -> None:
    note_id(state, event.escalation_id)
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
    drop_timer(state, event.kind, event.subject)  # the timer that caused the question, for example `drain`
    start_clock(state, state.escalations[event.escalation_id])
    task = state.tasks.get(event.subject)
    if task is not None:
        count_time(state, task)
    if task is not None and event.kind in OF_ATTEMPTS:
        task.asks = put(task.asks, str(event.detail["key"]), event.escalation_id)
    elif task is not None and event.kind == NOBODY:
        task.nobody_id = event.escalation_id
    elif task is not None:
        task.escalation_id = task.escalation_id or event.escalation_id
        if event.kind == "doubt":
            doubt(state, task)


def _escalation_answered(state: State, event: events.EscalationAnswered) -> None:
    task = state.tasks.get(event.subject)
    if task is not None:
        count_time(state, task)
    withdraw(state, event.escalation_id)
    if task is not None and event.kind == NOBODY:
        _wait_on(state, task, event.answer)
    elif task is not None and event.kind in OF_ATTEMPTS:
        # Code of others acts on the answer by itself: of one that holds for a while it learns only about this call.
        choice = event.answer.replace("_always", "_once") if event.scope or event.where else event.answer
        answer, path = (choice, "answer") if event.output is None else (event.output, "output")
        task.steps = put(task.steps, str(event.detail["key"]), stored_value(answer, state.seq, path))
    elif task is not None and event.answer == "use":
        task.output = stored_value(event.output, state.seq, "output")
    elif task is not None and event.kind == "doubt" and event.answer == "ran":
        task.steps = put(task.steps, str(event.detail["key"]), stored_value(event.output, state.seq, "output"))


def _wait_on(state: State, task: Task, answer: str) -> None:
    """Note for the queue of a task that nobody may take whether a person chose to wait."""
    agent_id = None if task.attempt is None else task.attempt.agent_id
    queue = state.queues.get(task.queue or "" if agent_id is None else own_queue(agent_id))
    if queue is not None:
        queue.patient = answer == "wait"


def _question_withdrawn(state: State, event: events.QuestionWithdrawn) -> None:
    if (task := state.tasks.get(state.escalations[event.escalation_id].subject)) is not None:
        count_time(state, task)
    withdraw(state, event.escalation_id)
