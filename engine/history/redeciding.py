"""Repeats the core's decisions in a recorded run: graphs of strategies, delegated tasks, and the agents of tasks.

Each decision in the journal is repeated by the present code from the state before it, and compared with the recorded
event. The caller folds the journal. The time at which a task starts depends on all runs and is taken from the journal.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from msgspec import to_builtins

from engine.core import events
from engine.core.decide import decide
from engine.core.decide.work.dispatch import start_event
from engine.core.decisions.decision_context import DecisionContext
from engine.core.events import Event
from engine.core.followups import GrowGroup, PlanGroup
from engine.core.queries.work.inputs import input_of
from engine.core.records.records import JsonValue, copy_with
from engine.core.records.values import StoredValue, as_text
from engine.core.scheduler import Schedule
from engine.core.signals import DelegationAsked
from engine.core.state import State

Delegations: TypeAlias = Mapping[tuple[str, str], DelegationAsked]
"""Delegations of replayed attempts, by task and key."""
Change: TypeAlias = tuple[dict[str, JsonValue], dict[str, JsonValue]]
"""The fields of an event that differ: as recorded, and as decided now."""


class Planner:
    """Repeats the planning decisions of one run.

    Args:
        read: Returns a value that the state holds by reference.
        delegations: The delegations that were replayed; only these are decided again.
    """

    def __init__(self, run_id: str, read: Callable[[StoredValue], JsonValue], delegations: Delegations) -> None:
        self._run_id = run_id
        self._read = read
        self._delegations = delegations
        self._verdicts: dict[str, GrowGroup] = {}

    def compare(self, state: State, event: Event, seq: int) -> Change | None:
        """Return how a recorded event would differ now; None if it would not. `state` is the one before it."""
        if getattr(event, "run_id", None) != self._run_id:
            return None
        if isinstance(event, events.GroupPlanned):
            return _compare(event, self._plan_again(state, event))
        if isinstance(event, events.GroupGrown):
            return _compare(event, self._grow_again(state, event))
        if isinstance(event, events.Delegated):
            signal = self._delegations.get((event.task_id, event.call_key))
            return None if signal is None else _compare(event, _delegate_again(state, event, signal))
        if isinstance(event, events.AttemptStarted):
            return _compare(event, _start_again(state, event))
        if isinstance(event, events.AttemptDone) and state.tasks[event.task_id].kind == "check":
            self._verdicts[event.task_id] = GrowGroup(check_id=event.task_id, verdict=event.output, seq=seq)
        return None

    def _plan_again(self, state: State, event: events.GroupPlanned) -> list[Event]:
        context = _context(state, event)
        decided = decide(state, PlanGroup(task_id=event.task_id), context)
        if any(isinstance(decided_event, events.PlanAsked) for decided_event in decided):
            text = as_text(self._read(input_of(state, state.tasks[event.task_id])))
            decided = decide(state, PlanGroup(task_id=event.task_id, text=text), context)
        return decided

    def _grow_again(self, state: State, event: events.GroupGrown) -> list[Event]:
        prompt = self._verdicts.get(event.check_id)
        return [event] if prompt is None else decide(state, prompt, _context(state, event))


def _delegate_again(state: State, event: events.Delegated, signal: DelegationAsked) -> list[Event]:
    repeated_signal = copy_with(signal, attempt=event.attempt, busy=not event.parks, generation=None)
    return decide(state, repeated_signal, _context(state, event))


def _start_again(state: State, event: events.AttemptStarted) -> list[Event]:
    """Return the start of the task on the agent that would be chosen now; the same event if none would be."""
    task = state.tasks[event.task_id]
    agent = None if event.agent_id is None else Schedule.of(state).agent_for(state, task)
    return [event] if agent is None else [start_event(task, agent)]


def _context(state: State, event: Any) -> DecisionContext:
    return DecisionContext(now_ms=event.at_ms, jitter=0.0)


def _compare(event: Event, decided: list[Event]) -> Change | None:
    """Compare an event with its counterpart among the events decided now, or else with the end of the group."""
    same_type = next((candidate for candidate in decided if type(candidate) is type(event)), None)
    counterpart = same_type or next(
        (candidate for candidate in decided if isinstance(candidate, events.GroupEnded)), None
    )
    recorded_fields, new_fields = _fields(event), {} if counterpart is None else _fields(counterpart)
    differing = [
        name for name in {**recorded_fields, **new_fields} if recorded_fields.get(name) != new_fields.get(name)
    ]
    if not differing:
        return None
    return {name: recorded_fields.get(name) for name in differing}, {name: new_fields.get(name) for name in differing}


def _fields(event: Event) -> dict[str, JsonValue]:
    values: dict[str, JsonValue] = to_builtins(event)
    return {name: value for name, value in values.items() if name not in ("at_ms", "run_id")}
