"""The facts of a supervisor, with the same text in every place that shows them."""

from collections import Counter
from collections.abc import Iterator

from dashboard.views.drawing.facts import Fact
from dashboard.views.drawing.rows import Cell
from dashboard.views.facts.searches import discovery_fact, search_facts
from dashboard.views.facts.spec_fields import format_value
from dashboard.views.measures.activity import Activity
from dashboard.views.measures.digest import Digest
from dashboard.views.measures.limits import limit_facts
from dashboard.views.measures.usage import usage_facts
from dashboard.views.words.amounts import ago, count, duration, percent, pluralize
from dashboard.views.words.field_names import field_label
from dashboard.views.words.glyphs import ACTIVITY, Mark, task_mark
from engine.core.activities import ActivityKind
from engine.core.queries.team.figures import success_share
from engine.core.queries.team.tree import depth_of, inherited_option, mean_ms_of, subtree_of
from engine.core.records.records import field_names
from engine.core.specs.options import SupervisorOptions
from engine.core.state import State, Supervisor, Task

MAX_PLAN_NODES = 6
"""Nodes of a graph that are listed in one line."""
_MAX_STATE_WIDTH = 8
"""Cells for the number of busy agents in a column."""
_URGENT: dict[ActivityKind, str] = {
    "person": "agents wait for you",
    "doubt": "in doubt",
    "stuck": "stuck",
    "error": "in error",
    "budget": "held by a budget",
    "silent": "silent",
    "pausing": "pausing",
}
"""What an operator must see, the most urgent first, in words for several agents."""
_WITH_NUMBER = {ACTIVITY[kind].word for kind in (*_URGENT, "working", "draining")}
"""States that stand beside the number of busy agents."""
_SETTINGS = ("max_parallel", "aggregation", "lead", "on_failure", "balance", "strategies")
"""Settings that matter most; the others are only described."""
_OTHERS = ("aggregator", "participants", "default_agent", "max_agents")


def supervisor_facts(
    state: State, supervisor: Supervisor, counts: Digest, *, now_ms: int, activity: Activity | None = None
) -> list[Fact]:
    """Return all that is known of a supervisor, in groups.

    Args:
        activity: The recent activity of the team; None leaves out when the strategy was switched.
    """
    switched_ms = activity.switched_ms.get(supervisor.id) if activity is not None else None
    return [
        *_head(state, supervisor, counts),
        Fact("strategy", supervisor.mode, "accent", "strategy"),
        *([Fact("switched", ago(now_ms - switched_ms), "accent", "strategy")] if switched_ms is not None else []),
        *_figures(state, supervisor, counts),
        *hand_over_facts(supervisor),
        *usage_facts(supervisor.usage),
        *_settings(state, supervisor),
        *discovery_fact(supervisor),
        *search_facts(state, reversed(supervisor.discoveries), now_ms=now_ms, group="searches"),
        *alert_facts(supervisor),
        *limit_facts(state, supervisor.id, now_ms=now_ms),
    ]


def _head(state: State, supervisor: Supervisor, counts: Digest) -> Iterator[Fact]:
    cell = state_of_supervisor(supervisor, counts)
    yield Fact("state", f"{cell.text} at work" if cell.text[-1].isdigit() else cell.text, cell.tone, "head")
    if supervisor.parent_id in state.supervisors:
        text = f"{state.supervisors[supervisor.parent_id].name}, on level {depth_of(state, supervisor)}"
        yield Fact("under", text, group="place")
    members = [state.agents.get(member_id) or state.supervisors.get(member_id) for member_id in supervisor.members]
    if members:
        yield Fact("members", ", ".join(member.name for member in members if member is not None), group="place")


def _figures(state: State, supervisor: Supervisor, counts: Digest) -> Iterator[Fact]:
    yield Fact("done", count(supervisor.done), "strong", "figures")
    yield Fact("failed", count(supervisor.failed), "strong", "figures")
    if (share := success_share(supervisor.done, supervisor.failed)) is not None:
        yield Fact("ok", percent(share), "strong", "figures")
    yield Fact("attempts", count(supervisor.begun), "strong", "figures")
    yield Fact("waiting", count(counts.waiting_of[supervisor.id]), "strong", "figures")
    if below := sum(1 for _ in subtree_of(state, supervisor)) - 1:
        yield Fact("teams below", count(below), "strong", "figures")


def hand_over_facts(supervisor: Supervisor) -> Iterator[Fact]:
    """Yield what a request through a supervisor takes on average, where that was measured."""
    if (took_ms := mean_ms_of(supervisor)) is not None:
        more = "for each request, besides the work below it"
        yield Fact("hand-over", duration(took_ms), "strong", "hand-over", more=more)


def _settings(state: State, supervisor: Supervisor) -> Iterator[Fact]:
    """Yield the settings of a supervisor that are set, also inherited ones."""
    values = {name: getattr(supervisor, name) for name in ("max_parallel", "aggregation", *_OTHERS)}
    values |= {name: getattr(supervisor.options, name) for name in field_names(SupervisorOptions)}
    values["on_failure"] = inherited_option(state, supervisor, "on_failure", "as each agent says")
    values["balance"] = inherited_option(state, supervisor, "balance", None)
    values["discovery"] = None  # `discovery_fact`
    for name in (*_SETTINGS, *(name for name in values if name not in _SETTINGS)):
        if text := format_value(values[name] or ""):
            yield Fact(field_label(name), text, group="settings" if name in _SETTINGS else "options")


def alert_facts(supervisor: Supervisor) -> Iterator[Fact]:
    """Yield the problems of a supervisor."""
    if supervisor.error is not None:
        yield Fact("error", supervisor.error, "error", "alerts")
    if supervisor.restarts_ms:
        more = "within the period that is counted"
        yield Fact("restarts", count(len(supervisor.restarts_ms)), "warn", "alerts", more=more)


def supervisor_mark(supervisor: Supervisor, counts: Digest) -> Mark:
    """Return the mark of a supervisor: of its error, what is urgent below it, its pause, or what agents below it do."""
    kinds = counts.kinds_of(supervisor.id)
    if supervisor.error is not None or (kinds["error"] and kinds["error"] == counts.agents_of[supervisor.id]):
        return ACTIVITY["error"]
    urgent = next((kind for kind in _URGENT if kinds[kind] and kind != "error"), None)
    if urgent is not None and counts.working:
        return ACTIVITY[urgent]
    if supervisor.leaving is not None:
        return Mark("◐", "leaving", "draining")
    if supervisor.paused:
        return ACTIVITY["paused"]
    first: tuple[ActivityKind, ...] = ("working",) if counts.working else ()
    kind: ActivityKind = next((kind for kind in (*first, *ACTIVITY) if kinds[kind] and kind != "error"), "idle")
    if kind == "idle" and (group := counts.search_of(supervisor.id)) is not None:
        kind = counts.activities.of_task(group).kind
    return ACTIVITY[kind]


def state_of_supervisor(supervisor: Supervisor, counts: Digest) -> Cell:
    """Return the state of a supervisor: its mark, with the number of busy agents below it."""
    mark = supervisor_mark(supervisor, counts)
    busy, agents = counts.busy_of[supervisor.id], counts.agents_of[supervisor.id]
    if not busy or mark.word not in _WITH_NUMBER:
        return Cell(mark.text, mark.tone)
    forms = (f"{busy} of {agents}", f"{busy}/{agents}", f"{busy}")  # a cut number would be wrong
    text = next(form for form in forms if len(form) <= _MAX_STATE_WIDTH or form is forms[-1])
    return Cell(f"{mark.glyph} {text}", mark.tone)


def now_of_supervisor(state: State, supervisor: Supervisor, counts: Digest) -> Cell:
    """Return the error of a supervisor; else what is urgent below it and what stops it; else its graph or its queue."""
    if supervisor.error is not None:
        return Cell(supervisor.error, "error")
    waiting, kinds = counts.waiting_of[supervisor.id], counts.kinds_of(supervisor.id)
    if (obstacle := counts.activities.obstacle_above(supervisor)) is not None:
        more = f", {waiting:,} waiting" if waiting and obstacle.kind == "paused" else ""
        urgent = urgent_words(Counter({kind: kinds[kind] for kind in kinds if kind != obstacle.kind}))
        before, tone = (f"{urgent[0]}, ", urgent[1]) if urgent else ("", ACTIVITY[obstacle.kind].tone)
        return Cell(f"{before}{obstacle.words}{more}", tone)
    if urgent := urgent_words(kinds):
        return Cell(*urgent)
    if (group := counts.search_of(supervisor.id)) is not None:
        search = counts.activities.of_task(group)
        return Cell(f"{group.run_id} {search.words}", ACTIVITY[search.kind].tone)
    runs = [run for run in state.runs.values() if run.supervisor_id == supervisor.id]
    if runs:
        run = next((run for run in runs if run.running), runs[-1])
        nodes = [state.tasks[child] for child in state.tasks[run.root_id].children if child in state.tasks]
        others = f", and {pluralize(len(runs) - 1, 'other run')}" if len(runs) > 1 else ""
        title = plan_line(nodes, counts) or run.title
        return Cell(f"{run.id}: {title}{others}" if others else title, "muted")
    return Cell(f"{waiting:,} waiting" if waiting else "", "muted")


def urgent_words(kinds: Counter[ActivityKind], width: int = 1_000) -> tuple[str, str] | None:
    """Return the urgent states of agents, such as `⚑ 3 agents wait for you, ! 1 stuck`, and the tone of the first.

    In a small width it is `⚑ 3 agents wait for you ! 1`, or `⚑ 3 ! 1`.
    """
    urgent = [(ACTIVITY[kind], kinds[kind], words) for kind, words in _URGENT.items() if kinds[kind]]
    if not urgent:
        return None
    whole = [
        f"{mark.glyph} {number:,} {words}".replace(" 1 agents wait ", " 1 agent waits ")
        for mark, number, words in urgent
    ]
    brief = [f"{mark.glyph} {number:,}" for mark, number, _ in urgent]
    forms = (", ".join(whole), " ".join([whole[0], *brief[1:]]), " ".join(brief))
    return next((form for form in forms if len(form) <= width), forms[-1]), urgent[0][0].tone


def plan_line(nodes: list[Task], counts: Digest) -> str:
    """Return the nodes of a graph with their glyphs in one line, or a count of them."""
    if len(nodes) > MAX_PLAN_NODES:
        ended_count = sum(node.ended for node in nodes)
        return f"{ended_count} of {len(nodes)} done"
    return "  ".join(f"{task_mark(node, counts.activities).glyph} {node.title}" for node in nodes)
