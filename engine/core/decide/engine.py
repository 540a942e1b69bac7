"""Decides on the start and end of the engine, and on timers that are due."""

from collections.abc import Callable
from typing import TypeAlias

from engine.core.budgets import deadlines, enforcement
from engine.core.commands import HandOver, Ping, StopEngine
from engine.core.decide.people import asking, escalations, memory
from engine.core.decide.teams import swapping, team
from engine.core.decide.work import failing
from engine.core.decide.work.attempts import end_lost
from engine.core.decisions.decision_context import DecisionContext
from engine.core.decisions.outcomes import Decided
from engine.core.errors import Refused
from engine.core.events import EngineSlept, EngineStarted, EngineStopped, Event
from engine.core.queries.team.able import agents_bound_elsewhere
from engine.core.signals import EngineBegan, EngineEnds, EngineWoke, TimerDue
from engine.core.state import State, Timer


def engine_began(state: State, signal: EngineBegan, ctx: DecisionContext) -> list[Event]:
    """Begin an epoch, and end every attempt of the previous engine."""
    away = None if signal.bound is None else [agent.id for agent in agents_bound_elsewhere(state, signal.bound)]
    # A quiet engine that was killed lived on after its last event; the end of one that stopped is an event.
    was_killed = state.engine is not None and state.engine.stopped_ms is None
    heard_ms = (signal.heard_ms or 0) if was_killed else 0
    started = EngineStarted(
        pid=signal.pid,
        token=signal.token,
        version=signal.version,
        away=away,
        processes=signal.processes,
        lost=signal.lost,
        last_ms=max(state.at_ms, heard_ms) or None,
    )
    return [started, *reconcile(state, ctx)]


def reconcile(state: State, ctx: DecisionContext) -> list[Event]:
    """Return the ends of all attempts of the previous engine; the fold keeps their finished steps."""
    tasks = [task for task in state.tasks.values() if task.attempt is not None]
    return [event for task in tasks if task.attempt is not None for event in end_lost(state, task, task.attempt, ctx)]


def engine_ends(state: State, signal: EngineEnds, ctx: DecisionContext) -> list[Event]:
    """Record that the engine ends on purpose."""
    return [EngineStopped(reason=signal.reason)]


def engine_woke(state: State, signal: EngineWoke, ctx: DecisionContext) -> list[Event]:
    """Record that the computer slept: attempts are not charged for that time."""
    return [EngineSlept(slept_ms=signal.slept_ms)]


def stop_engine(state: State, command: StopEngine, ctx: DecisionContext) -> Decided:
    """End the engine; open runs are suspended."""
    # The command may have waited in the inbox while its engine crashed and another one started.
    if command.token is not None and state.engine is not None and command.token != state.engine.token:
        raise Refused("the engine that was to stop has already ended; this is another one")
    stopped = EngineStopped(reason="stopped by command", final=True)
    return Decided(events=[stopped], summary="stopped the engine", result={"suspended": len(state.runs)})


def hand_over(state: State, command: HandOver, ctx: DecisionContext) -> Decided:
    """End the engine for a standby; `host.handover` has checked that there is one and wound down the attempts."""
    if command.token is not None and state.engine is not None and command.token != state.engine.token:
        raise Refused("the engine that was to hand over has already ended; this is another one")
    stopped = EngineStopped(reason="handed over")
    return Decided(events=[stopped], summary="handed over", result={"suspended": len(state.runs)})


def ping(state: State, command: Ping, ctx: DecisionContext) -> Decided:
    """Answer without an event."""
    return Decided(events=[], summary="the engine answers")


OnTimer: TypeAlias = Callable[[State, Timer, DecisionContext], list[Event]]
ON_TIMER: dict[str, OnTimer] = {
    "retry": failing.retry_due,
    "escalation": escalations.escalation_due,
    "circuit": failing.cooling_due,
    "pool": team.pool_due,
    "warn": deadlines.warning_due,
    "deadline": deadlines.deadline_due,
    "grace": deadlines.grace_due,
    "time": enforcement.time_due,
    "drain": swapping.drain_due,
    "grant": asking.grant_due,
    "expiry": memory.expiry_due,
}
"""The handler of every kind of timer; the events that it decides drop or replace the timer."""


def timer_due(state: State, signal: TimerDue, ctx: DecisionContext) -> list[Event]:
    """Decide on a timer, unless it was dropped or moved to later."""
    timer = state.timers.get(signal.timer_id)
    if timer is None or timer.due_ms > ctx.now_ms:
        return []
    return ON_TIMER[timer.kind](state, timer, ctx)
