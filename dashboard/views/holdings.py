"""What a team holds, in lines: its members and its work by state, and its open runs. Pure.

Of a file that is not open they are made in the thread that reads it, and kept in place of its state.
"""

from collections import Counter
from collections.abc import Iterable
from itertools import islice

from dashboard.views.amounts import count, counted, is_known, money
from dashboard.views.glyphs import Mark, of_agent, of_run, of_task
from dashboard.views.lines import Line, Span, cut, padded
from dashboard.views.plots import meter
from dashboard.views.rows import GAP
from engine.core.state import State

RUNS = 12
"""Open runs that are listed; the newest first."""
_LABEL, _METER, _TITLE, _TEAMS = 13, 12, 28, 60


def holdings(state: State, *, working: bool = False) -> list[Line]:
    """Return what a team holds; without an engine at work on it nothing is `working`."""
    agents = (of_agent(one, working=working) for one in state.agents.values())
    tasks = (of_task(one, working=working) for one in state.tasks.values() if one.kind == "agent")
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
    done = f"{counted(state.tasks_done, 'task')} done, {count(state.tasks_failed)} failed"
    lines.append(_told("so far", f"{counted(state.runs_total, 'run')}, {done}"))
    if is_known(state.usage):
        lines.append(_told("cost", money(state.usage)))
    asked = len(state.escalations)
    lines.append(_told("questions", count(asked), "attention" if asked else ""))
    return [*lines, _told("specs", f"{count(len(state.registry))} registered")]


def _by_state(label: str, marks: Iterable[Mark]) -> Line:
    found = Counter(marks)
    spans = [Span(f"  {mark.glyph} {number:,} {mark.word}", mark.tone) for mark, number in found.most_common()]
    return Line((Span(padded(label, _LABEL), "muted"), Span(count(found.total())), *spans))


def _told(label: str, text: str, tone: str = "") -> Line:
    return Line((Span(padded(label, _LABEL), "muted"), Span(text, tone)))
