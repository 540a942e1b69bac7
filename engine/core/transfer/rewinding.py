"""A state as of a moment in the past, and one recorded step of it with another result."""

from collections.abc import Collection, Iterable

from engine.core.decide import decide
from engine.core.decision_context import DecisionContext
from engine.core.errors import Refused
from engine.core.events import Event
from engine.core.fold import apply
from engine.core.followups import FollowUp, followups_of
from engine.core.legality import faults_of
from engine.core.scheduler import Schedule
from engine.core.state import State
from engine.core.values import StoredValue


def go_to_rest(state: State, events: Iterable[Event]) -> None:
    """Fold events until the state stands between two messages, where an engine can go on from it.

    A moment is named by an event, and the decisions that follow from that event come after it in the journal. Without
    them the work would stand still: no engine decides them again.

    Args:
        state: As of the event before the one that was named.
        events: The one that was named, and those of the same millisecond after it.
    """
    pending: list[FollowUp] = []
    for event in events:
        apply(state, event)
        pending += followups_of(state, event)
        if not _is_owed(state, pending):
            return


def _is_owed(state: State, pending: list[FollowUp]) -> bool:
    """Tell whether something is still to be decided because of what has happened."""
    now = DecisionContext(now_ms=state.at_ms, jitter=0.0)
    Schedule.of(state)
    try:
        return any(decide(state, followup, now) for followup in pending) or next(faults_of(state), None) is not None
    except (LookupError, AssertionError):  # what it is about has gone
        return True


def change_step(state: State, task_id: str, key: str, output: StoredValue, *, later: Collection[str]) -> None:
    """Give a recorded step another output, and drop what came after it in its task.

    Args:
        state: A state in which the step is recorded.
        task_id: Whose step.
        key: Which.
        output: What it is to have come to.
        later: Keys of steps that were recorded after it.

    Raises:
        Refused: If its task cannot go on from there.
    """
    task = state.tasks.get(task_id)
    if task is None or task.ended:
        ended = "has ended" if task is None else f"has ended ({task.status.value})"
        raise Refused(f"task {task_id} {ended} by then; fork at the step itself, without another moment")
    if key not in task.steps:
        raise Refused(f"task {task_id} has no step {key!r} by then")
    steps = {name: value for name, value in task.steps.items() if name not in later}
    task.steps = {**steps, key: output}
    task.calling = {name: tool for name, tool in task.calling.items() if name not in later}
