"""The pane below a table, with details of the row under the cursor. Pure."""

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from dashboard.views.answers import MAX_DIGIT, AnswerChoice, answer_choices
from dashboard.views.drawing.facts import to_cells
from dashboard.views.drawing.lines import BLANK, Line, Span, cut, hairline, indent, pad
from dashboard.views.drawing.prose import prose
from dashboard.views.drawing.rows import Cell
from dashboard.views.drawing.sections import EDGE_WIDTH, Section, draw_side_by_side, wrap_beginning, wrap_end
from dashboard.views.facts.agent_says import latest_output
from dashboard.views.facts.ended import EndedTask
from dashboard.views.facts.last_words import last_words
from dashboard.views.facts.run_page import run_lines
from dashboard.views.facts.run_times import finished_times
from dashboard.views.facts.run_work import Census, at_work_lines, ended_lines, waiting_lines
from dashboard.views.facts.steps import words_now
from dashboard.views.facts.task import task_facts
from dashboard.views.facts.task_page import child_lines, task_lines
from dashboard.views.inbox import earlier_answers, question_lines, task_of_need
from dashboard.views.view_state import ViewState
from dashboard.views.words.names import JournalTexts
from dashboard.views.words.subjects import worker_name
from engine.core.state import Task

_LABEL = 12
_MAX_WIDTH = 120
"""Maximum width of prose: longer lines are hard to read."""
_MAX_LINES = 8
"""Lines of one paragraph."""
_MAX_ANSWERS = 5
"""Earlier answers to the same agent that are shown."""
_TWO_COLUMN_MIN_WIDTH = 160
"""Width of a pane from which on a need and the conversation before it stand beside each other."""
_MAX_WORDS_LINES = 4
"""Lines of what the agent of one task says now."""
_MAX_OUTPUT_CHARACTERS = 4_000
"""Characters of an output, from its start."""


class RowDetails(NamedTuple):
    """The title and the lines of the pane; without a title the first line is its hairline."""

    title: str
    lines: Sequence[Line]
    right: str = "enter opens it"
    """Text at the right end of its hairline."""


def draw_details(more: RowDetails, width: int) -> list[Line]:
    """Return the pane with its hairline, unless its lines begin with their own."""
    if not more.title:
        return [*more.lines]
    return [hairline(more.title, width, right=more.right), *more.lines]


def need_columns(width: int) -> tuple[int, int]:
    """Return the widths of the texts of a need and of the conversation beside it; 0 if that stands below it."""
    half = width // 2
    return (half - EDGE_WIDTH, width - half - EDGE_WIDTH) if width >= _TWO_COLUMN_MIN_WIDTH else (width, 0)


def describe_need(
    view: ViewState, key: str, texts: JournalTexts, earlier: Sequence[Line], width: int, height: int
) -> RowDetails | None:
    """Return a question with its answers, or the problem of a team or a task, and what was said and done in its task.

    Args:
        view: What is shown.
        key: Id of the need.
        texts: Texts of the journal.
        earlier: What was said and done up to now.
        width: In cells.
        height: In lines.
    """
    state, now_ms = view.state, view.now_ms
    escalation, task = state.escalations.get(key), task_of_need(state, key)
    if (supervisor := state.supervisors.get(key)) is not None:
        problem = Cell(supervisor.error or "works again", "error")
        return RowDetails(supervisor.name, labelled_paragraphs([problem], width))
    if escalation is None:
        return describe_task(view, key, None, width, height, earlier=earlier)
    own_width, beside_width = need_columns(width)
    said = last_words(task, view.live, texts)
    lines = labelled_paragraphs(question_lines(state, escalation, now_ms, said), own_width)
    choices = answer_choices([escalation])
    answers = labelled_paragraphs(choice_cells(choices), own_width)
    lines += [BLANK, Line((Span(" answers", "muted"),)), *answers] if choices else []
    asker = task.agent_id if task is not None else None
    if before := [*islice(earlier_answers(state, asker, view.recent, now_ms), _MAX_ANSWERS)]:
        lines += [BLANK, Line((Span(" answered before", "muted"),)), *labelled_lines(before, own_width)]
    title, right = f"QUESTION {key}", "enter answers it" if view.can_write else ""
    if beside_width:
        beside = Section("SAID AND DONE", earlier[-height:], right)
        panes = [([Section(title, lines)], own_width + EDGE_WIDTH), ([beside], beside_width + EDGE_WIDTH)]
        return RowDetails("", draw_side_by_side(panes, height + 1))
    if earlier and (left := height - len(lines) - 1) >= 2:
        lines += [hairline("SAID AND DONE", width), *indent_lines(earlier[-left:])]
    return RowDetails(title, lines, right)


def choice_cells(choices: Sequence[AnswerChoice], *, tone: str = "muted") -> list[Cell]:
    """Return a line for each answer: the digit that gives it, its words, what it means."""
    widest = max((len(choice.label) for choice in choices), default=0) + 2
    return [
        Cell(
            f"{choice.meaning}{'  (the default)' if choice.is_default else ''}".strip(),
            tone,
            f"{place if place <= MAX_DIGIT else ' ':>3}  {choice.label:<{widest}}",
        )
        for place, choice in enumerate(choices, 1)
    ]


def describe_task(
    view: ViewState,
    key: str,
    ended_task: EndedTask | None,
    width: int,
    height: int,
    *,
    earlier: Sequence[Line] = (),
) -> RowDetails | None:
    """Return the facts of a task, its error in full, the tasks that it delegated, and the end of its conversation.

    Args:
        view: What is shown.
        key: Id of the task.
        ended_task: The task if the state has dropped it.
        width: In cells.
        height: In lines.
        earlier: What was said and done in it up to now.
    """
    state, now_ms, names = view.state, view.now_ms, view.names
    task = state.tasks.get(key)
    subject = task or ended_task
    if subject is None:
        return None
    facts = task_facts(state, subject, view.counts, view.live, names, now_ms=now_ms)
    long_facts = [fact for fact in facts if fact.label == "error" and len(fact.text) > width - _LABEL]
    lines = task_lines([fact for fact in facts if fact not in long_facts], subject.title, key, width)
    lines += labelled_paragraphs(to_cells(long_facts), width)
    if task is not None:
        max_lines = max(_MAX_LINES, (height - len(lines)) // 2)
        text_width = min(width, _MAX_WIDTH) - 2
        child_rows = child_lines(state, task, view.counts, width=text_width, now_ms=now_ms, max_lines=max_lines)
        lines += indent_lines(child_rows)
    if (left := height - len(lines) - 1) >= 2:
        said = latest_output(state, task, key, earlier, view.counts, view.live, width=width - 2, now_ms=now_ms)
        if said.lines:
            lines += [hairline(said.title, width), *indent_lines(said.lines[-left:])]
    return RowDetails("TASK", lines)


def describe_run(view: ViewState, key: str, census: Census, text: str, width: int, height: int) -> RowDetails:
    """Return the progress of a run with its tasks; for a finished run the start of its output."""
    state, now_ms = view.state, view.now_ms
    facts = run_lines(
        state, key, census.stages, view.counts, width=width, now_ms=now_ms, times=finished_times(state.summary(key))
    )
    text_width = min(width, _MAX_WIDTH) - 2
    if key not in state.runs:
        output = prose(text[:_MAX_OUTPUT_CHARACTERS], width - 2)[: max(0, height - len(facts))]
        return RowDetails("RUN", [*facts, BLANK, *indent_lines(output)])
    max_lines = max(0, height - len(facts) - 1)
    at_work = at_work_lines(state, census, view.counts, view.live, width=text_width, now_ms=now_ms, max_lines=max_lines)
    left = max_lines - len(at_work)
    max_waiting = left if len(census.waiting) <= left else max(0, left - 1)  # the last line counts the others
    waits = waiting_lines(state, census, view.counts, width=text_width, now_ms=now_ms, max_lines=max_waiting)
    left -= len(waits)
    ended = ended_lines(state, census, view.counts, width=text_width, now_ms=now_ms, max_lines=left // 2)
    words = (left - len(ended)) // max(1, len(at_work))
    tasks = census.at_work[: len(at_work)]
    lines = [
        line
        for task, row in zip(tasks, at_work, strict=True)
        for line in (row, *_last_words(view, task, width - 2, min(words, _MAX_WORDS_LINES)))
    ]
    return RowDetails("RUN", [*facts, BLANK, *indent_lines([*lines, *waits, *ended])])


def _last_words(view: ViewState, task: Task, width: int, max_lines: int) -> list[Line]:
    """Return what the agent of a running task writes or calls now, or what the task waits for."""
    if max_lines <= 0:
        return []
    text = words_now(view.live, task.id) or view.counts.activities.of_task(task).words
    name = worker_name(view.state, task)
    if text in ("", task.title) or not name:
        return []
    lead = f"    {name}: "
    pieces = wrap_end(text, max(12, width - len(lead)), max_lines)
    return [
        Line((Span(lead if not at else " " * len(lead), "faint"), Span(piece, "muted")))
        for at, piece in enumerate(pieces)
    ]


def indent_lines(lines: Sequence[Line]) -> list[Line]:
    """Return lines with a blank cell before them, in line with labelled paragraphs."""
    return [indent(line) for line in lines]


def labelled_paragraphs(cells: Sequence[Cell], width: int) -> list[Line]:
    """Return paragraphs with their labels; a long one is cut to `_MAX_LINES`."""
    lines: list[Line] = []
    for cell in cells:
        lead = pad(cell.lead, max(_LABEL, len(cell.lead))) if cell.lead else ""
        text_width = max(8, min(width, _MAX_WIDTH) - len(lead) - 2)
        for at, piece in enumerate(wrap_beginning(cell.text, text_width, _MAX_LINES)):
            label = Span(f" {lead}" if not at else " " * (len(lead) + 1), "muted")
            lines.append(Line((label, Span(piece, cell.tone))))
    return lines


def labelled_lines(cells: Sequence[Cell], width: int) -> list[Line]:
    """Return cells with their labels, one line each."""
    room = max(8, width - _LABEL - 2)
    return [
        Line((Span(f" {pad(cell.lead, _LABEL)}", "muted"), Span(cut(cell.text, room), cell.tone))) for cell in cells
    ]
