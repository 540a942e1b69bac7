"""Past states for a fork: folded to a consistent point, with the output of a step changed."""

from collections.abc import Collection, Iterable

from engine.core.decide import decide
from engine.core.decisions.decision_context import DecisionContext
from engine.core.errors import Refused
from engine.core.events import Event
from engine.core.fold import apply
from engine.core.fold.kept import forget_dropped_conflicts
from engine.core.followups import FollowUp
from engine.core.followups.table import followups_of
from engine.core.legality import faults_of
from engine.core.records.values import StoredValue
from engine.core.scheduler import Schedule
from engine.core.state import State


def go_to_rest(state: State, events: Iterable[Event]) -> None:
    """Fold events until the state is between two messages, where an engine can continue.

    The follow-ups of an event are decided after it in the journal. A state without their events would be stuck, because
    follow-ups are not journaled and no engine would decide them again.

    Args:
        state: The state before the chosen event.
        events: The chosen event, and those of the same millisecond after it.
    """
    pending: list[FollowUp] = []
    for event in events:
        apply(state, event)
        pending += followups_of(state, event)
        if not _has_undecided(state, pending):
            return


def _has_undecided(state: State, pending: list[FollowUp]) -> bool:
    """Return whether follow-ups of the folded events are still undecided."""
    ctx = DecisionContext(now_ms=state.at_ms, jitter=0.0)
    Schedule.of(state)
    try:
        return any(decide(state, followup, ctx) for followup in pending) or next(faults_of(state), None) is not None
    except (LookupError, AssertionError):  # a later event of the message has removed the subject of a follow-up
        return True


def change_step(state: State, task_id: str, key: str, output: StoredValue, *, later: Collection[str]) -> None:
    """Change the output of a recorded step of an open task, and drop the steps with the keys `later`."""
    task = state.tasks.get(task_id)
    if task is None or task.ended:
        state_text = "has ended" if task is None else f"has ended ({task.status.value})"
        raise Refused(f"task {task_id} {state_text} by then; fork at the step itself, without another moment")
    if key not in task.steps:
        raise Refused(f"task {task_id} has no step {key!r} by then")
    steps = {name: value for name, value in task.steps.items() if name not in later}
    task.steps = {**steps, key: output}
    forget_dropped_conflicts(task)
    task.calling = {name: tool for name, tool in task.calling.items() if name not in later}
