"""Previews of strategy switches: the tasks kept, stopped, re-planned and left out, and the graphs before and after."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from dashboard.clean import clean
from dashboard.views.drawing.graph_layout import arrange_layers
from dashboard.views.drawing.lines import cut
from dashboard.views.drawing.rows import Cell, Choice, labelled_cell
from dashboard.views.words.amounts import pluralize
from dashboard.views.words.glyphs import TASK
from engine.core.events import GroupChange, StrategySwitched
from engine.core.queries.team.strategies import describe_settings, known_strategies
from engine.core.specs.spec import AGGREGATIONS
from engine.core.state import State, Supervisor, Task, TaskStatus

MAX_NAMED = 6
"""Task titles that are listed in one line."""
_JOINS = {
    "concat": "concatenated",
    "vote": "majority vote",
    "best": "the one with the best score",
    "first": "the first result",
    "synthesis": "one member merges them",
}
_RUN = "run:"


def strategies(now: str = "") -> list[Choice]:
    """Return every strategy; the current one, `now`, last."""
    descriptions = known_strategies()
    every = [Choice(name, name, about) for name, about in descriptions.items() if name != now]
    if now in descriptions:
        every.append(Choice(now, now, f"as now; for other settings: {descriptions[now]}"))
    return every


def settings_hint(mode: str) -> str:
    """Return the settings of a strategy, in the words of its own validation."""
    return describe_settings(mode).replace("`", "").rstrip(".")


def has_settings(mode: str) -> bool:
    """Return whether a strategy has settings."""
    return not settings_hint(mode).startswith("There is nothing")


def member_choices(state: State, supervisor: Supervisor, now: str | None, nobody: str) -> list[Choice]:
    """Return the members that may lead or make a synthesis; the first choice changes nothing."""
    names = [state.agents[member_id].name for member_id in supervisor.members if member_id in state.agents]
    teams = [state.supervisors[member_id].name for member_id in supervisor.members if member_id in state.supervisors]
    first = Choice("", now, "as now") if now else Choice("", nobody)
    return [first, *(Choice(name, name) for name in (*names, *teams) if name != now)]


def join_choices(now: str) -> list[Choice]:
    """Return the ways to join results; the first choice changes nothing."""
    first = Choice("", now, f"{_JOINS.get(now, '')}, as now")
    others = [aggregation for aggregation in AGGREGATIONS if aggregation != now]
    return [first, *(Choice(aggregation, aggregation, _JOINS.get(aggregation, "")) for aggregation in others)]


def scope_choices(state: State, supervisor: Supervisor) -> list[Choice]:
    """Return the scopes of a switch: open and new runs, new runs only, or one run."""
    runs = dict.fromkeys(
        task.run_id
        for task in state.tasks.values()
        if task.kind == "group" and task.worker_id == supervisor.id and not task.ended
    )
    each = [
        Choice(f"{_RUN}{run_id}", run_id, f"only that run, {state.runs[run_id].title}; new ones as before")
        for run_id in runs
        if run_id in state.runs
    ]
    return [
        Choice("open", "open", "open runs and all new ones"),
        Choice("new", "new", "new runs only; open ones go on as they are"),
        *each,
    ]


def run_of(scope: str | None) -> str | None:
    """Return the run of a scope; None if it is not for one run."""
    return scope.removeprefix(_RUN) if scope is not None and scope.startswith(_RUN) else None


def scope_of_run(run_id: str | None) -> str | None:
    """Return the scope for one run."""
    return None if run_id is None else f"{_RUN}{run_id}"


PRESERVE = (
    Choice("yes", "goes on", "running attempts finish as they began"),
    Choice("no", "stops", "at its next step; its partial result is kept as context"),
)


def describe_switch(state: State, event: StrategySwitched) -> list[Cell]:
    """Describe the effect of a switch on the graphs of open runs."""
    if not event.groups:
        return [Cell("no open run changes; the next request is coordinated this way")]
    kept_ids = [task_id for change in event.groups for task_id in change.kept]
    done = sum(task_id in state.tasks and state.tasks[task_id].ended for task_id in kept_ids)
    new = sum(len(change.added) for change in event.groups)
    planned = sum(len(replanned_ids(change)) for change in event.groups)
    stopped = sum(len(change.cancelled) for change in event.groups)
    parts = [f"kept {done} done, {len(kept_ids) - done} running", f"re-planned {planned}", f"cancelled {stopped}"]
    left_out = sum(len(change.removed) for change in event.groups)
    parts += [f"{label} {number}" for label, number in (("added", new), ("left out", left_out)) if number]
    runs = {change.run_id for change in event.groups}
    summary = f"{pluralize(len(event.groups), 'graph')} of {pluralize(len(runs), 'open run')}: {' · '.join(parts)}"
    return [Cell(summary), *_task_lines(state, event.groups[-1])]


def _task_lines(state: State, change: GroupChange) -> list[Cell]:
    """List the tasks of a graph by what happens to them."""
    ended_ids = [task_id for task_id in change.kept if state.tasks[task_id].ended]
    rows = (
        ("stay done", _titles(state, ended_ids)),
        ("go on", _titles(state, [task_id for task_id in change.kept if task_id not in ended_ids])),
        ("re-planned", _titles(state, replanned_ids(change))),
        ("stopped", _titles(state, change.cancelled)),
        ("added", [plan.title for plan in change.added]),
        ("left out", _titles(state, change.removed)),
    )
    return [labelled_cell(label, _list_titles(titles), "muted") for label, titles in rows if titles]


def replanned_ids(change: GroupChange) -> list[str]:
    """Return the tasks that have not started and whose place is another now."""
    fixed = {*change.kept, *change.cancelled, *(plan.task_id for plan in change.added)}
    return [task_id for task_id in change.after if task_id not in fixed]


def _titles(state: State, task_ids: Sequence[str]) -> list[str]:
    return [state.tasks[task_id].title for task_id in task_ids if task_id in state.tasks]


def _list_titles(titles: Sequence[str]) -> str:
    more = f" and {len(titles) - MAX_NAMED} more" if len(titles) > MAX_NAMED else ""
    return ", ".join(titles[:MAX_NAMED]) + more


STACK, TALL_STACK = 5, 12
"""Nodes of one layer that are shown, in a window of usual height and in a tall one."""
ARROW = 5
"""Characters between two layers."""
INDENT = 3
"""Characters before layers that are wrapped."""


@dataclass(frozen=True, slots=True)
class TaskNode:
    """A task as it is drawn."""

    id: str
    glyph: str
    title: str
    after: tuple[str, ...]


def current_graph(state: State, change: GroupChange) -> list[TaskNode]:
    """Return the current graph."""
    nodes = [state.tasks[task_id] for task_id in state.tasks[change.task_id].children if task_id in state.tasks]
    return [
        TaskNode(node.id, _glyph(state, node.id), node.title, tuple(node.after)) for node in nodes if _is_shown(node)
    ]


def resulting_graph(state: State, change: GroupChange) -> list[TaskNode]:
    """Return the graph after the change."""
    removed_ids = set(change.removed)
    nodes = [
        TaskNode(node.id, node.glyph, node.title, tuple(change.after.get(node.id, node.after)))
        for node in current_graph(state, change)
        if node.id not in removed_ids
    ]
    nodes += [TaskNode(task_id, _glyph(state, task_id), state.tasks[task_id].title, ()) for task_id in change.adopted]
    glyph = TASK[TaskStatus.WAITING].glyph
    added = [
        TaskNode(plan.task_id, glyph, plan.title, tuple(change.after.get(plan.task_id, plan.after)))
        for plan in change.added
    ]
    return nodes + added


def fits_in_width(nodes: Sequence[TaskNode], width: int, *, stack: int = STACK) -> bool:
    """Return whether a graph fits without wrapping."""
    widths = [max(map(cell_len, _stack(layer, stack))) for layer in _layers(nodes)]
    return sum(widths) + ARROW * (len(widths) - 1) <= width


def graph_cells(nodes: Sequence[TaskNode], width: int, *, stack: int = STACK) -> list[Cell]:
    """Return the graph as lines of at most `width` characters; layers that do not fit are wrapped.

    At most `stack` nodes of a layer are shown.
    """
    blocks: list[list[list[str]]] = []
    used_width = width
    for layer in _layers(nodes):
        column = [cut(text, width - INDENT) for text in _stack(layer, stack)]
        column_width = max(cell_len(text) for text in column)
        if used_width + ARROW + column_width > width:
            blocks.append([])
            used_width = INDENT if len(blocks) > 1 else 0
        else:
            used_width += ARROW
        blocks[-1].append(column)
        used_width += column_width
    lines = [_block(block, continues=index > 0) for index, block in enumerate(blocks)]
    return [Cell(line) for block in lines for line in block]


def _is_shown(node: Task) -> bool:
    """Return whether a task is drawn: skipped nodes only if an agent or a team would have worked on them."""
    return node.status is not TaskStatus.SKIPPED or node.kind in ("agent", "group")


def _glyph(state: State, task_id: str) -> str:
    return TASK[state.tasks[task_id].status].glyph


def _layers(nodes: Sequence[TaskNode]) -> list[list[TaskNode]]:
    """Put every node one layer after the last of its predecessors."""
    nodes_by_id = {node.id: node for node in nodes}
    edges = tuple((other, node.id) for node in nodes for other in node.after)
    return [
        [nodes_by_id[node_id] for node_id in layer if node_id in nodes_by_id]
        for layer in arrange_layers(tuple(nodes_by_id), edges).layers
    ]


def _stack(layer: Sequence[TaskNode], max_nodes: int) -> list[str]:
    lines = [f"{node.glyph} {clean(node.title)}" for node in layer[:max_nodes]]
    return [*lines, f"+{len(layer) - max_nodes} more"] if len(layer) > max_nodes else lines


def _block(columns: Sequence[Sequence[str]], *, continues: bool) -> list[str]:
    height = max((len(column) for column in columns), default=0)
    lines = ["─▶ " if continues and row == 0 else "   " if continues else "" for row in range(height)]
    for index, column in enumerate(columns):
        column_width = max(cell_len(text) for text in column)
        for row in range(height):
            text = column[row] if row < len(column) else ""
            lines[row] += text + " " * (column_width - cell_len(text))
            if index < len(columns) - 1:
                lines[row] += _arrow_between(len(column), len(columns[index + 1]), row)
    return [line.rstrip() for line in lines]


_BRANCHES: Mapping[tuple[bool, bool], str] = {
    (True, True): " ─┬▶ ",
    (True, False): " ─┤  ",
    (False, True): "  ├▶ ",
    (False, False): "  │  ",
}


def _arrow_between(left: int, right: int, row: int) -> str:
    """Return row `row` of the arrows from a stack of `left` nodes to one of `right`."""
    height = max(left, right)
    if height == 1:
        return " ──▶ "
    if row >= height:
        return "     "
    if row == height - 1:
        ends = {(True, True): " ─┴▶ ", (True, False): " ─┘  ", (False, True): "  └▶ "}
        return ends.get((row < left, row < right), "     ")
    return _BRANCHES[row < left, row < right]
