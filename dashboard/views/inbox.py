"""The inbox: questions with their answers, then members in error and failed tasks."""

import json
from collections.abc import Callable, Iterator, Reversible, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, NamedTuple

from dashboard.views.answers import answer_choices, answer_label
from dashboard.views.drawing.call_lines import call_cells
from dashboard.views.drawing.facts import to_cell, to_cells
from dashboard.views.drawing.rows import (
    EMPTY,
    Cell,
    Column,
    Listing,
    empty_message,
    labelled_cell,
    make_cells,
    visible_columns,
)
from dashboard.views.event_log import Entry
from dashboard.views.facts.task import past_facts
from dashboard.views.measures.digest import Digest
from dashboard.views.words.amounts import ago, clock, countdown, elapsed, moment, pluralize, spent_text
from dashboard.views.words.filters import parse_partial_filter
from dashboard.views.words.keyed import fill_keys
from dashboard.views.words.names import without_title
from dashboard.views.words.subjects import NeedSubject
from engine.core.events import CommandApplied, EscalationAnswered
from engine.core.queries.people.needs import Reach, needs_person, reach_of
from engine.core.queries.people.questions import similar_questions
from engine.core.queries.targets import name_of
from engine.core.records.records import JsonValue
from engine.core.state import Agent, Escalation, State, Task

_ABOUT = {
    "ask": "question",
    "approval": "approval",
    "permission": "approval",
    "failure": "a failure",
    "doubt": "a doubt",
    "drain": "a swap",
    "discover": "new agent",
    "nobody": "work for nobody",
    "budget": "a budget",
}
MAX_SHOWN = 100
"""Questions that are listed for a common answer, each with its call."""


class NeedRow(NamedTuple):
    """What waits for a person: a question, or a problem with the keys that help."""

    about: Cell
    key: str = ""
    asker: str = ""
    text: str = ""
    default: Cell = EMPTY
    since_ms: int | None = None
    now_ms: int = 0
    options: Sequence[str] | None = None
    """The answers of a question; None for a problem."""
    said: str = ""
    """The last words of the agent."""


def _age_cell(row: NeedRow) -> Cell:
    if row.since_ms is None:
        return EMPTY
    return Cell(elapsed(row.now_ms - row.since_ms), "muted", rank=-row.since_ms)


def _asked_cell(row: NeedRow) -> Cell:
    if row.since_ms is None or row.options is None:
        return EMPTY
    return Cell(moment(row.since_ms, row.now_ms), "muted", rank=row.since_ms)


MIN_QUESTION_WIDTH = 56
"""Minimum characters of a question before optional columns are shown."""
_QUESTION_WIDTH, _MAX_QUESTION_WIDTH = 30, 160
_NO_DEFAULT = "waits for you"
_RUN_IS_PAUSED = "its run is paused"
_MAX_DEFAULT_WIDTH = 26
_HELP_WIDTH = len("h swap · ctrl+d stop")
COLUMNS: tuple[Column[NeedRow, Any], ...] = (
    Column("ID", shell_rank=1, meaning="its id in commands", cell=lambda row: Cell(row.key)),
    Column("ABOUT", 9, shell_rank=2, cell=lambda row: row.about,
           meaning="what kind of thing needs you: a question, a failure, a doubt, an approval"),
    Column("FROM", 14, grow=2, max_width=34, path=True, shell_rank=2, meaning="who asks, or has the problem",
           cell=lambda row: Cell(row.asker, "strong")),
    Column("QUESTION OR PROBLEM", _QUESTION_WIDTH, grow=9, max_width=_MAX_QUESTION_WIDTH, shell_rank=9,
           meaning="the question, or the problem", cell=lambda row: Cell(row.text)),
    Column("DEFAULT", len(_NO_DEFAULT), grow=1, max_width=_MAX_DEFAULT_WIDTH, calm=True,
           meaning="what happens without an answer in time", cell=lambda row: row.default),
    Column("AGE", 11, right=True, drop=2, calm=True, shell_rank=0, meaning="how long it has been waiting for you",
           cell=_age_cell),
    Column("SAID BEFORE", 20, grow=1, max_width=70, drop=3, meaning="what the agent said before it asked or failed",
           cell=lambda row: Cell(row.said, "muted")),
    Column("ANSWERS", shell_rank=4, meaning="what can be answered",
           cell=lambda row: Cell(" · ".join(row.options or ()))),
    Column("ASKED", shell_rank=3, meaning="when the question was asked", cell=_asked_cell),
)  # fmt: skip


def inbox(
    state: State,
    counts: Digest | None = None,
    *,
    now_ms: int,
    needle: str = "",
    can_write: bool = True,
    said: Callable[[str], str] = lambda key: "",
) -> Listing:
    """Return the needs as rows; keys are ids of questions, agents, supervisors and tasks.

    Args:
        counts: What agents do, from which stuck ones are known.
        can_write: Whether to name keys that change the team.
        said: Returns the last words about a need.
    """
    every = needs_person(state) if counts is None else counts.needs_person
    row_filter = parse_partial_filter(needle)
    keys = row_filter.apply(every, lambda key: need_fields(state, key, now_ms, counts))
    hint = "questions of agents, about failed tasks, tools and budgets appear here"
    empty = empty_message(needle, "", "nothing waits for you", hint)
    columns = _question_columns(state, now_ms, alone=len(every) == len(state.escalations))

    def make(key: str) -> tuple[Cell, ...]:
        row = need_row(state, key, now_ms, counts, can_write=can_write)
        return make_cells(columns, row._replace(said=" ".join(said(key).split())))

    return Listing(columns=columns, keys=keys, make=make, empty=empty, total=len(every))


def _question_columns(state: State, now_ms: int, *, alone: bool) -> tuple[Column[NeedRow, Any], ...]:
    """Return the columns, wide enough for the longest question and its default if possible.

    `alone` says that there are no other rows; then the question column is not wider than the longest question. Without
    an open question the problem gets the width of the columns of questions.
    """
    every = state.escalations.values()
    if not every:
        columns = visible_columns(COLUMNS, {"DEFAULT": (_HELP_WIDTH, _HELP_WIDTH)})
        return tuple(replace(column, drop=1) if column.title == "DEFAULT" else column for column in columns)
    longest = max(len(question_text(escalation)) for escalation in every)
    # A constant width during the countdown.
    answer = max(len(f"{each.default} in 59 min 59 s" if each.default is not None else _NO_DEFAULT) for each in every)
    question_width = min(max(_QUESTION_WIDTH, longest), _MAX_QUESTION_WIDTH)
    widths = {
        "QUESTION OR PROBLEM": (
            min(question_width, MIN_QUESTION_WIDTH),
            question_width if alone else _MAX_QUESTION_WIDTH,
        ),
        "DEFAULT": (min(max(answer, 0 if alone else _HELP_WIDTH), _MAX_DEFAULT_WIDTH), _MAX_DEFAULT_WIDTH),
    }
    return visible_columns(COLUMNS, widths)


def need_fields(state: State, key: str, now_ms: int, counts: Digest | None = None) -> NeedSubject:
    """Return the filter subject of a row."""
    cells = make_cells(visible_columns(COLUMNS), need_row(state, key, now_ms, counts))
    return NeedSubject(state, key, [cell.text for cell in cells], now_ms)


def need_row(state: State, key: str, now_ms: int, counts: Digest | None = None, *, can_write: bool = True) -> NeedRow:
    """Return the row of a question, a member in trouble or a failed task; with the keys that help if it `can_write`."""
    escalation = state.escalations.get(key)
    if escalation is not None:
        return NeedRow(
            Cell(_ABOUT.get(escalation.kind, escalation.kind), "attention"),
            key,
            asker_name(state, escalation),
            question_text(escalation) + (f" ({_RUN_IS_PAUSED})" if _is_run_paused(state, escalation) else ""),
            Cell(default_text(escalation, now_ms), "draining" if escalation.due_ms is not None else "muted"),
            escalation.asked_ms,
            now_ms,
            [choice.label for choice in answer_choices([escalation])],
        )

    def problem(noun: str, name: str, text: str, keys: str, since_ms: int | None = None) -> NeedRow:
        help_cell = Cell(fill_keys(keys) if can_write else "", "muted")
        return NeedRow(Cell(noun, "error"), key, name, text, help_cell, since_ms, now_ms)

    if (agent := state.agents.get(key)) is not None:
        name, keys = full_name(state, agent), "<swap:h> swap · <pause or resume:z> resume"
        if agent.error is None:
            stuck = counts.activities.of_agent(agent) if counts is not None else None
            words, since_ms = (stuck.words, stuck.since_ms) if stuck is not None else ("", None)
            return problem("an agent", name, f"is stuck: {words}", "<swap:h> swap · <cancel:ctrl+d> stop", since_ms)
        return problem("an agent", name, f"cannot work: {agent.error}", keys)
    if (supervisor := state.supervisors.get(key)) is not None:
        return problem("a team", supervisor.name, str(supervisor.error), "<pause or resume:z> resume")
    task = state.tasks.get(key)
    if task is None:
        return NeedRow(Cell("settled", "muted"))
    text = f"{task.title} has failed: {without_title(task.error or 'no message', task.title)}"
    return problem("a task", asker_of_task(state, task), text, "<retry:r> retry", task.ended_ms)


def _is_run_paused(state: State, escalation: Escalation) -> bool:
    run = state.runs.get(escalation.run_id or "")
    return run is not None and run.paused


def question_text(escalation: Escalation) -> str:
    """Return a question with what has to be decided first: the call, or the amounts of a budget."""
    detail = escalation.detail
    if escalation.kind == "budget" and {"amount", "spent", "limit"} <= detail.keys():
        name, spent, limit = str(detail["amount"]), Decimal(str(detail["spent"])), Decimal(str(detail["limit"]))
        text = spent_text(spent, limit, name)
        return f"{text} spent" + ("; the next call does not fit" if spent < limit else "") + ": may it continue?"
    arguments = detail.get("arguments")
    if escalation.kind != "approval" or not isinstance(arguments, dict):
        return escalation.question
    values = ", ".join(f"{name} {json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items())
    return f"{_headline(escalation)} {values}"


def _headline(escalation: Escalation) -> str:
    """Return a question without the arguments of its call, which stand below it."""
    has_arguments = escalation.kind == "approval" and isinstance(escalation.detail.get("arguments"), dict)
    return f"may it call {escalation.detail['tool']}?" if has_arguments else escalation.question


def default_text(escalation: Escalation, now_ms: int) -> str:
    """Return the default answer of a question, and the time until it applies."""
    if escalation.left_ms is not None:
        return f"{escalation.default}, {countdown(escalation.left_ms)} after its run is resumed"
    if escalation.due_ms is None or escalation.default is None:
        return _NO_DEFAULT
    return f"{escalation.default} in {countdown(escalation.due_ms - now_ms)}"


def full_name(state: State, agent: Agent) -> str:
    """Return the name of an agent, with its team where there are several."""
    team = state.supervisors[agent.supervisor_id]
    return f"{team.name}/{agent.name}" if len(state.supervisors) > 1 else agent.name


def asker_of_task(state: State, task: Task) -> str:
    """Return the name of the agent of a task; without one that of its team."""
    agent = state.agents.get(task.agent_id or "")
    return full_name(state, agent) if agent is not None else name_of(state, task.supervisor_id)


def asker_name(state: State, escalation: Escalation) -> str:
    """Return who asks: an agent, or the subject of a question about a run or a member."""
    if (task := state.tasks.get(escalation.subject)) is not None:
        return asker_of_task(state, task)
    agent = state.agents.get(escalation.subject)
    return full_name(state, agent) if agent is not None else subject_name(state, escalation)


def task_of_need(state: State, key: str) -> Task | None:
    """Return the task that a need is about: of a question, a failed one, or what a stuck agent is at."""
    question = state.escalations.get(key)
    subject = key if question is None else question.subject
    agent = state.agents.get(subject)
    return state.tasks.get(next(iter({**agent.running, **agent.parked}), "") if agent is not None else subject)


def earlier_answers(state: State, agent_id: str | None, recent: Reversible[Entry], now_ms: int) -> Iterator[Cell]:
    """Yield how earlier questions about the work of an agent were answered, the newest first."""
    for entry in reversed(recent):
        event = entry.event
        if isinstance(event, EscalationAnswered):
            task = state.tasks.get(event.subject)
            if task is not None and task.agent_id == agent_id:
                name = str(event.detail.get("tool") or _ABOUT.get(event.kind, event.kind))
                answer = f"{answer_label(event.answer)}{f': {event.output}' if event.output is not None else ''}"
                yield labelled_cell(name, f"{answer}, {ago(now_ms - entry.at_ms)}", "muted")


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
        if isinstance(event, CommandApplied) and question_id in _read_answered_ids(event):
            sender = event.sender
        elif isinstance(event, EscalationAnswered) and event.escalation_id == question_id:
            without_answer = {"default": "the default, as no answer came in time", "grant": "what was granted before"}
            return SettledQuestion(without_answer.get(event.by, sender), event.answer, event.output, entry.at_ms)
    return None


def _read_answered_ids(event: CommandApplied) -> Sequence[JsonValue]:
    answered_ids = event.result.get("answered") if event.command == "answer" else None
    return answered_ids if isinstance(answered_ids, list) else ()


def several_lines(state: State, ids: Sequence[str], recent: Reversible[Entry], now_ms: int) -> list[Cell]:
    """Return the lines of several questions; for a settled one, its answer."""
    cells = []
    for question_id in ids[:MAX_SHOWN]:
        escalation = state.escalations.get(question_id)
        if escalation is not None:
            kind = _ABOUT.get(escalation.kind, escalation.kind)
            text = f"{kind} · {asker_name(state, escalation)} · {_headline(escalation)}"
            cells.append(labelled_cell(question_id, text))
            cells += call_cells(escalation)
        else:
            was = find_settled(recent, question_id)
            cells.append(
                labelled_cell(question_id, was.describe(now_ms) if was is not None else "is no longer open", "muted")
            )
    more = len(ids) - MAX_SHOWN
    return [*cells, Cell(f"and {pluralize(more, 'more question')}", "muted")] if more > 0 else cells


def place_of(state: State, key: str) -> str:
    """Return the screen of a need."""
    if key in state.escalations or key in state.supervisors:
        return "inbox"
    return "agents" if key in state.agents else "tasks"


_REACH_WORDS: dict[Reach, str] = {
    "team": "all work of the team",
    "run": "the run",
    "agent": "the work of the agent",
    "task": "the task",
    "nothing": "nothing",
}


def question_lines(state: State, escalation: Escalation, now_ms: int, said: str = "") -> Sequence[Cell]:
    """Return a question in full: its subject, the call, what its agent `said` before, similar questions, its default.

    Args:
        said: The last words of the agent, from `facts.last_words`.
    """
    lines = [Cell(_headline(escalation), "strong"), *call_cells(escalation)]
    if said:
        lines.append(labelled_cell("it said", said))
    lines.append(labelled_cell("holds back", _REACH_WORDS[reach_of(state, escalation.id)]))
    if _is_run_paused(state, escalation):
        lines.append(labelled_cell("besides", f"{_RUN_IS_PAUSED}, and goes on once it is resumed", "warn"))
    task = state.tasks.get(escalation.subject)
    if task is not None:
        facts = {fact.label: fact for fact in past_facts(state, task, now_ms=now_ms)}
        lines.append(labelled_cell("task", f"{task.title} ({task.id}) of run {facts['run'].text}"))
        lines.append(to_cell("work", [facts[label] for label in ("agent", "attempts", "failed on") if label in facts]))
        lines += to_cells([facts[label] for label in ("error", "steps", "before") if label in facts])
    lines.append(
        labelled_cell("asked", f"{clock(escalation.asked_ms)}, {elapsed(now_ms - escalation.asked_ms) or '0 s'} ago")
    )
    if (others := len(similar_questions(state, escalation)) - 1) > 0:
        lines.append(labelled_cell("alike", f"{pluralize(others, 'more question')}; ctrl+a answers all at once"))
    lines.append(
        labelled_cell("default", default_text(escalation, now_ms), "draining" if escalation.due_ms is not None else "")
    )
    return lines
