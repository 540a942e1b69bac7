"""The engine's own beginning and end."""

from engine.core.commands import HandOver, Ping, StopEngine
from engine.core.context import Context
from engine.core.decide.applied import Applied
from engine.core.decide.stopping import lost
from engine.core.errors import Refused
from engine.core.events import EngineStarted, EngineStopped, Event
from engine.core.queries.bound import bound_elsewhere
from engine.core.signals import EngineBegan, EngineEnds
from engine.core.state import State


def engine_began(state: State, signal: EngineBegan, ctx: Context) -> list[Event]:
    """Take up what the engine before left: every attempt that was at work ended with it."""
    away = None if signal.bound is None else [agent.id for agent in bound_elsewhere(state, signal.bound)]
    started = EngineStarted(
        pid=signal.pid,
        token=signal.token,
        version=signal.version,
        away=away,
        processes=signal.processes,
        lost=signal.lost,
    )
    return [started, *reconcile(state, ctx)]


def reconcile(state: State, ctx: Context) -> list[Event]:
    """Return the end of every attempt that was at work; finished steps are kept by the fold."""
    tasks = [(task, task.attempt) for task in state.tasks.values()]
    return [event for task, attempt in tasks if attempt is not None for event in lost(state, task, attempt, ctx)]


def engine_ends(state: State, signal: EngineEnds, ctx: Context) -> list[Event]:
    """Say that the engine ends on purpose."""
    return [EngineStopped(reason=signal.reason)]


def stop_engine(state: State, command: StopEngine, ctx: Context) -> Applied:
    """End the engine; open runs are suspended."""
    if command.token is not None and state.engine is not None and command.token != state.engine.token:
        raise Refused("the engine that was to stop has ended already; this is another")
    stopped = EngineStopped(reason="stopped by command", final=True)
    return Applied(events=[stopped], summary="stopped the engine", result={"suspended": len(state.runs)})


def hand_over(state: State, command: HandOver, ctx: Context) -> Applied:
    """End the engine for another to go on; the shell has looked for one, and let attempts come to their next step."""
    if command.token is not None and state.engine is not None and command.token != state.engine.token:
        raise Refused("the engine that was to hand over has ended already; this is another")
    stopped = EngineStopped(reason="handed over")
    return Applied(events=[stopped], summary="handed over", result={"suspended": len(state.runs)})


def ping(state: State, command: Ping, ctx: Context) -> Applied:
    """Answer."""
    return Applied(events=[], summary="the engine answers")
