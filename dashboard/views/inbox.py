"""The inbox: questions with their answers, then members in error and failed tasks."""

from collections.abc import Reversible, Sequence
from dataclasses import replace
from typing import NamedTuple

from dashboard.views.drawing.call_lines import call_cells
from dashboard.views.drawing.rows import Cell, Column, Listing, empty_message, labelled
from dashboard.views.event_log import Entry
from dashboard.views.measures.digest import needs_person
from dashboard.views.words.amounts import clock, countdown, elapsed, pluralize
from dashboard.views.words.filters import parse_partial_filter
from dashboard.views.words.keyed import fill_keys
from dashboard.views.words.names import without_title
from dashboard.views.words.subjects import NeedSubject
from engine.core.events import CommandApplied, EscalationAnswered
from engine.core.queries.people.questions import similar_questions
from engine.core.queries.targets import name_of
from engine.core.records.records import JsonValue
from engine.core.state import Escalation, State, TaskStatus

COLUMNS = (
    Column("ABOUT", 9),
    Column("OF", 14, grow=1, max_width=34, path=True),
    Column("QUESTION OR PROBLEM", 30, grow=9, max_width=100),
    Column("DEFAULT", 18, grow=1, max_width=26, calm=True),
    Column("AGE", 11, right=True, drop=2, calm=True),
    Column("ANSWERS", 30, grow=1, max_width=60, drop=3),
    Column("ASKED", 8, drop=4),
)
_TROUBLES = (*COLUMNS[:3], Column("DEFAULT", 18, drop=1, calm=True), COLUMNS[4])
"""Columns without an open question: the problem gets the width of the columns of questions."""
MIN_QUESTION_WIDTH = 56
"""Minimum characters of a question before optional columns are shown."""
_ABOUT = {
    "ask": "question",
    "approval": "approval",
    "permission": "approval",
    "failure": "a failure",
    "doubt": "a doubt",
    "drain": "a swap",
    "budget": "a budget",
}
MEANINGS: dict[tuple[str, str], str] = {
    ("ask", "reply"): "tells the agent what you write",
    ("approval", "allow_once"): "this call may happen",
    ("approval", "allow_always"): "this and every later call of the tool by this generation of the agent",
    ("approval", "reject_once"): "this call does not happen; the agent is told so",
    ("approval", "reject_always"): "nor does any later one by this generation of the agent",
    ("permission", "allow_once"): "the program may do it",
    ("permission", "allow_always"): "it may do this and everything of the same kind",
    ("permission", "reject_once"): "the program may not do it",
    ("permission", "reject_always"): "it may not do this, nor anything of the same kind",
    ("failure", "retry"): "tries it again; its failure policies start over",
    ("failure", "reject"): "goes on to the next failure policy; without one the task fails",
    ("failure", "skip"): "skips it; tasks that wait for it go on without it",
    ("failure", "use"): "marks it done, with the output that you give",
    ("doubt", "again"): "it did not happen: call the tool again",
    ("doubt", "ran"): "it happened: do not call the tool again; you give its output",
    ("doubt", "fail"): "the task fails",
    ("drain", "wait"): "the attempts end in their own time",
    ("drain", "abort"): "the attempts stop now and begin again on the new generation",
    ("budget", "continue"): "allows the same amount again",
    ("budget", "stop"): "ends it at its next step; what is done is kept",
    ("budget", "fail"): "ends it now, as failed",
}
"""The meaning of an answer, by kind of question and answer."""
WITH_OUTPUT = frozenset({("ask", "reply"), ("failure", "use"), ("doubt", "ran")})
"""Answers that come with an output, by kind of question and answer."""
MAX_SHOWN = 100
"""Questions that are listed for a common answer, each with its call."""


def inbox(state: State, *, now_ms: int, needle: str = "", can_write: bool = True) -> Listing:
    """Return the needs as rows; keys are ids of questions, agents, supervisors and tasks.

    Args:
        can_write: Whether to name keys that change the team.
    """
    every = needs_person(state)
    row_filter = parse_partial_filter(needle)
    keys = row_filter.apply(every, lambda key: need_fields(state, key, now_ms))
    hint = "questions of agents, about failed tasks, tools and budgets appear here"
    empty = empty_message(needle, "", "nothing waits for you", hint)

    def make(key: str) -> tuple[Cell, ...]:
        return _row(state, key, now_ms, can_write=can_write)

    columns = _question_columns(state, alone=len(every) == len(state.escalations)) if state.escalations else _TROUBLES
    return Listing(columns=columns, keys=keys, make=make, empty=empty, total=len(every))


def _question_columns(state: State, *, alone: bool) -> tuple[Column, ...]:
    """Return the columns for open questions, wide enough for the longest question and its default if possible.

    `alone` says that there are no other rows; then the question column is not wider than the longest question.
    """
    about, of, question, default, *rest = COLUMNS
    every = state.escalations.values()
    longest = max(len(escalation.question) for escalation in every)
    # A constant width during the countdown.
    answer = max(len(escalation.default or "") for escalation in every) + len(" in 59 min 59 s")
    max_width = min(max(question.width, longest), question.max_width)
    return (
        about,
        of,
        replace(
            question, width=min(max_width, MIN_QUESTION_WIDTH), max_width=max_width if alone else question.max_width
        ),
        replace(default, width=min(max(default.width, answer), default.max_width)),
        *rest,
    )


def need_fields(state: State, key: str, now_ms: int) -> NeedSubject:
    """Return the filter subject of a row."""
    return NeedSubject(state, key, [cell.text for cell in _row(state, key, now_ms)], now_ms)


def _row(state: State, key: str, now_ms: int, *, can_write: bool = True) -> tuple[Cell, ...]:
    escalation = state.escalations.get(key)
    if escalation is not None:
        return (
            Cell(_ABOUT.get(escalation.kind, escalation.kind), "attention"),
            Cell(subject_name(state, escalation), "strong"),
            Cell(escalation.question),
            Cell(default_text(escalation, now_ms), "draining" if escalation.due_ms is not None else "muted"),
            Cell(elapsed(now_ms - escalation.asked_ms), "muted", rank=-escalation.asked_ms),
            Cell(" · ".join(escalation.options), "muted"),
            Cell(clock(escalation.asked_ms), "muted", rank=escalation.asked_ms),
        )
    broken, failed = state.agents.get(key), state.supervisors.get(key)
    if broken is not None:
        problem = f"cannot work: {broken.error}"
        keys = fill_keys("<swap:h> swap · <pause or resume:z> resume") if can_write else ""
        return (Cell("an agent", "error"), Cell(broken.name, "strong"), Cell(problem), *_key_cells(keys))
    if failed is not None:
        keys = fill_keys("<pause or resume:z> resume") if can_write else ""
        return (Cell("a team", "error"), Cell(failed.name, "strong"), Cell(str(failed.error)), *_key_cells(keys))
    task = state.tasks.get(key)
    if task is None:
        return (Cell("settled", "muted"),)
    in_doubt = task.status is TaskStatus.IN_DOUBT
    problem = (
        "in doubt: it may have run before the engine ended"
        if in_doubt
        else f"has failed: {without_title(task.error or 'no message', task.title)}"
    )
    return (
        Cell("a task", "error"),
        Cell(task.title, "strong"),
        Cell(problem),
        *_key_cells(fill_keys("<retry:r> retry") if can_write else "", task.ended_ms, now_ms),
    )


def _key_cells(keys: str, since_ms: int | None = None, now_ms: int = 0) -> tuple[Cell, ...]:
    age = elapsed(now_ms - since_ms) if since_ms is not None else ""
    return (Cell(keys, "muted"), Cell(age, "muted", rank=None if since_ms is None else -since_ms))


def default_text(escalation: Escalation, now_ms: int) -> str:
    """Return the default answer of a question, and the time until it applies."""
    if escalation.left_ms is not None:
        return f"{escalation.default}, {countdown(escalation.left_ms)} after its run is resumed"
    if escalation.due_ms is None or escalation.default is None:
        return "waits for you"
    return f"{escalation.default} in {countdown(escalation.due_ms - now_ms)}"


def subject_name(state: State, escalation: Escalation) -> str:
    """Return the name of a question's subject."""
    task, run = state.tasks.get(escalation.subject), state.runs.get(escalation.subject)
    if task is not None or run is not None:
        return task.title if task is not None else run.title if run is not None else ""
    return name_of(state, escalation.subject)


def question_of(state: State, target: str) -> Escalation | None:
    """Return a question by its id, or by that of its subject."""
    an_id = target.removeprefix("@")
    escalation = state.escalations.get(an_id)
    return escalation or next(
        (escalation for escalation in state.escalations.values() if escalation.subject == an_id), None
    )


class SettledQuestion(NamedTuple):
    """The answer of a settled question."""

    sender: str
    """Who answered; empty if unknown."""
    answer: str
    output: JsonValue
    at_ms: int

    def describe(self, now_ms: int) -> str:
        """Describe the answer."""
        by = f"answered by {self.sender}" if self.sender else "answered"
        suffix = f": {self.output}" if isinstance(self.output, str) and self.output else ""
        return f"{by} {elapsed(now_ms - self.at_ms) or '0 s'} ago with {self.answer}{suffix}"


def find_settled(recent: Reversible[Entry], question_id: str) -> SettledQuestion | None:
    """Return the answer of a question from the newest events; None if they do not have it."""
    sender = ""
    for entry in reversed(recent):
        event = entry.event
        if isinstance(event, CommandApplied) and question_id in _answered_by(event):
            sender = event.sender
        elif isinstance(event, EscalationAnswered) and event.escalation_id == question_id:
            without_answer = {"default": "the default, as no answer came in time", "grant": "what was granted before"}
            return SettledQuestion(without_answer.get(event.by, sender), event.answer, event.output, entry.at_ms)
    return None


def _answered_by(event: CommandApplied) -> Sequence[JsonValue]:
    answered_ids = event.result.get("answered") if event.command == "answer" else None
    return answered_ids if isinstance(answered_ids, list) else ()


def common_answers(escalations: Sequence[Escalation]) -> list[str]:
    """Return the answers that all of these questions accept, in the order of the first question."""
    if not escalations:
        return []
    return [option for option in escalations[0].options if all(option in other.options for other in escalations)]


def several_lines(state: State, ids: Sequence[str], recent: Reversible[Entry], now_ms: int) -> list[Cell]:
    """Return the lines of several questions; for a settled one, its answer."""
    cells = []
    for question_id in ids[:MAX_SHOWN]:
        escalation = state.escalations.get(question_id)
        if escalation is not None:
            kind = _ABOUT.get(escalation.kind, escalation.kind)
            text = f"{kind} · {subject_name(state, escalation)} · {escalation.question}"
            cells.append(labelled(question_id, text))
            cells += call_cells(escalation)
        else:
            was = find_settled(recent, question_id)
            cells.append(
                labelled(question_id, was.describe(now_ms) if was is not None else "is no longer open", "muted")
            )
    more = len(ids) - MAX_SHOWN
    return [*cells, Cell(f"and {pluralize(more, 'more question')}", "muted")] if more > 0 else cells


def place_of(state: State, key: str) -> str:
    """Return the screen of a need."""
    if key in state.escalations or key in state.supervisors:
        return "inbox"
    return "agents" if key in state.agents else "tasks"


def question_lines(state: State, escalation: Escalation, now_ms: int) -> Sequence[Cell]:
    """Return a question in full: its subject, similar questions, and its default."""
    lines = [Cell(escalation.question, "strong"), *call_cells(escalation)]
    task = state.tasks.get(escalation.subject)
    if task is not None:
        agent = state.agents.get(task.agent_id or task.worker_id or "")
        tried = [state.agents[agent_id].name for agent_id in task.failed_on if agent_id in state.agents]
        lines.append(labelled("task", f"{task.title} ({task.id}) of {_run_title(state, task.run_id)}"))
        agent_name = agent.name if agent is not None else "–"
        lines.append(labelled("agent", f"{agent_name}, {pluralize(task.attempts, 'attempt')}"))
        if len(tried) > 1:
            lines.append(labelled("failed on", ", ".join(tried)))
        if task.error:
            lines.append(labelled("error", task.error, "warn"))
        if task.steps:
            lines.append(labelled("steps", f"{len(task.steps)} finished, and kept"))
        if task.before:
            lines.append(
                labelled(
                    "before", ", ".join(state.tasks[task_id].title for task_id in task.before if task_id in state.tasks)
                )
            )
    lines.append(
        labelled("asked", f"{clock(escalation.asked_ms)}, {elapsed(now_ms - escalation.asked_ms) or '0 s'} ago")
    )
    if (others := len(similar_questions(state, escalation)) - 1) > 0:
        lines.append(labelled("alike", f"{pluralize(others, 'more question')}; ctrl+a answers all at once"))
    lines.append(
        labelled("default", default_text(escalation, now_ms), "draining" if escalation.due_ms is not None else "")
    )
    return lines


def _run_title(state: State, run_id: str) -> str:
    run = state.runs.get(run_id)
    return f"run {run_id}, {run.title}" if run is not None else f"run {run_id}"
