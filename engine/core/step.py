"""Processes one message: decide, fold, decide the follow-ups, until none is left.

See docs/semantics/execution.md.
"""

from collections import deque

from engine.core.commands import Order
from engine.core.decide import decide
from engine.core.decisions.decision_context import DecisionContext
from engine.core.effects import Effect
from engine.core.effects.table import effects_of, restart_effects
from engine.core.errors import ChangesNothing
from engine.core.events import CommandApplied, EngineStarted, Event
from engine.core.fold import apply
from engine.core.followups import (
    CheckLeaving,
    CheckPool,
    CheckUnserved,
    Dispatch,
    FinishRun,
    FollowUp,
    PlaceAgain,
    TakeSlot,
)
from engine.core.followups.table import ABILITY_EVENTS, SERVING_EVENTS, followups_of
from engine.core.records.records import copy_with
from engine.core.scheduler import Schedule
from engine.core.signals import Signal
from engine.core.state import State


def step(
    state: State, message: Order | Signal, ctx: DecisionContext, *, starts_tasks: bool = True
) -> tuple[list[Event], list[Effect]]:
    """Decide `message`, fold the events into `state`, and process follow-ups until none is left.

    Args:
        starts_tasks: Start tasks that can begin. False if none can: it avoids building a schedule.

    Returns:
        The events, to be journaled in this order, and the effects to perform once the events are on disk.

    Raises:
        ChangesNothing: If a follow-up would repeat endlessly. Like every other exception from here, that is a defect
            of the core, and `state` may be half changed.
    """
    events: list[Event] = []
    effects: list[Effect] = []
    followups: deque[FollowUp] = deque()
    current_message: Order | Signal | FollowUp = message
    has_new_events = True
    abilities_changed = False
    serving_changed = leaving_acted = False
    urgent_queues = _UrgentQueues(state.seq)
    previous_events: list[Event] = []
    # A state without one, such as a snapshot, gets it on demand below, after its first events: they may make it stale.
    schedule = Schedule.of(state) if state.schedule is not None else None
    while True:
        new_events = decide(state, current_message, ctx)
        # These follow-ups come from the schedule, not from an event: one that leaves the schedule unchanged would
        # repeat endlessly and hang the engine.
        if type(current_message) in _REPEATED_FOLLOWUPS:
            if not new_events or new_events == previous_events:
                raise ChangesNothing(current_message)
            previous_events = new_events
        for event in new_events:
            has_new_events = True
            apply(state, event)
            events.append(event)
            effects += effects_of(state, event)
            followups += followups_of(state, event)
            abilities_changed = abilities_changed or type(event) in ABILITY_EVENTS
            serving_changed = serving_changed or type(event) in SERVING_EVENTS
            if type(event) is EngineStarted:
                effects += restart_effects(state)
        # Placement runs before dispatch, so that tasks that change their queue are ranked among those waiting there.
        # Preemption runs after it: only a task that dispatch could not start may take the slot of another.
        if followups:
            current_message = followups.popleft() if type(followups[0]) is not FinishRun else _take_followup(followups)
        elif abilities_changed:
            current_message = PlaceAgain()
            abilities_changed = False
        elif starts_tasks and (schedule := schedule or Schedule.of(state)).next_queue(state) is not None:
            current_message = Dispatch()
        elif (
            schedule is not None
            and schedule.urgent
            and (task_id := urgent_queues.next_task_id(state, schedule)) is not None
        ):
            current_message = TakeSlot(task_id=task_id)
        elif schedule is not None and schedule.resizable:
            current_message = CheckPool(agent_id=next(iter(schedule.resizable)))
        elif state.leaving and has_new_events:  # last: the follow-ups before may still start work on a leaving member
            current_message = CheckLeaving()
            has_new_events = False
            leaving_acted = True  # what a leaving agent holds may have become ready, or be held by now
        elif serving_changed or leaving_acted or (schedule is not None and schedule.unserved):
            is_general = serving_changed or (schedule is not None and schedule.unserved)
            current_message = CheckUnserved(of_leaving=not is_general)
            serving_changed = leaving_acted = False
            if schedule is not None:
                schedule.unserved = False
        else:
            return _record_extent(events) if type(message) is Order else events, effects


def _record_extent(events: list[Event]) -> list[Event]:
    """Record in `CommandApplied` how many events around it are the command's: others may have the same time."""
    for index, event in enumerate(events):
        if type(event) is CommandApplied:
            events[index] = copy_with(event, before=index, after=len(events) - index - 1)
    return events


_REPEATED_FOLLOWUPS: tuple[type, ...] = (Dispatch, CheckPool)
"""Follow-ups that repeat until the schedule no longer calls for them."""


class _UrgentQueues:
    """Queues with urgent tasks of this message, each tried until one of its tasks finds no slot."""

    def __init__(self, last_seq: int) -> None:
        self._last_seq = last_seq
        self._queues: dict[str, bool] = {}
        """Whether an urgent task of the queue may still find a slot."""
        self._last_task_id: str | None = None

    def next_task_id(self, state: State, schedule: Schedule) -> str | None:
        """Return the next urgent task that may preempt; None when no queue can get another slot."""
        # Still urgent after its `TakeSlot`: there was no attempt to stop. The tasks behind it in the queue compete for
        # the same slots, so trying them would only repeat the search.
        if self._last_task_id in schedule.urgent:
            self._queues[state.tasks[self._last_task_id or ""].queue or ""] = False
        for task_id in _newly_urgent(schedule, self._last_seq):
            self._queues.setdefault(state.tasks[task_id].queue or "", True)
        self._last_seq = state.seq
        candidates = (schedule.first_urgent(state, key) for key, is_open in self._queues.items() if is_open)
        self._last_task_id = next((task_id for task_id in candidates if task_id is not None), None)
        return self._last_task_id


def _newly_urgent(schedule: Schedule, last_seq: int) -> list[str]:
    """Return the tasks that became urgent after event `last_seq`, oldest first."""
    task_ids: list[str] = []
    # `urgent` is in order of insertion: read backwards, only the new tasks are visited.
    for task_id, seq in reversed(schedule.urgent.items()):
        if seq <= last_seq:
            break
        task_ids.append(task_id)
    return task_ids[::-1]


def _take_followup(followups: deque[FollowUp]) -> FollowUp:
    """Take the next follow-up; runs are finished last, because other follow-ups may still end tasks of them."""
    while type(followups[0]) is FinishRun and any(type(followup) is not FinishRun for followup in followups):
        followups.rotate(-1)
    return followups.popleft()
