"""The first lines of the page of a task, its children, and its attempts. Pure."""

from collections.abc import Sequence

from dashboard.views.drawing.facts import Fact, in_groups, to_lines, to_title
from dashboard.views.drawing.lines import Line, Span, cut_path, indent, pad, spread
from dashboard.views.event_log import Entry
from dashboard.views.facts.task import time_taken
from dashboard.views.measures.digest import Digest
from dashboard.views.words.amounts import clock, duration
from dashboard.views.words.glyphs import task_mark
from dashboard.views.words.names import Names
from engine.core.events import AttemptCancelled, AttemptDone, AttemptFailed, AttemptLost, AttemptStarted
from engine.core.state import State, Task, TaskStatus

_ENDS = {
    AttemptDone: ("✓", "done"),
    AttemptFailed: ("✕", "error"),
    AttemptCancelled: ("■", "stopped"),
    AttemptLost: ("↻", "draining"),
}


def task_lines(facts: Sequence[Fact], title: str, task_id: str, width: int) -> list[Line]:
    """Return the state, the owner, the figures and the problems of a task; without facts only its name."""
    name = (Span(title, "strong"), Span(f"   {task_id}", "muted"))
    head = to_title(name, in_groups(facts, "head"), width, bare={"state", "took"})
    about = to_lines(in_groups(facts, "agent", "about"), width - 1)
    alerts = to_lines(in_groups(facts, "alerts", "limits", "steers"), width - 1, bare={"why", "progress"})
    return [head, *map(indent, (*about, *alerts))]


def child_lines(
    state: State, task: Task, counts: Digest, *, width: int, now_ms: int, max_lines: int | None = None
) -> list[Line]:
    """Return a line for each child of a task.

    If there are more than `max_lines`, running ones come first, and the last line counts the others.
    """
    children = [state.tasks[child_id] for child_id in task.children if child_id in state.tasks]
    if max_lines is None or len(children) <= max_lines:
        return [task_line(state, child, counts, width, now_ms) for child in children]
    visible_children = sorted(children, key=_urgency_rank)[: max(0, max_lines - 1)]
    lines = [task_line(state, child, counts, width, now_ms) for child in visible_children]
    return [*lines, Line((Span(f"  and {len(children) - len(visible_children):,} more", "faint"),))]


def _urgency_rank(task: Task) -> int:
    """Rank running tasks first, then failed, waiting and done ones."""
    if task.attempt is not None or task.status is TaskStatus.RUNNING:
        return 0
    return 3 if task.status is TaskStatus.DONE else 1 if task.ended else 2


def task_line(state: State, child: Task, counts: Digest, width: int, now_ms: int) -> Line:
    """Return a task with its agent and its time."""
    mark = task_mark(child, counts.activities)
    agent = state.agents.get(child.agent_id or child.worker_id or "")
    name_width = max(8, width // 4)
    right = (
        Span(pad(agent.name if agent else "", name_width), "muted"),
        Span(pad(time_taken(child, now_ms), 11, right=True)),
    )
    title = cut_path(child.title, max(6, width - name_width - 14))
    return spread((Span(f"{mark.glyph} ", mark.tone), Span(title)), right, width, key=child.id)


def attempt_lines(entries: Sequence[Entry], task_id: str, names: Names, *, width: int) -> list[Line]:
    """Return a line for each attempt: its agent, its time and its end."""
    begun: dict[int, AttemptStarted] = {}
    ends: dict[int, Line] = {}
    for entry in entries:
        event = entry.event
        if getattr(event, "task_id", None) != task_id:
            continue
        if isinstance(event, AttemptStarted):
            begun[event.attempt] = event
        elif isinstance(event, AttemptDone | AttemptFailed | AttemptCancelled | AttemptLost):
            ends[event.attempt] = _ending_line(entry, event, names, width)
    open_ = {number: _open_line(event, names, width) for number, event in begun.items() if number not in ends}
    return [line for _, line in sorted((ends | open_).items())]


def _ending_line(
    entry: Entry, event: AttemptDone | AttemptFailed | AttemptCancelled | AttemptLost, names: Names, width: int
) -> Line:
    glyph, tone = _ENDS[type(event)]
    error_text = f"  {event.error}" if isinstance(event, AttemptFailed) else ""
    lasted = "" if isinstance(event, AttemptLost) else duration(event.duration_ms)
    left = (Span(f"{event.attempt:>2} ", "faint"), Span(f"{glyph} ", tone), Span(names.of(event.agent_id)))
    right = (Span(f" {lasted}  "), Span(clock(entry.at_ms), "muted"))
    return spread((*left, Span(error_text, "error")), right, width, key=str(entry.seq))


def _open_line(event: AttemptStarted, names: Names, width: int) -> Line:
    left = (Span(f"{event.attempt:>2} ", "faint"), Span("● ", "busy"), Span(names.of(event.agent_id)))
    return spread(left, (Span(f"g{event.generation}  ", "muted"), Span(clock(event.at_ms), "muted")), width)
