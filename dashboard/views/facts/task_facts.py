"""The first lines of the page of a task, its children, and its attempts. Pure."""

from collections.abc import Mapping, Sequence

from dashboard.views.drawing.lines import Line, Span, cut, cut_path, flow, pad, spread
from dashboard.views.event_log import Entry
from dashboard.views.facts.ended import EndedTask
from dashboard.views.facts.work import describe_progress, time_taken, waiting_reason
from dashboard.views.measures.digest import Digest
from dashboard.views.measures.limits import limit_facts
from dashboard.views.words.amounts import clock, describe_usage, duration, moment, pluralize
from dashboard.views.words.glyphs import TASK, task_mark
from dashboard.views.words.names import Names
from engine.core.events import AttemptCancelled, AttemptDone, AttemptFailed, AttemptLost, AttemptStarted
from engine.core.specs.options import DEFAULT_PRIORITY
from engine.core.state import State, Task, TaskStatus

_ENDS = {
    AttemptDone: ("✓", "done"),
    AttemptFailed: ("✕", "error"),
    AttemptCancelled: ("■", "stopped"),
    AttemptLost: ("↻", "draining"),
}


def task_facts(
    state: State,
    task: Task,
    counts: Digest,
    live: Mapping[str, str],
    names: Names,
    *,
    width: int,
    now_ms: int,
    with_error: bool = True,
) -> list[Line]:
    """Return the state, the owner, the figures and the problems of a task."""
    mark = task_mark(task, working=counts.working)
    right = (Span(mark.text, f"{mark.tone} bold"), Span(f"  {time_taken(task, now_ms)} ", "strong"))
    head = spread((Span("▌", "accent"), Span(task.title, "strong"), Span(f"   {task.id}", "muted")), right, width)
    worker = names.of(task.agent_id or task.worker_id) if task.agent_id or task.worker_id else "–"
    parts = [("agent", worker), ("run", f"{task.run_id} {names.of(task.run_id)}"), ("attempts", str(task.attempts))]
    parts += [("planned", moment(task.created_ms, now_ms))]
    parts += [("started", moment(task.started_ms, now_ms))] if task.started_ms is not None else []
    parts += [("priority", str(task.priority))] if task.priority != DEFAULT_PRIORITY else []
    parts += [("made way", pluralize(task.preemptions, "time"))] if task.preemptions else []
    parts += [("failed on", ", ".join(map(names.of, task.failed_on)))] if task.failed_on else []
    parts += [("spent", usage_text)] if (usage_text := describe_usage(task.usage)) else []
    return [
        head,
        *_labelled_lines(parts, width),
        *_alerts(state, task, counts, live, width, now_ms, with_error=with_error),
    ]


def _labelled_lines(parts: Sequence[tuple[str, str]], width: int) -> list[Line]:
    return flow(([Span(f"{label} ", "muted"), Span(cut(text, 50))] for label, text in parts), width)


def _alerts(
    state: State, task: Task, counts: Digest, live: Mapping[str, str], width: int, now_ms: int, *, with_error: bool
) -> list[Line]:
    """Return the question, the wait reason, the progress, the error and the limits of a task, as far as it has them."""
    alerts: list[tuple[str, str]] = []
    escalation = state.escalations.get(task.escalation_id or "")
    if escalation is not None:
        alerts.append((f"⚑ {escalation.question}  (8: Inbox)", "attention"))
    if reason := waiting_reason(state, task, counts, now_ms):
        alerts.append((reason, "waiting"))
    if progress_text := describe_progress(live, task.id):
        alerts.append((progress_text, "busy"))
    if task.error is not None and with_error:
        alerts.append((f"✕ {task.error}", "error"))
    if not task.ended:
        alerts += [
            (f"{limit.label} {limit.text}", limit.tone or "muted")
            for limit in limit_facts(state, task.id, now_ms=now_ms)
        ]
    alerts += [(f"not heard yet: {text}", "accent") for text in task.steers.values()]
    return flow(([Span(text, tone)] for text, tone in alerts), width)


def ended_task_facts(
    task_id: str, ended_task: EndedTask | None, names: Names, *, width: int, now_ms: int
) -> list[Line]:
    """Return the facts of a task that the state has dropped; without `ended_task` only its name."""
    if ended_task is None:
        return [Line((Span("▌", "accent"), Span(names.of(task_id), "strong"), Span(f"   {task_id}", "muted")))]
    mark = TASK[ended_task.status]
    right = (Span(mark.text, f"{mark.tone} bold"), Span(f"  {duration(ended_task.took_ms)} ", "strong"))
    head = spread((Span("▌", "accent"), Span(ended_task.title, "strong"), Span(f"   {task_id}", "muted")), right, width)
    parts = [
        ("agent", names.of(ended_task.agent_id)),
        ("run", f"{ended_task.run_id} {names.of(ended_task.run_id)}"),
        ("attempts", str(ended_task.attempts)),
        ("ended", moment(ended_task.ended_ms, now_ms)),
        *([("spent", usage_text)] if (usage_text := describe_usage(ended_task.usage)) else []),
    ]
    error = [Line((Span(f" ✕ {cut(ended_task.error, width - 4)}", "error"),))] if ended_task.error is not None else []
    return [head, *_labelled_lines(parts, width), *error]


def child_lines(
    state: State, task: Task, *, width: int, now_ms: int, working: bool, max_lines: int | None = None
) -> list[Line]:
    """Return a line for each child of a task.

    If there are more than `max_lines`, running ones come first, and the last line counts the others.
    """
    children = [state.tasks[child_id] for child_id in task.children if child_id in state.tasks]
    if max_lines is None or len(children) <= max_lines:
        return [_child_line(state, child, width, now_ms, working) for child in children]
    visible_children = sorted(children, key=_urgency_rank)[: max(0, max_lines - 1)]
    lines = [_child_line(state, child, width, now_ms, working) for child in visible_children]
    return [*lines, Line((Span(f"  and {len(children) - len(visible_children):,} more", "faint"),))]


def _urgency_rank(task: Task) -> int:
    """Rank running tasks first, then failed, waiting and done ones."""
    if task.attempt is not None or task.status is TaskStatus.RUNNING:
        return 0
    return 3 if task.status is TaskStatus.DONE else 1 if task.ended else 2


def _child_line(state: State, child: Task, width: int, now_ms: int, working: bool) -> Line:
    mark = task_mark(child, working=working)
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
