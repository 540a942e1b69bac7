"""A summary of a team in lines: its members and its work by state, and its open runs. Pure.

For a file that is not open, the reading thread makes these lines and drops the state.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice

from dashboard.views.drawing.lines import BLANK, Line, Span, cut, pad
from dashboard.views.drawing.plots import meter
from dashboard.views.drawing.rows import GAP
from dashboard.views.measures.progress import share_of
from dashboard.views.network import mode_glyph
from dashboard.views.words.amounts import cost_text, count, is_known, pluralize
from dashboard.views.words.glyphs import ACTIVITY, Mark, run_mark, task_mark
from dashboard.views.words.roles import name_with_role
from engine.core.activities import Activities
from engine.core.queries.team.tree import agents_in
from engine.core.state import State, Supervisor

MAX_MEMBERS = 60
"""Members that are listed."""
MAX_RUNS = 12
"""Open runs that are listed; the newest first."""
_LABEL_WIDTH, _METER_WIDTH, _TITLE_WIDTH, _TEXT_WIDTH = 13, 12, 28, 60


def team_summary(state: State, *, working: bool = False) -> list[Line]:
    """Return the summary of a team; `working` says whether an engine works on it."""
    activities = Activities(state, {}, state.at_ms, working=working)
    agents = (ACTIVITY[activities.of_agent(agent).kind] for agent in state.agents.values())
    open_tasks = (task for task in state.tasks.values() if task.kind == "agent" and not task.ended)
    tasks = (task_mark(task, activities) for task in open_tasks)
    teams = ", ".join(supervisor.name for supervisor in state.roots)
    lines = [
        _by_state("agents", agents),
        _labelled_line("supervisors", f"{count(len(state.supervisors))}  {cut(teams, _TEXT_WIDTH)}"),
        _by_state("open tasks", tasks),
        _labelled_line("open runs", count(len(state.runs))),
    ]
    runs = [*islice(reversed(state.runs.values()), MAX_RUNS)]
    ended = [f"{run.ended:,}/{run.total:,} ended" for run in runs]
    for run, figure in zip(runs, ended, strict=True):
        mark = run_mark(run, activities)
        failed = [Span(f"{run.failed:,} failed  ", "warn")] if run.failed else []
        left = [Span(f"   {mark.glyph} ", mark.tone), Span(f"{run.id:<4} ", "muted")]
        figures = [
            *meter(share_of(run), _METER_WIDTH, tone=mark.tone),
            Span(f"  {pad(figure, max(map(len, ended)))}  "),
        ]
        lines.append(Line((*left, *figures, *failed, Span(run.title)), run.id))
    done = f"{pluralize(state.tasks_done, 'task')} done, {count(state.tasks_failed)} failed"
    lines.append(_labelled_line("so far", f"{pluralize(state.runs_total, 'run')}, {done}"))
    if is_known(state.usage):
        lines.append(_labelled_line("cost", cost_text(state.usage)))
    question_count = len(state.escalations)
    lines.append(_labelled_line("questions", count(question_count), "attention" if question_count else ""))
    lines.append(_labelled_line("specs", f"{count(len(state.registry))} registered"))
    members = (line for root in state.roots for line in _members(state, root, 0, activities))
    more = len(state.supervisors) + len(state.agents) - MAX_MEMBERS
    others = [Line((Span(f"   … {pluralize(more, 'more member')}", "faint"),))] if more > 0 else []
    return [*lines, BLANK, Line((Span("members", "muted"),)), *islice(members, MAX_MEMBERS), *others]


def _members(state: State, supervisor: Supervisor, depth: int, activities: Activities) -> Iterator[Line]:
    """Yield a supervisor and its members, agents first, each with its current work."""
    yield _member(f"{'  ' * depth}{mode_glyph(supervisor.mode)} ", supervisor.name, "strong", supervisor.mode, "muted")
    for agent in agents_in(state, supervisor):
        activity, name = activities.of_agent(agent), name_with_role(state, agent)
        mark = ACTIVITY[activity.kind]
        yield _member(f"{'  ' * depth}  {mark.glyph} ", name, mark.tone, activity.words or mark.word, "")
    for team in (state.supervisors[member_id] for member_id in supervisor.members if member_id in state.supervisors):
        yield from _members(state, team, depth + 1, activities)


def _member(lead: str, name: str, tone: str, activity: str, activity_tone: str) -> Line:
    return Line(
        (
            Span(f"   {pad(lead + name, _TITLE_WIDTH)}", tone),
            Span(" " * GAP),
            Span(cut(activity, _TEXT_WIDTH), activity_tone),
        )
    )


def _by_state(label: str, marks: Iterable[Mark]) -> Line:
    counts = Counter(marks)
    spans = [Span(f"  {mark.glyph} {number:,} {mark.word}", mark.tone) for mark, number in counts.most_common()]
    return Line((Span(pad(label, _LABEL_WIDTH), "muted"), Span(count(counts.total())), *spans))


def _labelled_line(label: str, text: str, tone: str = "") -> Line:
    return Line((Span(pad(label, _LABEL_WIDTH), "muted"), Span(text, tone)))
