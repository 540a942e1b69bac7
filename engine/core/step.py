"""One message through the core: decide, fold, follow up, until nothing more follows.

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
    Dispatch,
    FinishRun,
    FollowUp,
    LookAtPool,
    PlaceAgain,
    TakeSlot,
)
from engine.core.followups.table import ABILITY_EVENTS, followups_of
from engine.core.records.records import copy_with
from engine.core.scheduler import Schedule
from engine.core.signals import Signal
from engine.core.state import State


def step(
    state: State, message: Order | Signal, ctx: DecisionContext, *, begins: bool = True
) -> tuple[list[Event], list[Effect]]:
    """Decide `message`, fold the events into `state`, and process follow-ups until none is left.

    Args:
        begins: Begin what can begin. False where nothing can, which spares making a schedule.

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
    is_news = True
    is_changed = False
    since = state.seq
    urgent: _UrgentQueues | None = None
    last: list[Event] = []
    # A state without one, such as a snapshot, gets it where it is asked: its first events would make it twice.
    schedule = Schedule.of(state) if state.schedule is not None else None
    while True:
        decided = decide(state, current_message, ctx)
        # These follow-ups come from the schedule, not from an event: one that leaves the schedule as it was would be
        # taken again for ever and hang the engine.
        if type(current_message) in _REPEATED_FOLLOWUPS:
            if not decided or decided == last:
                raise ChangesNothing(current_message)
            last = decided
        for event in decided:
            is_news = True
            apply(state, event)
            events.append(event)
            effects += effects_of(state, event)
            followups += followups_of(state, event)
            is_changed = is_changed or type(event) in ABILITY_EVENTS
            if type(event) is EngineStarted:
                effects += restart_effects(state)
        # Placement runs before dispatch, so that tasks that change their queue are ranked with those that wait there.
        # Preemption runs after it: only a task that dispatch could not start may take a slot from another.
        if followups:
            current_message = followups.popleft() if type(followups[0]) is not FinishRun else _take_followup(followups)
        elif is_changed:
            current_message, is_changed = PlaceAgain(), False
        elif begins and (schedule := schedule or Schedule.of(state)).next_queue(state) is not None:
            current_message = Dispatch()
        elif (
            schedule is not None
            and schedule.urgent
            and (task_id := (urgent := urgent or _UrgentQueues(since)).next(state, schedule))
        ):
            current_message = TakeSlot(task_id=task_id)
        elif schedule is not None and schedule.resizable:
            current_message = LookAtPool(agent_id=next(iter(schedule.resizable)))
        elif state.leaving and is_news:  # last, because everything before may still begin work on a member that leaves
            current_message, is_news = CheckLeaving(), False
        else:
            return _with_extent(events) if type(message) is Order else events, effects


def _with_extent(events: list[Event]) -> list[Event]:
    """Say in the outcome of a command which events are its own: others may have happened in the same millisecond."""
    for place, event in enumerate(events):
        if type(event) is CommandApplied:
            events[place] = copy_with(event, before=place, after=len(events) - place - 1)
    return events


_REPEATED_FOLLOWUPS: tuple[type, ...] = (Dispatch, LookAtPool)
"""Follow-ups that repeat until the schedule no longer asks for them."""


class _UrgentQueues:
    """Queues that received urgent tasks during this message, each tried until one of its tasks finds no slot.

    Args:
        since: Number of the last event before this message.
    """

    def __init__(self, since: int) -> None:
        self._last_seq = since
        self._queues: dict[str, bool] = {}
        """Whether an urgent task of the queue may still find a slot."""
        self._last: str | None = None

    def next(self, state: State, schedule: Schedule) -> str | None:
        """Return the next urgent task that may preempt; None when no queue can get another slot."""
        # Still urgent after its `TakeSlot`: it found no attempt to stop. The tasks behind it in the queue compete for
        # the same slots, so trying them would only repeat the search.
        if self._last in schedule.urgent:
            self._queues[state.tasks[self._last or ""].queue or ""] = False
        for task_id in _newly_urgent(schedule, self._last_seq):
            self._queues.setdefault(state.tasks[task_id].queue or "", True)
        self._last_seq = state.seq
        candidates = (schedule.first_urgent(state, key) for key, is_open in self._queues.items() if is_open)
        self._last = next((task_id for task_id in candidates if task_id is not None), None)
        return self._last


def _newly_urgent(schedule: Schedule, since: int) -> list[str]:
    """Return the tasks that became urgent after event `since`, oldest first."""
    task_ids: list[str] = []
    # `urgent` is in order of insertion: reading it backwards costs what is new, not what is waiting.
    for task_id, seq in reversed(schedule.urgent.items()):
        if seq <= since:
            break
        task_ids.append(task_id)
    return task_ids[::-1]


def _take_followup(followups: deque[FollowUp]) -> FollowUp:
    """Take the next follow-up; runs are finished last, because other follow-ups may still end tasks of them."""
    while type(followups[0]) is FinishRun and any(type(followup) is not FinishRun for followup in followups):
        followups.rotate(-1)
    return followups.popleft()
