"""Decides messages: turns a command, signal or follow-up and the state into events; one file per subject.

A handler takes the state, a message and `ctx`. `core/handlers.py` finds the handlers in `_FILES` by the annotation of
the message. Handlers of commands return `Decided`, all others return events.

Pure: time and one random draw come in `ctx`, and the state is only read. A command becomes events and `CommandApplied`,
or `CommandRefused` alone.
"""

from engine.core import commands
from engine.core.budgets import deadlines, enforcement
from engine.core.commands import COMMANDS, Command, Order
from engine.core.decide import engine
from engine.core.decide.people import asking, escalations, memory, steering, undoing
from engine.core.decide.teams import importing, leaving, loading, moving, recipes, settings, swapping, team
from engine.core.decide.work import attempts, discovering, dispatch, failing, graphs, progress, run, strategy, unserved
from engine.core.decisions.decision_context import DecisionContext
from engine.core.decisions.outcomes import Decided, stamp
from engine.core.errors import Refused
from engine.core.events import CommandApplied, CommandRefused, Event
from engine.core.followups import FOLLOWUPS, FollowUp
from engine.core.handlers import handlers_in
from engine.core.queries.people.inverses import as_command, as_json, inverse_of
from engine.core.queries.people.offers import DISCOVER
from engine.core.queries.work.excerpts import args_of
from engine.core.records.records import copy_with
from engine.core.signals import SIGNALS, Signal
from engine.core.state import NOBODY, State
from engine.core.validation.records import rebuild_checked

_FILES = (
    asking, attempts, deadlines, discovering, dispatch, enforcement, engine, escalations, failing, graphs, importing,
    leaving, loading, memory, moving, progress, recipes, run, settings, steering, strategy, swapping, team, unserved,
)  # fmt: skip
ON_COMMAND = handlers_in(map(vars, _FILES), COMMANDS, DecisionContext, result_hint=Decided)
"""The handler of every command."""
ON_MESSAGE = handlers_in(map(vars, _FILES), (*SIGNALS, *FOLLOWUPS), DecisionContext, result_hint=list[Event])
"""The handler of every signal and every follow-up."""

# Registered here, because these modules import `escalations`, which cannot import them in turn.
escalations.ON_ANSWER["failure"] = failing.on_failure_answered
escalations.ON_ANSWER["doubt"] = escalations.on_doubt_answered
escalations.ON_ANSWER[DISCOVER] = discovering.on_discovery_answered
escalations.ON_ANSWER["drain"] = swapping.on_drain_answered
escalations.ON_ANSWER["budget"] = enforcement.on_budget_answered
escalations.ON_ANSWER[NOBODY] = unserved.on_nobody_answered
escalations.ON_ANSWER["ask"] = asking.on_question_answered
escalations.ON_ANSWER["approval"] = asking.on_permission_answered
escalations.ON_ANSWER["permission"] = asking.on_permission_answered


def undo(state: State, command: commands.Undo, ctx: DecisionContext) -> Decided:
    """Carry out the inverse of a command."""
    command_id, undoable = undoing.find_undoable(state, command, ctx.now_ms)
    inverse = as_command(undoable.inverse)
    if isinstance(inverse, commands.Resume):  # ends the pause only: a failed member stays failed
        decided = team.resume_decision(team.find_pausable(state, inverse.target), [])
    else:
        decided = ON_COMMAND[type(inverse)](state, inverse, ctx)
    return undoing.undo_event(command_id, undoable, decided)


ON_COMMAND[commands.Undo] = undo


def decide(state: State, message: Order | Signal | FollowUp, ctx: DecisionContext) -> list[Event]:
    """Return the events of `message`, without changing `state`.

    `Refused` refuses a command. Every other exception is a defect and propagates.
    """
    if type(message) is Order:
        return stamp(state, _decide_order(state, message, ctx), ctx.now_ms)
    return stamp(state, ON_MESSAGE[type(message)](state, message, ctx), ctx.now_ms)


def carry_out(state: State, command: Command, ctx: DecisionContext) -> Decided:
    """Return the events of a command, without changing `state`.

    Raises:
        Refused: If the command is refused; `BadValue` if a value in it is invalid.
    """
    applied: Decided = ON_COMMAND[type(command)](state, rebuild_checked(command, str(command.type)), ctx)
    stamp(state, applied.events, ctx.now_ms)
    return applied


def _decide_order(state: State, order: Order, ctx: DecisionContext) -> list[Event]:
    if order.id in state.commands:
        return []
    kind = str(order.command.type)
    if order.granted or order.run_outcomes or order.again or order.sender or order.origin:
        ctx = copy_with(
            ctx,
            granted=order.granted,
            ended=order.run_outcomes,
            again=order.again,
            sender=order.sender,
            run_id=order.run_id,
            origin=order.origin,
        )
    try:
        applied = carry_out(state, order.command, ctx)
        # From the state before the command; after it the old values would be gone.
        inverse = inverse_of(state, order.command)
    except Refused as refusal:
        return [
            CommandRefused(
                command_id=order.id,
                command=kind,
                sender=order.sender,
                role=order.role,
                code=refusal.code,
                reason=refusal.reason,
            )
        ]
    done = CommandApplied(
        command_id=order.id,
        command=kind,
        sender=order.sender,
        role=order.role,
        summary=applied.summary,
        result=applied.result,
        args=args_of(order.command),
        inverse=as_json(inverse),
    )
    return [*applied.events, done]
