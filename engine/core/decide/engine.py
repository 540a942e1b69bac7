"""The engine's own beginning and end, and states that come in from elsewhere."""

from engine.core.commands import HandOver, ImportState, Ping, StopEngine
from engine.core.context import Context
from engine.core.decide.applied import Applied
from engine.core.decide.mint import Mint
from engine.core.decide.stopping import lost
from engine.core.decide.trust import grant
from engine.core.document import entities, references_in
from engine.core.errors import NotTrusted, Refused
from engine.core.events import (
    CommandApplied,
    CommandRefused,
    EngineStarted,
    EngineStopped,
    Event,
    StateImported,
)
from engine.core.importing import renamed
from engine.core.queries.bound import bound_elsewhere
from engine.core.signals import EngineBegan, EngineEnds, StateReady, StateUnusable
from engine.core.state import State


def engine_began(state: State, signal: EngineBegan, ctx: Context) -> list[Event]:
    """Take up what the engine before left: every attempt that was at work ended with it."""
    away = None if signal.bound is None else [agent.id for agent in bound_elsewhere(state, signal.bound)]
    started = EngineStarted(at_ms=ctx.now_ms, pid=signal.pid, token=signal.token, version=signal.version, away=away)
    return [started, *reconcile(state, ctx)]


def reconcile(state: State, ctx: Context) -> list[Event]:
    """Return the end of every attempt that was at work; finished steps are kept by the fold."""
    tasks = [(task, task.attempt) for task in state.tasks.values()]
    return [event for task, attempt in tasks if attempt is not None for event in lost(state, task, attempt, ctx)]


def engine_ends(state: State, signal: EngineEnds, ctx: Context) -> list[Event]:
    """Say that the engine ends on purpose."""
    return [EngineStopped(at_ms=ctx.now_ms, reason=signal.reason)]


def stop_engine(state: State, command: StopEngine, ctx: Context) -> Applied:
    """End the engine; open runs are suspended."""
    if command.token is not None and state.engine is not None and command.token != state.engine.token:
        raise Refused("the engine that was to stop has ended already; this is another")
    stopped = EngineStopped(at_ms=ctx.now_ms, reason="stopped by command", final=True)
    return Applied(events=[stopped], summary="stopped the engine", result={"suspended": len(state.runs)})


def hand_over(state: State, command: HandOver, ctx: Context) -> Applied:
    """End the engine for another to go on; the shell has looked for one, and let attempts come to their next step."""
    if command.token is not None and state.engine is not None and command.token != state.engine.token:
        raise Refused("the engine that was to hand over has ended already; this is another")
    stopped = EngineStopped(at_ms=ctx.now_ms, reason="handed over")
    return Applied(events=[stopped], summary="handed over", result={"suspended": len(state.runs)})


def ping(state: State, command: Ping, ctx: Context) -> Applied:
    """Answer."""
    return Applied(events=[], summary="the engine answers")


def import_state(state: State, command: ImportState, ctx: Context) -> Applied:
    """Refuse an order that reached the core without its archive: the shell reads archives first."""
    raise Refused("this engine cannot read archives here; import into a database with: quarterdeck import")


def state_ready(state: State, signal: StateReady, ctx: Context) -> list[Event]:
    """Take in a checked state: as it is into an empty team, with fresh ids into another."""
    if signal.order_id in state.commands:
        return []
    try:
        return _imported(state, signal, ctx)
    except Refused as refusal:
        return [_refused(signal, ctx, refusal.code, refusal.reason)]


def _imported(state: State, signal: StateReady, ctx: Context) -> list[Event]:
    assert isinstance(signal.state, dict)
    references = references_in(signal.state)
    count = {kind: len(entities(signal.state, kind)) for kind in ("agents", "supervisors", "runs", "tasks")}
    missing = [one for one in references if one not in state.trusted and one not in signal.trusted]
    if missing:
        raise NotTrusted(missing)
    empty = not state.supervisors and not state.runs
    taken = {root.name for root in state.roots}
    document = signal.state if empty else renamed(signal.state, Mint(state), taken=taken)
    used = [one for one in signal.trusted if one in references]
    return [
        *grant(state, used, ctx.now_ms),
        StateImported(
            at_ms=ctx.now_ms,
            path=signal.path,
            sha256=signal.sha256,
            paused=signal.paused,
            state=document,
            texts=signal.texts,
        ),
        CommandApplied(
            at_ms=ctx.now_ms,
            command_id=signal.order_id,
            command="import_state",
            sender=signal.sender,
            role=signal.role,
            summary=f"imported {_counted(count['agents'], 'agent')} and {_counted(count['runs'], 'open run')}",
            result={
                "agents": count["agents"],
                "supervisors": count["supervisors"],
                "runs": count["runs"],
                "tasks": count["tasks"],
                "paused": signal.paused,
            },
        ),
    ]


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def state_unusable(state: State, signal: StateUnusable, ctx: Context) -> list[Event]:
    """Say why an archive was not imported."""
    if signal.order_id in state.commands:
        return []
    return [
        CommandRefused(
            at_ms=ctx.now_ms,
            command_id=signal.order_id,
            command="import_state",
            sender=signal.sender,
            role=signal.role,
            code="import_refused",
            reason=signal.reason,
        )
    ]


def _refused(signal: StateReady, ctx: Context, code: str, reason: str) -> CommandRefused:
    return CommandRefused(
        at_ms=ctx.now_ms,
        command_id=signal.order_id,
        command="import_state",
        sender=signal.sender,
        role=signal.role,
        code=code,
        reason=reason,
    )
