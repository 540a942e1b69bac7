"""The pane of the supervisor under the cursor: progress, members with their shares, queue, settings."""

from collections.abc import Callable, Sequence
from itertools import islice

from rich.cells import cell_len

from dashboard.views.drawing.facts import Fact, in_groups, to_lines
from dashboard.views.drawing.lines import Line, Span, cut_name, join_columns, spread
from dashboard.views.drawing.plots import axis_top, meter, plot
from dashboard.views.drawing.sections import EDGE_WIDTH, Section, draw_frame, height_of, wrap_end
from dashboard.views.facts.agent import state_of_agent
from dashboard.views.facts.agent_pane import PaneData
from dashboard.views.facts.ended import RecentEnd, recent_lines
from dashboard.views.facts.now import now_of_agent
from dashboard.views.facts.pages import History
from dashboard.views.facts.searches import describe_result
from dashboard.views.facts.steps import words_now
from dashboard.views.facts.supervisor import now_of_supervisor, state_of_supervisor, supervisor_facts
from dashboard.views.measures.progress import Progress, time_to_go
from dashboard.views.words.amounts import ago
from dashboard.views.words.keyed import fill_keys
from dashboard.views.words.roles import name_with_role
from engine.core.queries.team.tree import agents_of, lineage_of
from engine.core.state import State, Supervisor, TaskStatus

GRAPH_MIN_HEIGHT = 28
"""Minimum lines of a pane with a graph."""
MIN_BAR_WIDTH = 3
"""Minimum cells of a member's bar; without room for it beside `MIN_NAME_WIDTH` there is no bar."""
MIN_NAME_WIDTH = 8
MAX_SEARCHES = 4
"""Searches for agents that are shown."""
MIN_WORDS_HEIGHT, MAX_WORDS_LINES = 4, 6
"""Minimum lines for what agents say now, and maximum lines of one of them."""
_STATUSES = {"done": TaskStatus.DONE, "failed": TaskStatus.FAILED}
_TONES = ("plot-low", "plot-mid", "plot-high")


def supervisor_pane(
    data: PaneData,
    supervisor: Supervisor,
    progress: Progress,
    width: int,
    height: int,
    *,
    graph: Callable[[int, int], Sequence[Line]] | None = None,
    joins: frozenset[int] = frozenset(),
) -> list[Line]:
    """Return the pane of a supervisor; `graph` draws its current graph for a width and height."""
    room = width - EDGE_WIDTH
    facts = facts_of(data, supervisor)
    head = head_lines(data, facts, supervisor, progress, room)
    tall = 0 if graph is None or height < GRAPH_MIN_HEIGHT else height // 4
    run = [Section("GRAPH", graph(room, tall), "━ just now")] if graph is not None and tall else []
    queue = queue_section(data, supervisor, room, 0 if height < 24 else 3 if height < 44 else 5)
    settings = [_settings(data, facts, room)]
    left = height - len(head) - height_of([*run, *queue, *settings]) - 1
    if left < 3:
        settings, left = [], left + height_of(settings)
    hidden = len(supervisor.members) - max(0, left - 1) if len(supervisor.members) > left else 0
    members = member_lines(data, supervisor, room, max(0, left - 1) if hidden else left)
    if hidden:
        members = [*members, Line((Span(f"and {hidden:,} more · enter shows all", "muted"),))]
    section = Section("MEMBERS", members, "share of the work")
    left -= len(members) + 1
    last_tasks = ended_section(data, supervisor, room, left if left < 2 * MIN_WORDS_HEIGHT else left // 3)
    words = words_section(data, supervisor, room, left - height_of(last_tasks) - 1)
    return draw_frame(head, [*run, *queue, section, *settings, *words, *last_tasks], width, height, joins=joins)


def facts_of(data: PaneData, supervisor: Supervisor) -> list[Fact]:
    """Return what is known of a supervisor at the moment of a pane."""
    return supervisor_facts(data.state, supervisor, data.counts, now_ms=data.now_ms, activity=data.activity)


def ended_section(data: PaneData, supervisor: Supervisor, room: int, max_tasks: int) -> list[Section]:
    """Return the last ended tasks of a supervisor's agents, the newest first."""
    if max_tasks < 2:
        return []
    agent_names = {agent.id: agent.name for agent in agents_of(data.state, supervisor.id)}
    ends = (end for end in reversed(data.activity.ends) if end.agent_id in agent_names and end.outcome in _STATUSES)
    recent = [
        RecentEnd(
            _STATUSES[end.outcome],
            data.names.of(end.task_id),
            end.duration_ms,
            end.at_ms,
            end.task_id,
            agent_names[end.agent_id],
        )
        for end in islice(ends, max_tasks)
    ]
    return [Section("LAST TASKS", recent_lines(recent, room, now_ms=data.now_ms))] if recent else []


def words_section(data: PaneData, supervisor: Supervisor, room: int, height: int) -> list[Section]:
    """Return what each agent at work below a supervisor says or calls now, else what it does, wrapped."""
    agents = [agent for agent in agents_of(data.state, supervisor.id) if agent.running or agent.parked]
    if not agents or height < MIN_WORDS_HEIGHT:
        return []
    agents = agents[:height]
    name_width = max(1, min(16, room // 3, max(cell_len(agent.name) for agent in agents)))
    each, lines = min(MAX_WORDS_LINES, height // len(agents)), list[Line]()
    width = room - name_width - 1
    for agent in agents:
        texts = (words_now(data.live, task_id) for task_id in (*agent.running, *agent.parked) if each > 1)
        text = " ".join(text for text in texts if text)
        now = now_of_agent(agent, data.counts, data.now_ms, width=width if each == 1 else None).text
        for at, piece in enumerate(wrap_end(text or now, width, each) or [""]):
            name = [Span("" if at else cut_name(agent.name, name_width), "muted")]
            lines.append(join_columns([(name, name_width), ([Span(piece)], width)], key=agent.id))
    return [Section("NOW", lines)]


def head_lines(
    data: PaneData, facts: Sequence[Fact], supervisor: Supervisor, progress: Progress, room: int
) -> list[Line]:
    """Return the name, strategy and state of a supervisor, its run, and the progress of that."""
    state = data.state
    (mark,) = in_groups(facts, "head")
    strategy = "  ◇ ".join(fact.text for fact in in_groups(facts, "strategy"))
    name = [Span(supervisor.name, "strong"), Span(f"  {strategy}", "accent")]
    lines = [spread(name, [Span(mark.text, f"{mark.tone} bold")], room, key=supervisor.id)]
    top = [*lineage_of(state, supervisor)][-1]
    runs = [run for run in state.runs.values() if run.supervisor_id in (supervisor.id, top.id)]
    if runs:
        run = next((run for run in runs if run.running), runs[-1])
        more = f" +{len(runs) - 1}" if len(runs) > 1 else ""
        title = [Span(f"run {run.id} ", "muted"), Span(run.title)]
        lines.append(spread(title, [Span(more, "muted")], room, key=run.id))
    else:
        hint = fill_keys("; <run:n> gives it a request") if data.can_write else ""
        lines.append(Line((Span(f"no open run{hint}", "muted"),)))
    lines.append(progress_line(data, supervisor, progress, room))
    return lines


def progress_line(data: PaneData, supervisor: Supervisor, progress: Progress, room: int) -> Line:
    """Return the progress of a supervisor's open work, with its expected end."""
    trouble = now_of_supervisor(data.state, supervisor, data.counts)
    if trouble.tone != "muted" and not data.counts.busy_of[supervisor.id]:
        return Line((Span(trouble.text, trouble.tone),))
    if not progress.total:
        return Line((Span("no tasks yet" if data.state.runs else "nothing to do", "muted"),))
    working, now_ms = data.counts.working, data.now_ms
    ends = time_to_go(data.state, supervisor.id, progress, data.activity, now_ms) if working else ""
    failed = [Span(f"  {progress.failed:,} failed", "error")] if progress.failed else []
    figures = [Span(f"  {progress.ended_count:,}/{progress.total:,}", "strong"), *failed]
    left = room - sum(cell_len(span.text) for span in figures) - (cell_len(ends) + 2 if ends else 0)
    wide = max(4, min(32, room // 3, left))  # shorten the meter, not the numbers
    done = "done" if progress.ended_count == progress.total else "busy"
    return spread([*meter(progress.share, wide, tone=done), *figures], [Span(ends, "muted")] if ends else [], room)


def queue_section(data: PaneData, supervisor: Supervisor, room: int, height: int) -> list[Section]:
    """Return a plot of the recent queue length of a supervisor."""
    if height <= 0 or not any(data.queue):
        return []
    top = axis_top(max(data.queue))
    labels = [f"{top:,.0f}", "0"] if height < 5 else [f"{top:,.0f}", f"{top / 2:,.0f}" if top > 1 else "", "0"]
    max_samples = 2 * (room - len(labels[0]) - 2)
    values = list(data.queue)[-max_samples:]
    each = max(1, min(4, max_samples // max(1, len(values))))
    values = [value for value in values for _ in range(each)]
    waiting = data.counts.waiting_of[supervisor.id]
    return [Section("QUEUE", plot(values, room, height, top=top, labels=labels, tones=_TONES), f"{waiting:,} waiting")]


def member_lines(data: PaneData, supervisor: Supervisor, room: int, max_members: int) -> list[Line]:
    """Return the members of a supervisor, sorted by the number of done tasks."""
    state, counts = data.state, data.counts
    agents = [state.agents[member_id] for member_id in supervisor.members if member_id in state.agents]
    teams = [state.supervisors[member_id] for member_id in supervisor.members if member_id in state.supervisors]
    done = {agent.id: agent.done for agent in agents} | {team.id: team.done for team in teams}
    most_done = max(done.values(), default=0) or 1  # relative to the best member: shares of all the work are too small
    member_ids = sorted(done, key=lambda member_id: -done[member_id])[:max_members]
    waits = {
        member_id: f"+{counts.waiting_of[member_id]:,}" if counts.waiting_of[member_id] else ""
        for member_id in member_ids
    }
    figures, queue = max(7, len(f"{most_done:,}")), max(6, *map(len, waits.values()), 0)
    left = room - 1 - figures - queue - 4  # the sign, the figures, and the blanks between
    names = (*(name_with_role(state, agent) for agent in agents), *(team.name for team in teams))
    longest = max(map(cell_len, names), default=8)
    bar = MIN_BAR_WIDTH if left >= MIN_BAR_WIDTH + MIN_NAME_WIDTH else 0
    name = max(1, min(longest, room // 2, left - bar) if bar else min(longest, left + 1))
    bar = min(24, left - name) if bar else 0
    rows = []
    for member_id in member_ids:
        label, glyph, tone = _member_mark(state, member_id, data)
        parts = [
            ([Span(glyph, tone)], 1),
            ([Span(cut_name(label, name), "muted" if glyph == "○" else "")], name),
            *([(list(meter(done[member_id] / most_done, bar)), bar)] if bar else []),
            ([Span(f"{done[member_id]:>{figures},}", "" if done[member_id] else "muted")], figures),
            ([Span(waits[member_id], "waiting")], queue),
        ]
        rows.append(join_columns(parts, key=member_id))
    none = f"it has no members yet{'; :add FILE adds an agent' if data.can_write else ''}"
    return rows or [Line((Span(none, "muted"),))]


def _member_mark(state: State, member_id: str, data: PaneData) -> tuple[str, str, str]:
    """Return the name, the glyph and the tone of a member."""
    agent = state.agents.get(member_id)
    if agent is not None:
        now = state_of_agent(agent, data.counts)
        return name_with_role(state, agent), now.text[:1], now.tone
    team = state.supervisors[member_id]
    now = state_of_supervisor(team, data.counts)
    return team.name, now.text[:1], now.tone


def supervisor_side(data: PaneData, supervisor: Supervisor, history: History, width: int, height: int) -> list[Line]:
    """Return the pane beside the members on the page of a supervisor."""
    room = width - EDGE_WIDTH
    queue = queue_section(data, supervisor, room, 0 if height < 12 else 3 if height < 24 else 5)
    settings = [_settings(data, facts_of(data, supervisor), room), *_searches(data, supervisor, room)]
    switches = [Section("STRATEGIES", _switches(data, supervisor, history, room))]
    left = height - height_of([*queue, *settings, *switches]) - 1
    return draw_frame((), [*queue, *settings, *switches, *ended_section(data, supervisor, room, left)], width, height)


def _searches(data: PaneData, supervisor: Supervisor, room: int) -> list[Section]:
    """Return the last searches for agents outside the team, the newest first."""
    lines = [
        spread(
            [Span(describe_result(data.state, search))],
            [Span(ago(data.now_ms - search.at_ms), "faint")],
            room,
            key=search.run_id,
        )
        for search in supervisor.discoveries[: -MAX_SEARCHES - 1 : -1]
    ]
    return [Section("SEARCHES", lines)] if lines else []


def _settings(data: PaneData, facts: Sequence[Fact], room: int) -> Section:
    lines = to_lines(in_groups(facts, "settings", "limits"), room)
    return Section("SETTINGS", lines, fill_keys("<set:o> changes them") if data.can_write else "")


def _switches(data: PaneData, supervisor: Supervisor, history: History, room: int) -> list[Line]:
    """Return the strategies of a supervisor, the newest first."""
    lines = [spread([Span("◇ ", "accent"), Span(supervisor.mode, "strong")], [Span("now", "muted")], room)]
    for seq, at_ms, sentence in history[:8]:
        text = sentence.text.removeprefix(f"{supervisor.name} was ")
        when = [Span(ago(data.now_ms - at_ms), "faint")]
        lines.append(spread([Span("  "), Span(text, "muted")], when, room, key=f"event:{seq}"))
    if not history:
        hint = "; S does it while it works" if data.can_write else ""
        lines.append(Line((Span(f"  never switched{hint}", "faint"),)))
    return lines
