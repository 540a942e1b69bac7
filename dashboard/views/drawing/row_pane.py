"""What stands below a table: more of the row under the cursor than fits into its line. Pure."""

from collections.abc import Sequence
from typing import NamedTuple

from dashboard.views.drawing.lines import BLANK, Line, Span, hairline, indented, padded
from dashboard.views.drawing.prose import prose
from dashboard.views.drawing.rows import Cell
from dashboard.views.drawing.sections import beginning
from dashboard.views.facts.ended import EndedTask
from dashboard.views.facts.run_facts import run_facts
from dashboard.views.facts.run_work import Census, at_work_lines, waiting_lines
from dashboard.views.facts.task_facts import child_lines, gone_facts, task_facts
from dashboard.views.inbox import MEANINGS, question_lines
from dashboard.views.view_state import ViewState
from engine.core.state import Escalation

_LABEL = 12
_WIDEST = 120
"""A line of words is no longer: the eye does not find back from its end."""
_MOST = 8
"""Lines of one paragraph."""
_BEGIN = 4_000
"""Characters of an output, from its begin."""


class More(NamedTuple):
    """What is told of a row."""

    title: str
    lines: Sequence[Line]
    right: str = "enter opens it"
    """What stands at the other end of its hairline."""


def drawn(more: More, width: int) -> list[Line]:
    """Return the pane with its hairline."""
    return [hairline(more.title, width, right=more.right), *more.lines]


def of_need(view: ViewState, key: str, width: int, height: int) -> More | None:
    """Return a question whole, with its answers and what each means; or what is wrong with a member or a task."""
    state, now_ms = view.state, view.now_ms
    asked = state.escalations.get(key)
    if asked is not None:
        lines = worded(question_lines(state, asked, now_ms), width)
        meanings = [Cell(_means(asked, one), "muted", f"  {one:<15}") for one in asked.options]
        answers = [Line((Span(" answers", "muted"),)), *worded(meanings, width)] if meanings else []
        return More(f"QUESTION {key}", [*lines, BLANK, *answers], "enter answers it" if view.acts else "")
    if key in state.tasks:
        return of_task(view, key, None, width, height)
    member = state.agents.get(key) or state.supervisors.get(key)
    if member is None:
        return None
    return More(member.name, worded([Cell(str(member.error or "nothing is wrong with it"), "error")], width))


def _means(asked: Escalation, answer: str) -> str:
    means = MEANINGS.get((asked.kind, answer), "")
    return f"{means}  (the default)".strip() if answer == asked.default else means


def of_task(view: ViewState, key: str, ended: EndedTask | None, width: int, height: int) -> More | None:
    """Return how a task stands and why, its error whole, and the tasks that it asked for."""
    state, now_ms, names = view.state, view.now_ms, view.names
    task = state.tasks.get(key)
    if task is None:
        return More("TASK", gone_facts(key, ended, names, width=width, now_ms=now_ms)) if ended is not None else None
    long = task.error is not None and len(task.error) > width - 4
    lines = task_facts(state, task, view.counts, view.live, names, width=width, now_ms=now_ms, with_error=not long)
    lines += worded([Cell(f"✕ {task.error}", "error")], width) if long else []
    most = max(_MOST, height - len(lines))
    asked = child_lines(state, task, width=min(width, _WIDEST), now_ms=now_ms, working=view.working, most=most)
    return More("TASK", [*lines, *under(asked)])


def of_run(view: ViewState, key: str, found: Census, text: str, width: int, height: int) -> More:
    """Return how far a run is with what is at work and what waits; of one that has ended the begin of its output."""
    state, now_ms, working = view.state, view.now_ms, view.working
    facts = run_facts(state, key, found.stages, width=width, now_ms=now_ms, working=working)
    wide = min(width, _WIDEST) - 2
    if key not in state.runs:
        return More("RUN", [*facts, BLANK, *under(prose(text[:_BEGIN], width - 2)[: max(0, height - len(facts))])])
    room = max(0, height - len(facts) - 1)
    at_work = at_work_lines(state, found, view.live, width=wide, now_ms=now_ms, working=working, most=room)
    left = room - len(at_work)
    most = left if len(found.waiting) <= left else max(0, left - 1)  # the last line tells how many more
    waits = waiting_lines(state, found, view.counts, width=wide, now_ms=now_ms, most=most)
    return More("RUN", [*facts, BLANK, *under([*at_work, *waits])])


def under(lines: Sequence[Line]) -> list[Line]:
    """Return lines with a cell of air before them, as the paragraphs above have it."""
    return [indented(one) for one in lines]


def worded(told: Sequence[Cell], width: int) -> list[Line]:
    """Return paragraphs with their labels before them; of a long one its first lines."""
    lines: list[Line] = []
    for cell in told:
        lead = padded(cell.lead, max(_LABEL, len(cell.lead))) if cell.lead else ""
        for at, piece in enumerate(beginning(cell.text, max(8, min(width, _WIDEST) - len(lead) - 2), _MOST)):
            label = Span(f" {lead}" if not at else " " * (len(lead) + 1), "muted")
            lines.append(Line((label, Span(piece, cell.tone))))
    return lines
