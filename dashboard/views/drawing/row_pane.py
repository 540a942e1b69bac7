"""The pane below a table, with details of the row under the cursor. Pure."""

from collections.abc import Sequence
from typing import NamedTuple

from dashboard.views.drawing.facts import to_cells
from dashboard.views.drawing.lines import BLANK, Line, Span, hairline, indent, pad
from dashboard.views.drawing.prose import prose
from dashboard.views.drawing.rows import Cell
from dashboard.views.drawing.sections import wrap_beginning
from dashboard.views.facts.ended import EndedTask
from dashboard.views.facts.run_page import run_lines
from dashboard.views.facts.run_work import Census, at_work_lines, waiting_lines
from dashboard.views.facts.task import task_facts
from dashboard.views.facts.task_page import child_lines, task_lines
from dashboard.views.inbox import MEANINGS, question_lines
from dashboard.views.view_state import ViewState
from engine.core.state import Escalation

_LABEL = 12
_MAX_WIDTH = 120
"""Maximum width of prose: longer lines are hard to read."""
_MAX_LINES = 8
"""Lines of one paragraph."""
_MAX_OUTPUT_CHARACTERS = 4_000
"""Characters of an output, from its start."""


class RowDetails(NamedTuple):
    """The title and the lines of the pane."""

    title: str
    lines: Sequence[Line]
    right: str = "enter opens it"
    """Text at the right end of its hairline."""


def draw_details(more: RowDetails, width: int) -> list[Line]:
    """Return the pane with its hairline."""
    return [hairline(more.title, width, right=more.right), *more.lines]


def describe_need(view: ViewState, key: str, width: int, height: int) -> RowDetails | None:
    """Return a question with its answers and their meanings, or the problem of a member or a task."""
    state, now_ms = view.state, view.now_ms
    escalation = state.escalations.get(key)
    if escalation is not None:
        lines = labelled_paragraphs(question_lines(state, escalation, now_ms), width)
        options = escalation.options
        meanings = [Cell(_describe_answer(escalation, option), "muted", f"  {option:<15}") for option in options]
        answers = [Line((Span(" answers", "muted"),)), *labelled_paragraphs(meanings, width)] if meanings else []
        return RowDetails(f"QUESTION {key}", [*lines, BLANK, *answers], "enter answers it" if view.can_write else "")
    if key in state.tasks:
        return describe_task(view, key, None, width, height)
    member = state.agents.get(key) or state.supervisors.get(key)
    if member is None:
        return None
    problem = Cell(str(member.error or "nothing is wrong with it"), "error")
    return RowDetails(member.name, labelled_paragraphs([problem], width))


def _describe_answer(escalation: Escalation, answer: str) -> str:
    means = MEANINGS.get((escalation.kind, answer), "")
    return f"{means}  (the default)".strip() if answer == escalation.default else means


def describe_task(
    view: ViewState, key: str, ended_task: EndedTask | None, width: int, height: int
) -> RowDetails | None:
    """Return the facts of a task, its error in full, and the tasks that it delegated."""
    state, now_ms, names = view.state, view.now_ms, view.names
    task = state.tasks.get(key)
    subject = task or ended_task
    if subject is None:
        return None
    facts = task_facts(state, subject, view.counts, view.live, names, now_ms=now_ms)
    long_facts = [fact for fact in facts if fact.label == "error" and len(fact.text) > width - _LABEL]
    lines = task_lines([fact for fact in facts if fact not in long_facts], subject.title, key, width)
    lines += labelled_paragraphs(to_cells(long_facts), width)
    if task is None:
        return RowDetails("TASK", lines)
    max_lines = max(_MAX_LINES, height - len(lines))
    child_rows = child_lines(
        state, task, width=min(width, _MAX_WIDTH), now_ms=now_ms, working=view.working, max_lines=max_lines
    )
    return RowDetails("TASK", [*lines, *indent_lines(child_rows)])


def describe_run(view: ViewState, key: str, census: Census, text: str, width: int, height: int) -> RowDetails:
    """Return the progress of a run with its running and waiting tasks; for a finished run the start of its output."""
    state, now_ms, working = view.state, view.now_ms, view.working
    facts = run_lines(state, key, census.stages, width=width, now_ms=now_ms, working=working)
    text_width = min(width, _MAX_WIDTH) - 2
    if key not in state.runs:
        output = prose(text[:_MAX_OUTPUT_CHARACTERS], width - 2)[: max(0, height - len(facts))]
        return RowDetails("RUN", [*facts, BLANK, *indent_lines(output)])
    max_lines = max(0, height - len(facts) - 1)
    at_work = at_work_lines(
        state, census, view.live, width=text_width, now_ms=now_ms, working=working, max_lines=max_lines
    )
    left = max_lines - len(at_work)
    max_waiting = left if len(census.waiting) <= left else max(0, left - 1)  # the last line counts the others
    waits = waiting_lines(state, census, view.counts, width=text_width, now_ms=now_ms, max_lines=max_waiting)
    return RowDetails("RUN", [*facts, BLANK, *indent_lines([*at_work, *waits])])


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
