"""The first lines of the page of a task, the tasks that it asked for, and what became of its attempts. Pure."""

from collections.abc import Mapping, Sequence

from dashboard.views.drawing.lines import Line, Span, cut, cut_path, flowed, padded, spread
from dashboard.views.event_log import Entry
from dashboard.views.facts.ended import EndedTask
from dashboard.views.facts.work import progress, took, why
from dashboard.views.measures.digest import Digest
from dashboard.views.measures.limits import limit_lines
from dashboard.views.words.amounts import clock, duration, moment, pluralize, spent
from dashboard.views.words.glyphs import TASK, of_task
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
    """Return what a task is and whose, how it stands and why, and what a person should know."""
    mark = of_task(task, working=counts.working)
    right = (Span(mark.text, f"{mark.tone} bold"), Span(f"  {took(task, now_ms)} ", "strong"))
    head = spread((Span("▌", "accent"), Span(task.title, "strong"), Span(f"   {task.id}", "muted")), right, width)
    who = names.of(task.agent_id or task.worker_id) if task.agent_id or task.worker_id else "–"
    parts = [("agent", who), ("run", f"{task.run_id} {names.of(task.run_id)}"), ("attempts", str(task.attempts))]
    parts += [("planned", moment(task.created_ms, now_ms))]
    parts += [("started", moment(task.started_ms, now_ms))] if task.started_ms is not None else []
    parts += [("priority", str(task.priority))] if task.priority != DEFAULT_PRIORITY else []
    parts += [("made way", pluralize(task.preemptions, "time"))] if task.preemptions else []
    parts += [("failed on", ", ".join(map(names.of, task.failed_on)))] if task.failed_on else []
    parts += [("spent", told)] if (told := spent(task.usage)) else []
    return [head, *_labelled(parts, width), *_alerts(state, task, counts, live, width, now_ms, with_error=with_error)]


def _labelled(parts: Sequence[tuple[str, str]], width: int) -> list[Line]:
    return flowed(([Span(f"{label} ", "muted"), Span(cut(text, 50))] for label, text in parts), width)


def _alerts(
    state: State, task: Task, counts: Digest, live: Mapping[str, str], width: int, now_ms: int, *, with_error: bool
) -> list[Line]:
    """Return why it waits, how far it is, what went wrong, and what limits it: each where there is something to say."""
    found: list[tuple[str, str]] = []
    asked = state.escalations.get(task.escalation_id or "")
    if asked is not None:
        found.append((f"⚑ {asked.question}  (8: Inbox)", "attention"))
    if reason := why(state, task, counts, now_ms):
        found.append((reason, "waiting"))
    if told := progress(live, task.id):
        found.append((told, "busy"))
    if task.error is not None and with_error:
        found.append((f"✕ {task.error}", "error"))
    if not task.ended:
        found += [
            (f"{one.label} {one.text}", one.tone or "muted") for one in limit_lines(state, task.id, now_ms=now_ms)
        ]
    found += [(f"not heard yet: {text}", "accent") for text in task.steers.values()]
    return flowed(([Span(text, tone)] for text, tone in found), width)


def gone_facts(task_id: str, ended: EndedTask | None, names: Names, *, width: int, now_ms: int) -> list[Line]:
    """Return what the journal says of a task that the state has forgotten, since its run has ended."""
    if ended is None:
        return [Line((Span("▌", "accent"), Span(names.of(task_id), "strong"), Span(f"   {task_id}", "muted")))]
    mark = TASK[ended.status]
    right = (Span(mark.text, f"{mark.tone} bold"), Span(f"  {duration(ended.took_ms)} ", "strong"))
    head = spread((Span("▌", "accent"), Span(ended.title, "strong"), Span(f"   {task_id}", "muted")), right, width)
    parts = [
        ("agent", names.of(ended.agent_id)),
        ("run", f"{ended.run_id} {names.of(ended.run_id)}"),
        ("attempts", str(ended.attempt)),
        ("ended", moment(ended.ended_ms, now_ms)),
        *([("spent", told)] if (told := spent(ended.usage)) else []),
    ]
    error = [Line((Span(f" ✕ {cut(ended.error, width - 4)}", "error"),))] if ended.error is not None else []
    return [head, *_labelled(parts, width), *error]


def child_lines(
    state: State, task: Task, *, width: int, now_ms: int, working: bool, most: int | None = None
) -> list[Line]:
    """Return a line for each task that it asked for, or that its graph has.

    Of more than `most`, those that are at work come first, and the last line tells how many more there are.
    """
    children = [state.tasks[one] for one in task.children if one in state.tasks]
    if most is None or len(children) <= most:
        return [_child(state, child, width, now_ms, working) for child in children]
    shown = sorted(children, key=_calm)[: max(0, most - 1)]
    lines = [_child(state, child, width, now_ms, working) for child in shown]
    return [*lines, Line((Span(f"  and {len(children) - len(shown):,} more", "faint"),))]


def _calm(task: Task) -> int:
    """What is at work comes first, then what failed, what waits, and what is done."""
    if task.attempt is not None or task.status is TaskStatus.RUNNING:
        return 0
    return 3 if task.status is TaskStatus.DONE else 1 if task.ended else 2


def _child(state: State, child: Task, width: int, now_ms: int, working: bool) -> Line:
    mark = of_task(child, working=working)
    agent = state.agents.get(child.agent_id or child.worker_id or "")
    who = max(8, width // 4)
    right = (Span(padded(agent.name if agent else "", who), "muted"), Span(padded(took(child, now_ms), 11, right=True)))
    title = cut_path(child.title, max(6, width - who - 14))
    return spread((Span(f"{mark.glyph} ", mark.tone), Span(title)), right, width, key=child.id)


def attempt_lines(entries: Sequence[Entry], task_id: str, names: Names, *, width: int) -> list[Line]:
    """Return a line for each attempt: who tried, when, and how it ended."""
    begun: dict[int, AttemptStarted] = {}
    ends: dict[int, Line] = {}
    for entry in entries:
        event = entry.event
        if getattr(event, "task_id", None) != task_id:
            continue
        if isinstance(event, AttemptStarted):
            begun[event.attempt] = event
        elif isinstance(event, AttemptDone | AttemptFailed | AttemptCancelled | AttemptLost):
            ends[event.attempt] = _end(entry, event, names, width)
    open_ = {number: _open(event, names, width) for number, event in begun.items() if number not in ends}
    return [line for _, line in sorted((ends | open_).items())]


def _end(
    entry: Entry, event: AttemptDone | AttemptFailed | AttemptCancelled | AttemptLost, names: Names, width: int
) -> Line:
    glyph, tone = _ENDS[type(event)]
    told = f"  {event.error}" if isinstance(event, AttemptFailed) else ""
    lasted = "" if isinstance(event, AttemptLost) else duration(event.duration_ms)
    left = (Span(f"{event.attempt:>2} ", "faint"), Span(f"{glyph} ", tone), Span(names.of(event.agent_id)))
    right = (Span(f" {lasted}  "), Span(clock(entry.at_ms), "muted"))
    return spread((*left, Span(told, "error")), right, width, key=str(entry.seq))


def _open(event: AttemptStarted, names: Names, width: int) -> Line:
    left = (Span(f"{event.attempt:>2} ", "faint"), Span("● ", "busy"), Span(names.of(event.agent_id)))
    return spread(left, (Span(f"g{event.generation}  ", "muted"), Span(clock(event.at_ms), "muted")), width)
