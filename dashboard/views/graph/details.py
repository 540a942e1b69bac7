"""The pane below a graph, with details of the node under the cursor."""

from collections import Counter
from collections.abc import Sequence

from dashboard.views.drawing.facts import Fact, in_groups, to_lines, to_row
from dashboard.views.drawing.lines import (
    Line,
    Span,
    cut,
    cut_path,
    fit_height,
    fit_spans,
    hairline,
    indent,
    line,
    pad,
    spread,
)
from dashboard.views.drawing.plots import meter
from dashboard.views.facts.agent import agent_facts
from dashboard.views.facts.supervisor import supervisor_facts
from dashboard.views.facts.task import describe_progress, share_of_attempt, task_facts
from dashboard.views.graph.model import Graph, Node
from dashboard.views.graph.nodes import IDLE_PREFIX, Sight
from dashboard.views.words.amounts import duration, elapsed
from dashboard.views.words.glyphs import task_mark
from engine.core.state import Agent, State, Supervisor, Task

HEIGHT = 6
_MAX_ATTEMPTS = 2
"""Attempts that are shown."""
_TITLE, _METER = 42, 20
MAX_COUNTED_TASKS = 20_000
"""Maximum open tasks for which hand-overs are counted."""


def node_details(sight: Sight, graph: Graph, node: Node, *, width: int) -> list[Line]:
    """Return `HEIGHT` lines about a node, including the heading."""
    state = sight.state
    agent = state.agents.get(node.about)
    task = state.tasks.get(node.about)
    supervisor = state.supervisors.get(node.about)
    if node.id.startswith(IDLE_PREFIX):
        lines = [line(Span("at rest, with nothing to do", "muted"))]
    elif agent is not None:
        lines = _agent_lines(sight, agent, width - 1)
    elif task is not None:
        lines = _task_lines(sight, node, task, width - 1)
    elif supervisor is not None:
        lines = _supervisor_lines(sight, supervisor, width - 1)
    else:
        lines = [line(Span("it is gone", "muted"))]
    opens = "enter opens it" if node.opens[0] else "i shows them"
    body = [indent(Line(fit_spans(each.spans, width - 1))) for each in fit_height(lines, HEIGHT - 2)]
    return [hairline(node.name, width, right=opens), *body, _folded_line(graph, width)]


def _fact_lines(facts: Sequence[Fact], width: int, *groups: str) -> list[Line]:
    """Return groups of facts in one line, and the problems among the facts in another."""
    lines = [to_row(in_groups(facts, *groups), width, bare={"state", "generation", "strategy"})]
    lines += [to_row(alerts, width, bare={"code"})] if (alerts := in_groups(facts, "alerts")) else []
    return lines


def _folded_line(graph: Graph, width: int) -> Line:
    if not graph.folded:
        return Line()
    names = f" folded away, at rest: {len(graph.folded):,}  {', '.join(graph.folded[:40])}"
    hint = "i shows them "
    return spread((Span(cut(names, width - len(hint) - 2), "faint"),), (Span(hint, "faint"),), width)


def _agent_lines(sight: Sight, agent: Agent, width: int) -> list[Line]:
    state, now_ms = sight.state, sight.now_ms
    facts = agent_facts(state, agent, sight.counts, sight.live, now_ms=now_ms, activity=sight.activity)
    lines = _fact_lines(facts, width, "head", "figures")
    for task_id in [*agent.running, *agent.parked][:_MAX_ATTEMPTS]:
        task = state.tasks.get(task_id)
        if task is not None:
            lines.append(_attempt_line(sight, task))
    sources = _work_sources(state, agent)
    if sources:
        came = [span for name, times in sources for span in (Span(f" {name}", ""), Span(f" {times:,}", "muted"))]
        lines.append(line(Span("work came from", "muted"), *came))
    return lines


def _attempt_line(sight: Sight, task: Task) -> Line:
    begun = task.attempt.started_ms if task.attempt is not None else task.started_ms or sight.now_ms
    took = max(0, sight.now_ms - begun)
    share = share_of_attempt(sight.state, task, sight.live, now_ms=sight.now_ms, working=sight.counts.working)
    bar = meter(share, _METER) if share is not None else (Span(" " * _METER),)
    mark = task_mark(task, sight.counts.activities)
    progress_text = describe_progress(sight.live, task.id)
    return line(
        Span(f"{mark.glyph} ", mark.tone),
        Span(pad(cut_path(task.title, _TITLE), _TITLE)),
        *bar,
        Span(pad(duration(took) if took < 1000 else elapsed(took), 12, right=True)),
        Span(f"   from {_asker(sight.state, task)}", "muted"),
        Span(f"   {progress_text}" if progress_text else "", "muted"),
    )


def _asker(state: State, task: Task) -> str:
    asker = state.tasks.get(task.asker_id or "")
    member = state.agents.get(asker.agent_id or "") if asker is not None else state.supervisors.get(task.supervisor_id)
    return member.name if member is not None else "the graph"


def _work_sources(state: State, agent: Agent) -> list[tuple[str, int]]:
    """Return the agents that delegated tasks of open runs to an agent, with their number, the largest first."""
    if len(state.tasks) > MAX_COUNTED_TASKS:
        return []
    task_counts = Counter(task.asker_id or "" for task in state.tasks.values() if task.agent_id == agent.id)
    names: Counter[str] = Counter()
    for asker_id, times in task_counts.items():
        asker = state.tasks.get(asker_id)
        member = state.agents.get(asker.agent_id or "") if asker is not None else None
        if member is not None:
            names[member.name] += times
    return names.most_common(4)


def _task_lines(sight: Sight, node: Node, task: Task, width: int) -> list[Line]:
    facts = task_facts(sight.state, task, sight.counts, sight.live, now_ms=sight.now_ms)
    drawn = [Fact("state", f"{node.glyph} {node.word}", f"{node.tone} bold")]
    drawn += [Fact("took", node.took, "muted")] if node.took else []
    drawn += [Fact("ended", node.figure)] if node.figure not in ("", node.word) else []
    about = [fact for fact in in_groups(facts, "plan", "agent", "about") if fact.text != node.name]
    lines = [to_row([*drawn, *about], width, bare={"state", "took", "ended", "mode"})]
    alerts = to_lines(in_groups(facts, "alerts", "limits"), width, bare={"why", "progress"})
    return [*lines, *alerts, *to_lines(in_groups(facts, "order"), width)]


def _supervisor_lines(sight: Sight, supervisor: Supervisor, width: int) -> list[Line]:
    runs = [run for run in sight.state.runs.values() if run.supervisor_id == supervisor.id]
    facts = supervisor_facts(sight.state, supervisor, sight.counts, now_ms=sight.now_ms, activity=sight.activity)
    lines = _fact_lines(facts, width, "head", "strategy", "figures", "hand-over")
    for run in runs[:2]:
        lines.append(
            line(Span(f"{run.id} ", "muted"), Span(run.title), Span(f"   {run.done:,}/{run.total:,}", "muted"))
        )
    return lines
