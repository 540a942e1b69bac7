"""What a strategy switch would keep, stop, plan anew and leave out, in words; and what can be chosen for one."""

from collections.abc import Sequence

from dashboard.views.amounts import counted
from dashboard.views.choices import Choice
from dashboard.views.rows import Cell
from engine.core.events import GroupChange, StrategySwitched
from engine.core.spec import AGGREGATIONS
from engine.core.state import State, Supervisor
from engine.core.strategies import STRATEGIES

NAMED = 6
"""Tasks of one kind that are named."""
_JOINS = {
    "concat": "one behind the other",
    "vote": "what most of them say",
    "best": "the one with the best score",
    "first": "whoever is first",
    "synthesis": "one member makes a whole of them",
}
_RUN = "run:"


def strategies(now: str = "") -> list[tuple[str, str, str]]:
    """Return every strategy: name, name, what it does; the one of `now` last."""
    every = [(name, name, one.about) for name, one in STRATEGIES.items() if name != now]
    if now in STRATEGIES:
        every.append((now, now, f"as now; for other settings: {STRATEGIES[now].about}"))
    return every


def asks_for(mode: str) -> str:
    """Return the settings that a strategy knows, in the words of its own check."""
    said = (STRATEGIES[mode].check.__doc__ or "").strip().partition("\n")[0] if mode in STRATEGIES else ""
    return said.replace("`", "").rstrip(".")


def has_settings(mode: str) -> bool:
    """Tell whether a strategy asks for anything."""
    return not asks_for(mode).startswith("There is nothing")


def members_to_choose(state: State, supervisor: Supervisor, now: str | None, nobody: str) -> list[Choice]:
    """Return the members that may lead or make a synthesis; the first leaves it open, or as it is."""
    names = [state.agents[one].name for one in supervisor.members if one in state.agents]
    teams = [state.supervisors[one].name for one in supervisor.members if one in state.supervisors]
    first = Choice("", now, "as now") if now else Choice("", nobody)
    return [first, *(Choice(name, name) for name in (*names, *teams) if name != now)]


def joins(now: str) -> list[Choice]:
    """Return the ways to join results, the one of now first."""
    names = [now, *(one for one in AGGREGATIONS if one != now)]
    return [Choice(one, one, _JOINS.get(one, "") + (", as now" if one == now else "")) for one in names]


def scopes(state: State, supervisor: Supervisor) -> list[Choice]:
    """Return what a switch can be for: open runs and new ones, new ones alone, or one run."""
    runs = dict.fromkeys(
        task.run_id for task in state.tasks.values()
        if task.kind == "group" and task.worker_id == supervisor.id and not task.ended
    )  # fmt: skip
    each = [
        Choice(f"{_RUN}{one}", one, f"only that run, {state.runs[one].title}; new ones as before")
        for one in runs
        if one in state.runs
    ]
    return [
        Choice("open", "open", "open runs and all new ones"),
        Choice("new", "new", "new runs only; open ones go on as they are"),
        *each,
    ]


def run_of(scope: str | None) -> str | None:
    """Return the run that a scope is for."""
    return scope.removeprefix(_RUN) if scope is not None and scope.startswith(_RUN) else None


def scope_of_run(run_id: str | None) -> str | None:
    """Return the id of the scope that is for one run."""
    return None if run_id is None else f"{_RUN}{run_id}"


PRESERVE = (
    Choice("yes", "goes on", "what is at work ends as it was begun"),
    Choice("no", "stops", "at its next step; its partial result is kept as context"),
)


def consequence(state: State, event: StrategySwitched) -> list[Cell]:
    """Return what the switch does to graphs in progress."""
    if not event.groups:
        return [Cell("no open run is planned anew; the next request is coordinated like that")]
    kept = [task_id for change in event.groups for task_id in change.kept]
    done = sum(task_id in state.tasks and state.tasks[task_id].ended for task_id in kept)
    new = sum(len(change.added) for change in event.groups)
    planned = sum(len(_planned(change)) for change in event.groups)
    stopped = sum(len(change.cancelled) for change in event.groups)
    parts = [f"kept {done} done, {len(kept) - done} running", f"re-planned {planned}", f"cancelled {stopped}"]
    left_out = sum(len(change.removed) for change in event.groups)
    parts += [f"{what} {number}" for what, number in (("added", new), ("left out", left_out)) if number]
    runs = {change.run_id for change in event.groups}
    told = f"{counted(len(event.groups), 'graph')} of {counted(len(runs), 'open run')}: {' · '.join(parts)}"
    return [Cell(told), *_named(state, event.groups[-1])]


def _named(state: State, change: GroupChange) -> list[Cell]:
    """Name the tasks of a graph by what becomes of them."""
    kept = [one for one in change.kept if state.tasks[one].ended]
    rows = (
        ("stay done", _titles(state, kept)),
        ("go on", _titles(state, [one for one in change.kept if one not in kept])),
        ("re-planned", _titles(state, _planned(change))),
        ("stopped", _titles(state, change.cancelled)),
        ("added", [plan.title for plan in change.added]),
        ("left out", _titles(state, change.removed)),
    )
    return [Cell(_some(titles), "muted", f"{label:<12}") for label, titles in rows if titles]


def _planned(change: GroupChange) -> list[str]:
    fixed = {*change.kept, *change.cancelled, *(plan.task_id for plan in change.added)}
    return [task_id for task_id in change.after if task_id not in fixed]


def _titles(state: State, task_ids: Sequence[str]) -> list[str]:
    return [state.tasks[one].title for one in task_ids if one in state.tasks]


def _some(titles: Sequence[str]) -> str:
    more = f" and {len(titles) - NAMED} more" if len(titles) > NAMED else ""
    return ", ".join(titles[:NAMED]) + more
