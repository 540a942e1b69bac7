"""What a team holds, in lines: its members and its work by state, and its open runs. Pure.

Of a file that is not open they are made in the thread that reads it, and kept in place of its state.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice

from dashboard.views.drawing.lines import BLANK, Line, Span, cut, padded
from dashboard.views.drawing.plots import meter
from dashboard.views.drawing.rows import GAP
from dashboard.views.network import mode_glyph
from dashboard.views.words.amounts import count, is_known, money, pluralize
from dashboard.views.words.glyphs import AGENT, Mark, of_agent, of_run, of_task
from engine.core.queries.team.tree import agents_in
from engine.core.state import State, Supervisor

MEMBERS = 60
"""Members that are listed below all that is counted."""
RUNS = 12
"""Open runs that are listed; the newest first."""
_LABEL, _METER, _TITLE, _TEAMS = 13, 12, 28, 60


def holdings(state: State, *, working: bool = False) -> list[Line]:
    """Return what a team holds; without an engine at work on it nothing is `working`."""
    agents = (AGENT[one.status] if working else of_agent(one, working=False) for one in state.agents.values())
    left = (one for one in state.tasks.values() if one.kind == "agent" and not one.ended)  # ended ones: at their run
    tasks = (of_task(one, working=working) for one in left)
    teams = ", ".join(one.name for one in state.roots)
    lines = [
        _by_state("agents", agents),
        _told("supervisors", f"{count(len(state.supervisors))}  {cut(teams, _TEAMS)}"),
        _by_state("open tasks", tasks),
        _told("open runs", count(len(state.runs))),
    ]
    for run in islice(reversed(state.runs.values()), RUNS):
        mark = of_run(run, working=working)
        share = run.ended / run.total if run.total else 0.0
        failed = [Span(f"  {run.failed:,} failed", "warn")] if run.failed else []
        figures = (*meter(share, _METER, tone=mark.tone), Span(f"  {run.ended:,}/{run.total:,} ended"), *failed)
        name = padded(f"{run.id} {run.title}", _TITLE)
        lines.append(Line((Span(f"   {mark.glyph} ", mark.tone), Span(name), Span(" " * GAP), *figures), run.id))
    done = f"{pluralize(state.tasks_done, 'task')} done, {count(state.tasks_failed)} failed"
    lines.append(_told("so far", f"{pluralize(state.runs_total, 'run')}, {done}"))
    if is_known(state.usage):
        lines.append(_told("cost", money(state.usage)))
    asked = len(state.escalations)
    lines.append(_told("questions", count(asked), "attention" if asked else ""))
    lines.append(_told("specs", f"{count(len(state.registry))} registered"))
    members = (line for root in state.roots for line in _members(state, root, 0, working))
    more = len(state.supervisors) + len(state.agents) - MEMBERS
    others = [Line((Span(f"   … {pluralize(more, 'more member')}", "faint"),))] if more > 0 else []
    return [*lines, BLANK, Line((Span("members", "muted"),)), *islice(members, MEMBERS), *others]


def _members(state: State, supervisor: Supervisor, depth: int, working: bool) -> Iterator[Line]:
    """Yield a supervisor and its members, its agents first, each with what it is at."""
    yield _member(f"{'  ' * depth}{mode_glyph(supervisor.mode)} ", supervisor.name, "strong", supervisor.mode, "muted")
    for agent in agents_in(state, supervisor):
        mark = of_agent(agent, working=working)
        at_work = next((state.tasks[one].title for one in (*agent.running, *agent.parked)), "")
        yield _member(f"{'  ' * depth}  {mark.glyph} ", agent.name, mark.tone, agent.error or at_work or mark.word, "")
    for below in (state.supervisors[one] for one in supervisor.members if one in state.supervisors):
        yield from _members(state, below, depth + 1, working)


def _member(lead: str, name: str, tone: str, at: str, at_tone: str) -> Line:
    return Line((Span(f"   {padded(lead + name, _TITLE)}", tone), Span(" " * GAP), Span(cut(at, _TEAMS), at_tone)))


def _by_state(label: str, marks: Iterable[Mark]) -> Line:
    found = Counter(marks)
    spans = [Span(f"  {mark.glyph} {number:,} {mark.word}", mark.tone) for mark, number in found.most_common()]
    return Line((Span(padded(label, _LABEL), "muted"), Span(count(found.total())), *spans))


def _told(label: str, text: str, tone: str = "") -> Line:
    return Line((Span(padded(label, _LABEL), "muted"), Span(text, tone)))
