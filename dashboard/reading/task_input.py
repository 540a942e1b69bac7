"""The input of a task of a finished run: the state drops it, the event that planned the task has it."""

from typing import Any, NamedTuple

from dashboard.views.words.names import readable
from engine.core.events import Delegated, Event, GroupGrown, GroupPlanned, NodePlan, RunSubmitted, StrategySwitched
from engine.reading.folding import events_of
from store import Reader

_PLANS = [kind.type for kind in (Delegated, GroupPlanned, GroupGrown, StrategySwitched, RunSubmitted)]
_MAX_PLANS = 8
"""Maximum plans that name a task and are searched, the newest first: a growing graph names its nodes again."""


def input_of(reader: Reader, run_id: str, task_id: str, before_seq: int) -> str:
    """Return the input of a task as text.

    Args:
        before_seq: Seq of an event of the task; its plan is before it.

    Returns:
        The text, or the group's for a node that takes the input of its group; empty if no plan was found.
    """
    while task_id:
        plan = _plan(reader, run_id, task_id, before_seq)
        if plan is None:
            return ""
        if plan.of_group is None:
            return readable(plan.input)
        task_id = plan.of_group
    return ""


class _Plan(NamedTuple):
    task_id: str
    input: Any
    of_group: str | None = None
    """The group whose input it takes; None if it has its own."""


def _plan(reader: Reader, run_id: str, task_id: str, before_seq: int) -> _Plan | None:
    records = reader.records_before(before_seq, _MAX_PLANS, run_id=run_id, kinds=_PLANS, value=task_id)
    events = events_of(records)
    return next((plan for event in reversed(events) for plan in _plans(event) if plan.task_id == task_id), None)


def _plans(event: Event) -> list[_Plan]:
    """Return the tasks that an event plans."""
    match event:
        case RunSubmitted():
            return [_Plan(event.root_id, event.request)]
        case Delegated():
            return [_Plan(child.task_id, child.input) for child in event.children]
        case GroupPlanned():
            return [_node(node, event.task_id) for node in event.nodes]
        case GroupGrown():
            return [_node(node, event.task_id) for node in event.added]
        case StrategySwitched():
            return [_node(node, group.task_id) for group in event.groups for node in group.added]
    return []


def _node(node: NodePlan, group_id: str) -> _Plan:
    return _Plan(node.task_id, node.input, None if node.takes == "own" else group_id)
