"""One message through the core: decide, fold, follow up, until nothing more follows.

See docs/semantics/execution.md.
"""

from collections import deque

from engine.core.commands import Order
from engine.core.decide import decide
from engine.core.decision_context import DecisionContext
from engine.core.effects import Effect, effects_of, restart_effects
from engine.core.errors import ChangesNothing
from engine.core.events import EngineStarted, Event
from engine.core.fold import apply
from engine.core.followups import (
    CHANGES_WHO_IS_ABLE,
    CheckLeaving,
    Dispatch,
    FinishRun,
    FollowUp,
    LookAtPool,
    PlaceAgain,
    TakeSlot,
    followups_of,
)
from engine.core.scheduler import Schedule
from engine.core.signals import Signal
from engine.core.state import State


def step(state: State, message: Order | Signal, ctx: DecisionContext) -> tuple[list[Event], list[Effect]]:
    """Decide `message`, fold what follows into `state`, and go on with what that makes possible.

    Returns:
        What happened, to be journaled in this order, and what the shell has to do once it is.

    Raises:
        ChangesNothing: If a follow-up would follow endlessly. Like everything else that this raises, a defect of the
            core; `state` may be half changed then.
    """
    events: list[Event] = []
    effects: list[Effect] = []
    followups: deque[FollowUp] = deque()
    now: Order | Signal | FollowUp = message
    is_news = True
    is_changed = False
    since = state.seq
    pressing: _Pressing | None = None
    last: list[Event] = []
    schedule = Schedule.of(state)
    while True:
        decided = decide(state, now, ctx)
        if type(now) in _UNTIL_CHANGED:
            if not decided or decided == last:
                raise ChangesNothing(now)
            last = decided
        for event in decided:
            is_news = True
            apply(state, event)
            events.append(event)
            effects += effects_of(state, event)
            followups += followups_of(state, event)
            is_changed = is_changed or type(event) in CHANGES_WHO_IS_ABLE
            if type(event) is EngineStarted:
                effects += restart_effects(state)
        if followups:
            now = followups.popleft() if type(followups[0]) is not FinishRun else _next(followups)
        elif is_changed:
            now, is_changed = PlaceAgain(), False
        elif schedule.next_line(state) is not None:
            now = Dispatch()
        elif schedule.urgent and (task_id := (pressing := pressing or _Pressing(since)).next(state, schedule)):
            now = TakeSlot(task_id=task_id)
        elif schedule.resizable:
            now = LookAtPool(agent_id=next(iter(schedule.resizable)))
        elif state.leaving and is_news:
            now, is_news = CheckLeaving(), False
        else:
            return events, effects


_UNTIL_CHANGED: tuple[type, ...] = (Dispatch, LookAtPool)
"""What follows from the schedule until deciding it has changed it."""


class _Pressing:
    """Queues to which urgent tasks came in this message: of each, the first is looked at, until one finds no slot.

    Args:
        since: The last event before this message.
    """

    def __init__(self, since: int) -> None:
        self._seen = since
        self._queues: dict[str, bool] = {}
        """Whether a slot may still be found for what waits there."""
        self._last: str | None = None

    def next(self, state: State, schedule: Schedule) -> str | None:
        """Return the next task to look at; None where nothing is left to take."""
        if self._last in schedule.urgent:
            self._queues[state.tasks[self._last or ""].queue or ""] = False
        for task_id in _newly_urgent(schedule, self._seen):
            self._queues.setdefault(state.tasks[task_id].queue or "", True)
        self._seen = state.seq
        open_ones = (schedule.first_urgent(state, key) for key, is_open in self._queues.items() if is_open)
        self._last = next((task_id for task_id in open_ones if task_id is not None), None)
        return self._last


def _newly_urgent(schedule: Schedule, since: int) -> list[str]:
    """Return the urgent tasks that were put there after an event, the first first."""
    found: list[str] = []
    for task_id, seq in reversed(schedule.urgent.items()):
        if seq <= since:
            break
        found.append(task_id)
    return found[::-1]


def _next(followups: deque[FollowUp]) -> FollowUp:
    """Take the next followup; a run is closed last, because what else follows may still end tasks of it."""
    while type(followups[0]) is FinishRun and any(type(one) is not FinishRun for one in followups):
        followups.rotate(-1)
    return followups.popleft()
