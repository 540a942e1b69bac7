"""What a strategy switch would do, without doing it: the engine's own preview, told to a person and to a script."""

from dashboard.cli.items import Item
from dashboard.views.amounts import counted
from engine.core.commands import SwitchStrategy
from engine.core.decide.strategy import switched
from engine.core.events import GroupChange, StrategySwitched
from engine.core.state import State


def strategy_plan(state: State, command: SwitchStrategy) -> tuple[Item, list[str]]:
    """Return what `command` would keep, cancel and plan anew, as JSON and in words.

    Raises:
        Refused: If the engine would refuse it.
    """
    event = switched(state, command)
    return _body(state, event), _told(state, event)


def _body(state: State, event: StrategySwitched) -> Item:
    return {
        "v": 1,
        "kind": "strategy",
        "dry_run": True,
        "seq": state.seq,
        "supervisor_id": event.supervisor_id,
        "previous": event.previous,
        "mode": event.mode,
        "aggregation": event.aggregation,
        "aggregator": event.aggregator,
        "items": [
            {
                "run_id": change.run_id,
                "kept": change.kept,
                "cancelled": change.cancelled,
                "replanned": _replanned(change),
                "added": [node.task_id for node in change.added],
                "removed": change.removed,
            }
            for change in event.groups
        ],
    }


def _told(state: State, event: StrategySwitched) -> list[str]:
    name = state.supervisors[event.supervisor_id].name
    lines = [f"{name}: {event.previous} → {event.mode}, joined by {event.aggregation}"]
    if not event.groups:
        lines.append("no open run is planned anew; the next one is coordinated like that")
    for change in event.groups:
        run = state.runs[change.run_id]
        lines.append(f"{run.id} ({run.title}):")
        lines += [f"  {line}" for line in _lines_of(state, change)]
    return lines


def _lines_of(state: State, change: GroupChange) -> list[str]:
    kept = [task_id for task_id in change.kept if state.tasks[task_id].ended]
    going_on = [task_id for task_id in change.kept if task_id not in kept]
    added = [node.title for node in change.added]
    removed = _titles(state, change.removed)
    return [
        line
        for count, line in (
            (len(kept), f"stays done   {_titles(state, kept)}"),
            (len(going_on), f"goes on      {_titles(state, going_on)}"),
            (len(change.cancelled), f"is stopped   {_titles(state, change.cancelled)}"),
            (len(_replanned(change)), f"re-planned   {_titles(state, _replanned(change))}"),
            (len(added), f"added        {', '.join(added)}"),
            (len(change.removed), f"left out     {removed}"),
        )
        if count
    ] or [f"{counted(0, 'task')} to plan anew"]


def _replanned(change: GroupChange) -> list[str]:
    """Nodes that have not started and whose place is another now."""
    fixed = {*change.kept, *change.cancelled}
    return [task_id for task_id in change.after if task_id not in fixed]


def _titles(state: State, task_ids: list[str]) -> str:
    return ", ".join(state.tasks[task_id].title for task_id in task_ids)
