"""Decides messages: a command, signal or follow-up and the state become events; one file per subject.

Pure: time and one random draw come in `ctx`, and the state is only read. A command becomes events and `CommandApplied`,
or `CommandRefused` and nothing else.
"""

from collections.abc import Callable
from typing import Any

from engine.core import commands, followups, signals
from engine.core.commands import Command, Order
from engine.core.decide import (
    asking,
    attempts,
    dispatch,
    engine,
    escalations,
    failing,
    graphs,
    importing,
    leaving,
    loading,
    memory,
    moving,
    progress,
    run,
    settings,
    steering,
    strategy,
    swapping,
    team,
    undoing,
)
from engine.core.decide.attempts import ON_STOPPED
from engine.core.decision_context import DecisionContext
from engine.core.errors import Refused
from engine.core.events import CommandApplied, CommandRefused, Event
from engine.core.excerpts import args_of
from engine.core.followups import FollowUp
from engine.core.limits import deadlines, enforcement
from engine.core.outcomes import Decided, stamped
from engine.core.queries.undoing import as_command, as_json, inverse_of
from engine.core.records import changed
from engine.core.signals import Signal
from engine.core.state import State
from engine.core.validation.records import checked

ON_COMMAND: dict[type, Callable[[State, Any, DecisionContext], Decided]] = {
    commands.Submit: run.submit,
    commands.Cancel: run.cancel,
    commands.Abort: run.abort,
    commands.Steer: steering.steer,
    commands.RetryWork: run.retry_work,
    commands.SwitchStrategy: strategy.switch_strategy,
    commands.LoadTeam: loading.load_team,
    commands.Declare: loading.declare,
    commands.AddSupervisor: loading.add_supervisor,
    commands.AddAgent: team.add_agent,
    commands.RegisterSpec: team.register_spec,
    commands.UnregisterSpec: team.unregister_spec,
    commands.RemoveMember: leaving.remove_member,
    commands.SwapAgent: swapping.swap_agent,
    commands.SwapAgents: swapping.swap_agents,
    commands.Rollback: swapping.roll_back,
    commands.RollbackAgents: swapping.roll_back_agents,
    commands.ChangeCapabilities: team.change_capabilities,
    commands.Move: moving.move,
    commands.ReplaceTeam: loading.replace_team,
    commands.ChangeSupervisor: settings.change_supervisor,
    commands.SetPriority: run.set_priority,
    commands.SetDeadline: deadlines.set_deadline,
    commands.Reassign: run.reassign,
    commands.Answer: escalations.answer,
    commands.RevokeGrant: asking.revoke_grant,
    commands.Pause: team.pause,
    commands.Resume: team.resume,
    commands.StopEngine: engine.stop_engine,
    commands.HandOver: engine.hand_over,
    commands.Ping: engine.ping,
    commands.ImportState: importing.import_state,
}
"""The handler of every command."""

ON_MESSAGE: dict[type, Callable[[State, Any, DecisionContext], list[Event]]] = {
    signals.EngineBegan: engine.engine_began,
    signals.EngineEnds: engine.engine_ends,
    signals.StepFinished: attempts.step_finished,
    signals.ModelErred: attempts.model_erred,
    signals.BudgetShort: attempts.budget_short,
    signals.PartTold: memory.part_told,
    signals.InsightNoted: memory.insight_noted,
    signals.ToolBegan: escalations.tool_began,
    signals.ToolRaised: escalations.tool_raised,
    signals.DelegationAsked: attempts.delegation_asked,
    signals.StepsEnded: attempts.steps_ended,
    signals.SlotAsked: attempts.slot_asked,
    signals.PersonAsked: asking.person_asked,
    signals.AskGivenUp: asking.given_up,
    signals.AttemptSucceeded: attempts.attempt_succeeded,
    signals.AttemptErred: attempts.attempt_erred,
    signals.AttemptStopped: attempts.attempt_stopped,
    signals.ThreadCameBack: attempts.thread_came_back,
    signals.AgentUnusable: swapping.agent_unusable,
    signals.AgentUsable: swapping.agent_usable,
    signals.TimerDue: engine.timer_due,
    signals.TextRead: progress.text_read,
    signals.ArchiveChecked: importing.archive_checked,
    signals.PartRead: importing.part_read,
    signals.StateReady: importing.state_ready,
    signals.StateUnusable: importing.state_unusable,
    followups.Dispatch: dispatch.dispatch,
    followups.TakeSlot: dispatch.take_slot,
    followups.GiveSlot: dispatch.give_slot,
    followups.FollowRun: run.follow_run,
    followups.PlanGroup: graphs.plan_group,
    followups.LookAt: progress.look_at,
    followups.AfterEnd: progress.after_end,
    followups.CheckGroup: progress.check_group,
    followups.GrowGroup: graphs.grow_group,
    followups.FinishRun: progress.finish_run,
    followups.Tune: strategy.tune,
    followups.ApplyPolicy: failing.apply_policy,
    followups.LookAtCircuit: failing.look_at_circuit,
    followups.MemberCrashed: failing.member_crashed,
    followups.AskDoubt: escalations.ask_doubt,
    followups.AnswerNow: progress.answer_now,
    followups.Requeue: leaving.requeue,
    followups.PlaceAgain: dispatch.place_again,
    followups.StopLeftOver: swapping.stop_left_over,
    followups.CheckGeneration: swapping.check_generation,
    followups.ActOnAnswer: escalations.after_answer,
    followups.CheckLeaving: leaving.check_leaving,
    followups.LookAtPool: team.look_at_pool,
    followups.CheckBudget: enforcement.check_budget,
    followups.ReturnItems: dispatch.return_items,
}
"""The handler of every signal and every followup."""

# Registered here, because these modules import `escalations` and `attempts`, which cannot import them in turn.
escalations.ON_ANSWER["failure"] = failing.answered
escalations.ON_ANSWER["doubt"] = escalations.settled
escalations.ON_ANSWER["drain"] = swapping.drain_answered
escalations.ON_ANSWER["budget"] = enforcement.answered
escalations.ON_ANSWER["ask"] = asking.replied
escalations.ON_ANSWER["approval"] = asking.permitted
escalations.ON_ANSWER["permission"] = asking.permitted
ON_STOPPED["limit"] = enforcement.set_aside


def undo(state: State, command: commands.Undo, ctx: DecisionContext) -> Decided:
    """Carry out the inverse of a command."""
    command_id, found = undoing.undone(state, command)
    inverse = as_command(found.inverse)
    return undoing.undo_event(command_id, found, ON_COMMAND[type(inverse)](state, inverse, ctx))


ON_COMMAND[commands.Undo] = undo


def decide(state: State, message: Order | Signal | FollowUp, ctx: DecisionContext) -> list[Event]:
    """Return the events of `message`, without changing `state`.

    `Refused` refuses a command. Every other exception is a defect and propagates.
    """
    if type(message) is Order:
        return stamped(state, _decide_order(state, message, ctx), ctx.now_ms)
    return stamped(state, ON_MESSAGE[type(message)](state, message, ctx), ctx.now_ms)


def carry_out(state: State, command: Command, ctx: DecisionContext) -> Decided:
    """Return the events of a command, without changing `state`.

    Raises:
        Refused: If it is not carried out; `BadValue` if a value in it is invalid.
    """
    applied = ON_COMMAND[type(command)](state, checked(command, str(command.type)), ctx)
    stamped(state, applied.events, ctx.now_ms)
    return applied


def _decide_order(state: State, order: Order, ctx: DecisionContext) -> list[Event]:
    if order.id in state.commands:
        return []
    kind = str(order.command.type)
    if order.granted or order.ended or order.sender:
        ctx = changed(ctx, granted=order.granted, ended=order.ended, sender=order.sender)
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
