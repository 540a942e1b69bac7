"""The pane of the agent under the cursor: its state, its work, its output, its times and its last tasks."""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import engine.core.events as on
from dashboard.views.drawing.facts import Fact, in_groups, to_lines, to_row
from dashboard.views.drawing.lines import BLANK, Line, Span, cell_width, cut_path, indent, join_columns, spread
from dashboard.views.drawing.plots import meter, spark
from dashboard.views.drawing.sections import EDGE_WIDTH, Section, draw_frame, draw_side_by_side, height_of, wrap_end
from dashboard.views.drawing.values import value_lines, value_spans
from dashboard.views.event_log import Entry
from dashboard.views.facts.agent import agent_facts
from dashboard.views.facts.agent_page import spec_section, title_line
from dashboard.views.facts.agent_says import event_lines
from dashboard.views.facts.ended import RecentEnd, recent_lines
from dashboard.views.facts.now import now_of_agent
from dashboard.views.facts.steps import CURSOR, EMPTY_INPUTS, calls_of
from dashboard.views.facts.task import share_of_attempt
from dashboard.views.measures.activity import Activity
from dashboard.views.measures.digest import Digest
from dashboard.views.measures.task_times import describe_times, times_of, times_plot
from dashboard.views.tail import one_line, to_tail_line
from dashboard.views.words.amounts import ago, duration, elapsed
from dashboard.views.words.glyphs import task_mark
from dashboard.views.words.names import Names, without_title
from engine.core.queries.team.figures import median
from engine.core.state import Agent, State, Task, TaskStatus

MAX_ATTEMPTS = 3
"""Attempts of an agent that are shown, the oldest first."""
_STATUSES = {on.AttemptDone: TaskStatus.DONE, on.AttemptFailed: TaskStatus.FAILED}
MAX_EARLIER_OUTPUTS = 2
"""Earlier outputs above the newest one, a line each."""
LAYOUT_MIN_LINES = 4
"""Minimum lines to lay out the newest output instead of writing it on one line."""
THREE_COLUMN_MIN_WIDTH = 150
"""Minimum cells for three columns."""
EVENTS_MIN_HEIGHT = 20
"""Minimum lines to show events below the output."""
MIN_SPARK_WIDTH = 4
"""Minimum cells for the recent length of a queue."""


class PaneData(NamedTuple):
    """The data for a pane."""

    state: State
    counts: Digest
    live: Mapping[str, str]
    names: Names
    activity: Activity
    now_ms: int
    queue: Sequence[float] = ()
    """Length of the member's queue, a sample per second, the oldest first."""
    oldest: str = ""
    """Id of the task that has waited longest in its queue; empty for none."""
    can_write: bool = True
    """Whether to name keys that change the team."""


def oldest_of_queues(state: State) -> dict[str, str]:
    """Return the task that has waited longest in each queue."""
    oldest_tasks: dict[str, Task] = {}
    for task in state.tasks.values():
        if task.ready and task.queue is not None:
            oldest = oldest_tasks.get(task.queue)
            if oldest is None or task.ready_ms < oldest.ready_ms:
                oldest_tasks[task.queue] = task
    return {key: task.id for key, task in oldest_tasks.items()}


def oldest_in_queue(state: State, member_id: str, oldest: Mapping[str, str]) -> str:
    """Return the task that has waited longest for an agent, or for any agent of a supervisor; empty for none.

    Args:
        oldest: As `oldest_of_queues` returned it; tasks that began since are ignored.
    """
    is_agent = member_id in state.agents
    keys = (
        [f"agent:{member_id}"] if is_agent else [q.key for q in state.queues.values() if q.supervisor_id == member_id]
    )
    tasks = (state.tasks.get(oldest.get(key, "")) for key in keys)
    waiting = [task for task in tasks if task is not None and task.ready]
    return min(waiting, key=lambda task: task.ready_ms).id if waiting else ""


def agent_pane(
    data: PaneData,
    agent: Agent,
    entries: Sequence[Entry],
    width: int,
    height: int,
    *,
    joins: frozenset[int] = frozenset(),
) -> list[Line]:
    """Return the pane of an agent; `entries` are its events, the newest first."""
    room = width - EDGE_WIDTH
    facts = _facts_of(data, agent, entries)
    head = _head_lines(facts, agent, room)[: 2 if height < 20 else 3]
    now = [*_now_section(data, facts, agent, room), *_tokens_section(facts, room)]
    times = _times_section(agent, entries, room, 0 if height < 24 else 3 if height < 30 else 5 if height < 44 else 7)
    last_tasks = _last_tasks(data, facts, entries, room, max(2, height // 6 if height < 44 else height // 5))
    left = height - len(head) - height_of([*now, *times, *last_tasks]) - 1
    says = _output_section(data, agent, entries, room, left) if left >= 2 else []
    return draw_frame(head, [*now, *says, *times, *last_tasks], width, height, joins=joins)


def agent_columns(data: PaneData, agent: Agent, entries: Sequence[Entry], width: int, height: int) -> list[Line]:
    """Return the pane in columns, for a wide pane; with the spec if it fits."""
    facts = _facts_of(data, agent, entries)
    head = _head_lines(facts, agent, width - 2)
    height -= len(head)
    third = width // 3 if width >= THREE_COLUMN_MIN_WIDTH else 0
    left = third or width * 2 // 5
    now = [*_now_section(data, facts, agent, left - EDGE_WIDTH), *_tokens_section(facts, left - EDGE_WIDTH)]
    last_tasks = _last_tasks(data, facts, entries, left - EDGE_WIDTH, max(2, height - height_of(now) - 1))
    middle = width - left - third
    lived = height // 2 if height >= EVENTS_MIN_HEIGHT else 0
    says = _output_section(data, agent, entries, middle - EDGE_WIDTH, height - 1 - (lived + 1 if lived else 0))
    lines = event_lines([*islice(entries, lived)][::-1], data.names, middle - EDGE_WIDTH, agent_id=agent.id)
    panes = [([*now, *last_tasks], left), ([*says, *([Section("EVENTS", lines)] if lived else [])], middle)]
    if third:
        spec = Section("SPEC", spec_section(data.state.spec_of(agent), third - EDGE_WIDTH))
        panes.append(([*_times_section(agent, entries, third - EDGE_WIDTH, 5 if height >= 16 else 3), spec], third))
    return [*(indent(line) for line in head), *draw_side_by_side(panes, height)]


def _head_lines(facts: Sequence[Fact], agent: Agent, room: int) -> list[Line]:
    about = to_row(in_groups(facts, "type", "program", "place", "spec"), room, bare={"type", "model", "runs"})
    described = to_lines(in_groups(facts, "description"), room, bare={"description"})
    return [title_line(in_groups(facts, "head"), agent, room), *described, about]


def _facts_of(data: PaneData, agent: Agent, entries: Sequence[Entry]) -> list[Fact]:
    now_ms, activity = data.now_ms, data.activity
    events = [entry.event for entry in reversed(entries)]
    return agent_facts(data.state, agent, data.counts, data.live, now_ms=now_ms, activity=activity, events=events)


def _now_section(data: PaneData, facts: Sequence[Fact], agent: Agent, room: int) -> list[Section]:
    """Return the attempts of an agent with their usual time, or why it has none; its limits and its queue."""
    state, middle_ms = data.state, median(agent.at_work_ms)
    at_work = [
        (state.tasks[task_id], g)
        for task_id, g in (*agent.running.items(), *agent.parked.items())
        if task_id in state.tasks
    ]
    lines = [_attempt_line(data, agent, task, g, middle_ms, room) for task, g in at_work[:MAX_ATTEMPTS]]
    if len(at_work) > MAX_ATTEMPTS:
        lines.append(Line((Span(f"and {len(at_work) - MAX_ATTEMPTS} more at work", "muted"),)))
    if not agent.running:
        current = now_of_agent(agent, data.counts, data.now_ms)
        text = current.text or "nothing to do now"
        lines += [Line((Span(piece, current.tone or "faint"),)) for piece in wrap_end(text, room, 3)]
    lines += to_lines(in_groups(facts, "limits"), room)
    lines += _queue_lines(data, facts, room)
    slots = f"{len(agent.running)} of {agent.max_concurrency} slots"
    return [Section("NOW", lines, slots)]


def _attempt_line(
    data: PaneData, agent: Agent, task: Task, generation: int, middle_ms: float | None, room: int
) -> Line:
    mark = task_mark(task, data.counts.activities)
    spent_ms = data.now_ms - (task.attempt.started_ms if task.attempt is not None else data.now_ms)
    took = duration(spent_ms // 100 * 100) if spent_ms < 10_000 else ago(spent_ms).removesuffix(" ago")
    old = f"◐ g{generation}" if generation != agent.generation else mark.glyph
    wide = max(6, min(24, room // 4))
    title = max(4, room - wide - 10 - len(old) - 3)
    worked_ms = task.attempt.at_work_ms(data.now_ms) if task.attempt is not None else 0
    share = share_of_attempt(data.state, task, data.live, now_ms=data.now_ms, working=data.counts.working)
    tone = "draining" if middle_ms and worked_ms > 2 * middle_ms else mark.tone
    parts = [
        ([Span(old, "draining" if generation != agent.generation else mark.tone)], len(old)),
        ([Span(cut_path(task.title, title))], title),
        (meter(share, wide, tone=tone) if share is not None else (), wide),
        ([Span(f"{took:>9}")], 9),
    ]
    return join_columns(parts, key=task.id)


def _queue_lines(data: PaneData, facts: Sequence[Fact], room: int) -> list[Line]:
    oldest = data.state.tasks.get(data.oldest)
    waits = f"oldest {ago(data.now_ms - oldest.ready_ms)}" if oldest is not None else ""
    lines = []
    for line in to_lines([fact for fact in facts if fact.label == "queue"], room):
        spark_width = min(20, room // 4, room - cell_width(line.spans) - len(waits) - 4)
        is_drawn = any(data.queue) and spark_width >= MIN_SPARK_WIDTH
        sparkline = [Span(f"  {spark(data.queue, spark_width)}", "waiting")] if is_drawn else []
        lines.append(spread([*line.spans, *sparkline], [Span(waits, "muted")], room, key=data.oldest))
    return lines


def _tokens_section(facts: Sequence[Fact], room: int) -> list[Section]:
    lines = to_lines(in_groups(facts, "tokens"), room)
    return [Section("TOKENS", lines, "".join(fact.text for fact in in_groups(facts, "cost")))] if lines else []


def _output_section(data: PaneData, agent: Agent, entries: Sequence[Entry], room: int, height: int) -> list[Section]:
    """Return the output of an agent, the newest at the bottom: live text, running tools, earlier outputs."""
    live: list[Line] = []
    streaming = False
    for task_id in (*agent.running, *agent.parked):
        thought, text = data.live.get(f"thought:{task_id}", ""), data.live.get(f"output:{task_id}", "")
        streaming |= bool(thought or text)
        if thought and not text:
            live += [Line((Span(piece, "muted"),), task_id) for piece in wrap_end(thought + CURSOR, room, height // 2)]
        if text:
            live += [Line((Span(piece),), task_id) for piece in wrap_end(text + CURSOR, room, height)]
        for name, arguments, since_ms in calls_of(data.live, task_id):
            left = [Span("⚙ ", "tool"), Span(name, "tool bold"), Span(f" {arguments}", "muted")]
            live.append(spread(left, [Span(elapsed(data.now_ms - since_ms), "muted")], room, key=task_id))
    before: list[Line] = []
    for entry in entries:
        free_lines = height - len(before) - len(live)
        if free_lines <= 0:
            break
        newest = not before and not live
        max_lines = max(1, free_lines - MAX_EARLIER_OUTPUTS) if newest else 1
        before[:0] = _entry_lines(entry, data.names, room, newest=newest, max_lines=max_lines)
    lines = [*before, *live][-height:]
    acts = on.StepRecorded | on.Delegated
    title = "SAYS" if streaming or any(isinstance(entry.event, acts) for entry in islice(entries, 40)) else "OUTPUT"
    has_worked = agent.done or agent.failed or agent.cancelled
    placeholder = "nothing since this was opened; enter shows earlier output" if has_worked else "nothing yet"
    empty = Line((Span(placeholder, "faint"),))
    padding = [BLANK] * (height - max(1, len(lines)))
    return [Section(title, [*(lines or [empty]), *padding], "streaming" if streaming else "")]


def _entry_lines(entry: Entry, names: Names, room: int, *, newest: bool, max_lines: int) -> list[Line]:
    event, key = entry.event, f"event:{entry.seq}"
    tone = "" if newest else "muted"
    if isinstance(event, on.AttemptDone):
        return _output(event, names, room, key, max_lines)
    if isinstance(event, on.AttemptFailed):
        work = names.work(event)
        name, reason = cut_path(work, max(8, room // 2)), without_title(event.error, work)
        return [spread([Span(f"✕ {name}: ", "error"), Span(reason, "error")], [], room, key=key)]
    if isinstance(event, on.StepRecorded):
        return _step(event, room, key, tone)
    if isinstance(event, on.Delegated):
        delegation = to_tail_line(entry, names)
        return [spread([Span(f"{delegation.glyph} ", "muted"), Span(delegation.text, tone)], [], room, key=key)]
    if isinstance(event, on.ModelFailed):
        return [spread([Span(f"✕ {event.model}: {event.error}", "error")], [], room, key=key)]
    return []


def _output(event: on.AttemptDone, names: Names, room: int, key: str, max_lines: int) -> list[Line]:
    """Return an output laid out below the title of its task, or on one line if there is little room."""
    work = names.work(event)
    title = cut_path(work, room if max_lines >= LAYOUT_MIN_LINES else max(8, room // 2))
    if max_lines < LAYOUT_MIN_LINES or event.output is None:
        spans = [Span(text, tone or "muted") for text, tone in value_spans(event.output, room, without=work)]
        return [spread([Span(f"{title}: ", "muted"), *spans], [], room, key=key)]
    if isinstance(event.output, str):
        laid = [Line((Span(piece),)) for piece in wrap_end(event.output, room, max_lines - 1)]
    else:
        laid = value_lines(event.output, room - 2, max_lines=max_lines - 1)
    head = Line((Span(title, "strong"),), key)
    return [head, *(Line((Span("  "), *line.spans), key) for line in laid)]


def _step(event: on.StepRecorded, room: int, key: str, tone: str) -> list[Line]:
    took = [Span(duration(event.duration_ms), "faint")]
    if event.what == "model":
        text = event.output.get("text") if isinstance(event.output, dict) else None
        return [Line((Span(piece, tone),), key) for piece in wrap_end(str(text), room, 4)] if text else []
    name = event.name.removeprefix("tool:")
    arguments = "" if event.input in EMPTY_INPUTS else f" {one_line(event.input, 24)}"
    glyph, loud = ("⚙ ", "tool") if event.what == "tool" else ("· ", "muted")
    left = [Span(glyph, loud), Span(name, f"{loud} bold"), Span(arguments, "faint"), Span(" → ", "faint")]
    return [spread([*left, Span(one_line(event.output, room), tone)], took, room, key=key)]


def _times_section(agent: Agent, entries: Sequence[Entry], room: int, height: int) -> list[Section]:
    """Return a plot of the times of the last tasks, the newest at the right."""
    times = times_of(agent, reversed(entries))
    lines = times_plot(times, room, height)
    return [Section("TIME A TASK", lines, describe_times(times))] if lines else []


def _last_tasks(
    data: PaneData, facts: Sequence[Fact], entries: Sequence[Entry], room: int, max_tasks: int
) -> list[Section]:
    """Return the last tasks of the agent, the newest first, padded to `max_tasks` lines."""
    ends = (
        RecentEnd(_STATUSES[type(event)], data.names.work(event), event.duration_ms, entry.at_ms, event.task_id)
        for entry in entries
        if isinstance(event := entry.event, on.AttemptDone | on.AttemptFailed)
    )
    lines = recent_lines([*islice(ends, max_tasks)], room, now_ms=data.now_ms)
    ok = "".join(f"{fact.text} {fact.label}" for fact in facts if fact.label == "ok")
    padding = [BLANK] * (max_tasks - len(lines))
    return [Section("LAST TASKS", [*lines, *padding], ok)] if lines else []
