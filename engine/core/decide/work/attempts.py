"""Decides on signals of attempts (steps, delegations, ends), and on the tasks of attempts that were stopped."""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from engine.core import signals
from engine.core.budgets.enforcement import end_set_aside, end_short_budget
from engine.core.decisions.decision_context import DecisionContext
from engine.core.decisions.outcomes import Mint, attempt_event
from engine.core.errors import NoAgentMatches
from engine.core.events import (
    AttemptCancelled,
    AttemptDone,
    AttemptFailed,
    AttemptLost,
    AttemptMigrated,
    AttemptParked,
    AttemptPreempted,
    AttemptSetAside,
    CallAnswered,
    CallRefused,
    CallRejoined,
    CancelRequested,
    ChildPlan,
    Delegated,
    Event,
    ModelFailed,
    PrioritySet,
    SlotWanted,
    StepRecorded,
    StepStopped,
    ThreadReturned,
)
from engine.core.policies.failure_chains import chain_of_agent
from engine.core.queries.team.kept import describe_conflict, has_conflict
from engine.core.queries.team.tree import cause_of, is_cancelled, lineage_of, tasks_to_end
from engine.core.queries.work.placement import TaskPlace, place_for
from engine.core.records.records import JsonValue, copy_with
from engine.core.records.values import preview
from engine.core.specs.failure_policies import is_optional
from engine.core.state import Attempt, Run, State, StopReason, Task

MAX_DEPTH = 16
"""Default limit on nested delegations; it ends loops of agents that delegate to each other."""

AttemptSignal: TypeAlias = (
    signals.StepFinished
    | signals.ModelErred
    | signals.StepCutOff
    | signals.BudgetShort
    | signals.InsightNoted
    | signals.ToolBegan
    | signals.ToolRaised
    | signals.DelegationAsked
    | signals.StepsEnded
    | signals.SlotAsked
    | signals.PersonAsked
    | signals.AskGivenUp
    | signals.AttemptSucceeded
    | signals.AttemptErred
    | signals.AttemptStopped
)


def find_attempt(state: State, signal: AttemptSignal) -> Attempt | None:
    """Return the attempt that sent a signal; None if it has ended or its code has been swapped."""
    task = state.tasks.get(signal.task_id)
    if task is None or task.attempt is None or task.attempt.number != signal.attempt:
        return None
    # Code of an earlier generation may still be running after a migration; its signals are ignored.
    if signal.generation is not None and signal.generation != task.attempt.generation and task.attempt.agent_id:
        return None
    return task.attempt


def step_finished(state: State, signal: signals.StepFinished, ctx: DecisionContext) -> list[Event]:
    """Record a step, unless its key is recorded already."""
    attempt = find_attempt(state, signal)
    if attempt is None or signal.key in state.tasks[signal.task_id].steps:
        return []
    if signal.state_changes and _has_conflict(state, attempt, signal):
        # The step itself is done: only its changes are refused, which its attempt finds in the state.
        return [attempt_event(StepRecorded, attempt, signal, state_changes={})]
    return [attempt_event(StepRecorded, attempt, signal)]


def model_erred(state: State, signal: signals.ModelErred, ctx: DecisionContext) -> list[Event]:
    """Record a failed call of a model and its cost; the code of the attempt decides what follows."""
    attempt = find_attempt(state, signal)
    return [] if attempt is None else [attempt_event(ModelFailed, attempt, signal)]


def step_cut_off(state: State, signal: signals.StepCutOff, ctx: DecisionContext) -> list[Event]:
    """Record the time and the cost of a call that was cut off."""
    attempt = find_attempt(state, signal)
    return [] if attempt is None else [attempt_event(StepStopped, attempt, signal)]


def budget_short(state: State, signal: signals.BudgetShort, ctx: DecisionContext) -> list[Event]:
    """End a budget that is too small for the next call, if it still is."""
    attempt = find_attempt(state, signal)
    return [] if attempt is None else end_short_budget(state, attempt, signal, ctx)


def delegation_asked(state: State, signal: signals.DelegationAsked, ctx: DecisionContext) -> list[Event]:
    """Create the tasks of a delegation, or join those that an earlier attempt created under the same key."""
    attempt = find_attempt(state, signal)
    if attempt is None or attempt.agent_id is None:
        return []
    task = state.tasks[signal.task_id]
    asker = state.agents[attempt.agent_id]
    if attempt.stopping == "migrate" and not attempt.parked:
        # The old code is being stopped; the new code will repeat the request.
        return [_call_refused(task, attempt, signal.call_key, "the attempt goes on with a new generation")]
    # With a new call the attempt stops waiting for a slot (`_await_call`), so the answers that it is owed are sent now.
    events: list[Event] = [call_answered(task, attempt, key) for key in attempt.owed]
    if signal.call_key in task.calls:
        return [*events, attempt_event(CallRejoined, attempt, signal, parks=not signal.busy)]
    refusal = _refusal_reason(state, task, attempt)
    targets = dict.fromkeys(item.target for item in signal.plan) if signal.call_kind == "plan" else (signal.target,)
    places: dict[str, TaskPlace] = {}
    home = state.supervisors[asker.supervisor_id]
    try:
        for target in targets:
            places[target] = place_for(state, home, " ".join(target.split()), asker=asker)
    except NoAgentMatches as error:
        refusal = error.reason
    if refusal is not None:
        return [*events, _call_refused(task, attempt, signal.call_key, refusal)]
    events += [place.queue_event for place in places.values() if place.queue_event is not None]
    children = _children(state, places, signal)
    events.append(attempt_event(Delegated, attempt, signal, children=children, parks=not signal.busy))
    ids = [child.task_id for child in children]
    for item, task_id in zip(signal.plan, ids, strict=False):  # only a plan says more about its tasks
        if item.duplicate_of is not None:
            reason = f"{signals.DUPLICATE}{ids[item.duplicate_of]}"
            events.append(
                CancelRequested(run_id=task.run_id, task_id=task_id, cancelled=[task_id], stopping=[], reason=reason)
            )
        elif item.priority is not None:
            events.append(
                PrioritySet(run_id=task.run_id, task_id=task_id, priority=item.priority, previous=task.priority)
            )
    return events


def steps_ended(state: State, signal: signals.StepsEnded, ctx: DecisionContext) -> list[Event]:
    """Park a waiting attempt that has no running step."""
    attempt = find_attempt(state, signal)
    if attempt is None or attempt.agent_id is None:
        return []
    if attempt.parked:
        # What it waited for has come, and it is paused: it queues for no slot before the pause ends.
        goes_on = attempt.waits or attempt.owed or attempt.wants_slot
        return [] if signal.why != "paused" or goes_on else [attempt_event(AttemptParked, attempt, signal)]
    if attempt.stopping == "migrate":
        return []  # it keeps its slot, in which the new generation goes on
    if attempt.waits:
        return [attempt_event(AttemptParked, attempt, signal, why="call", until_ms=None)]
    if signal.why == "call":
        return []  # its calls have been answered meanwhile
    return [attempt_event(AttemptParked, attempt, signal)]


def slot_asked(state: State, signal: signals.SlotAsked, ctx: DecisionContext) -> list[Event]:
    """Queue a parked attempt for a slot; one that is no longer parked has its slot already."""
    attempt = find_attempt(state, signal)
    if attempt is None or not attempt.parked or attempt.wants_slot:
        return []
    return [attempt_event(SlotWanted, attempt, signal)]


def _children(state: State, places: Mapping[str, TaskPlace], signal: signals.DelegationAsked) -> list[ChildPlan]:
    """Return the plan of one task for each item of a delegation."""
    mint = Mint(state)
    if signal.call_kind != "plan":
        place = places[signal.target]
        return [_child(state, place, mint("t"), preview(item) or signal.target, item) for item in signal.items]
    ids = [mint("t") for _ in signal.plan]
    return [
        copy_with(
            _child(state, places[item.target], task_id, item.title, item.input),
            after=[ids[index] for index in item.after],
        )
        for item, task_id in zip(signal.plan, ids, strict=True)
    ]


def _child(state: State, place: TaskPlace, task_id: str, title: str, item_input: JsonValue) -> ChildPlan:
    skips = place.worker_id in state.agents and is_optional(chain_of_agent(state, state.agents[place.worker_id]))
    return ChildPlan(
        task_id=task_id,
        kind="agent" if place.kind == "agent" else "group",
        title=title,
        queue=place.queue,
        worker_id=place.worker_id,
        supervisor_id=place.supervisor_id,
        input=item_input,
        optional=skips,
    )


def _refusal_reason(state: State, task: Task, attempt: Attempt) -> str | None:
    if attempt.stopping not in (None, "migrate"):
        return "the attempt is being stopped"
    if is_cancelled(state, task):
        return "the work that it is part of is ending"
    depth = sum(ancestor.kind == "agent" for ancestor in lineage_of(state, task)) - 1
    limit = _depth_limit(state, task, attempt)
    return f"delegations nest {depth} deep; {limit} is the limit" if depth >= limit else None


def _depth_limit(state: State, task: Task, attempt: Attempt) -> int:
    """Return the depth limit of `task`: the lowest of its run's and those of the supervisors above its agent."""
    run, agent = state.runs[task.run_id], state.agents[attempt.agent_id or ""]
    supervisors = lineage_of(state, state.supervisors[agent.supervisor_id])
    all_limits = [run.limits, *(supervisor.options.limits for supervisor in supervisors)]
    depths = [limits.depth for limits in all_limits if limits is not None and limits.depth is not None]
    return min(depths, default=MAX_DEPTH)


def _call_refused(task: Task, attempt: Attempt, call_key: str, reason: str) -> CallRefused:
    return CallRefused(task_id=task.id, attempt=attempt.number, call_key=call_key, reason=reason)


def call_answered(task: Task, attempt: Attempt, call_key: str) -> CallAnswered:
    """Return the event that gives an attempt the answer to a call."""
    return CallAnswered(task_id=task.id, attempt=attempt.number, call_key=call_key)


def attempt_succeeded(state: State, signal: signals.AttemptSucceeded, ctx: DecisionContext) -> list[Event]:
    """End an attempt with its output; it has failed if its changes of the agent's state are in conflict with others."""
    attempt = find_attempt(state, signal)
    if attempt is None:
        return []
    if signal.state_changes and _has_conflict(state, attempt, signal):
        conflict = signals.AttemptErred(
            task_id=signal.task_id,
            attempt=attempt.number,
            error=describe_conflict(signal.state_changes),
            error_type="StateConflict",
            error_types=["StateConflict", "EngineError", "Exception"],
            retryable=True,
            duration_ms=signal.duration_ms,
            usage=signal.usage,
            state_versions=signal.state_versions,
        )
        return attempt_erred(state, conflict, ctx)
    return [
        # Field by field: it is decided once for every task, and `attempt_event` is slower.
        AttemptDone(
            task_id=signal.task_id,
            attempt=attempt.number,
            agent_id=attempt.agent_id,
            output=signal.output,
            duration_ms=signal.duration_ms,
            usage=signal.usage,
            said=signal.said,
            state_changes=signal.state_changes,
            state_versions=signal.state_versions,
        )
    ]


def _has_conflict(state: State, attempt: Attempt, signal: signals.StepFinished | signals.AttemptSucceeded) -> bool:
    """Return whether the changes of the agent's state cannot be applied."""
    agent = state.agents[attempt.agent_id or ""]
    return has_conflict(agent, state.tasks[signal.task_id], signal.state_changes, signal.state_versions)


def attempt_erred(state: State, signal: signals.AttemptErred, ctx: DecisionContext) -> list[Event]:
    """End an attempt with its error; an error of an attempt that is being stopped counts as its stop."""
    attempt = find_attempt(state, signal)
    if attempt is None:
        return []
    task = state.tasks[signal.task_id]
    if attempt.stopping and (attempt.stopping != "migrate" or "Unusable" in signal.error_types):
        # Except for `migrate`: that takes effect at a step, so an error before it is a failure of the old code.
        end = signals.AttemptStopped(
            task_id=task.id,
            attempt=attempt.number,
            duration_ms=signal.duration_ms,
            usage=signal.usage,
            stuck=signal.stuck,
        )
        return end_stopped(state, task, attempt, end, ctx)
    return [attempt_event(AttemptFailed, attempt, signal)]


def attempt_stopped(state: State, signal: signals.AttemptStopped, ctx: DecisionContext) -> list[Event]:
    """End an attempt that has stopped, with its partial output."""
    attempt = find_attempt(state, signal)
    return [] if attempt is None else end_stopped(state, state.tasks[signal.task_id], attempt, signal, ctx)


def thread_came_back(state: State, signal: signals.ThreadCameBack, ctx: DecisionContext) -> list[Event]:
    """Free the slot of a thread that outlived its attempt."""
    agent = state.agents.get(signal.agent_id)
    if agent is None or not agent.stuck:
        return []
    task = state.tasks.get(signal.task_id or "")
    return [
        ThreadReturned(
            agent_id=agent.id,
            run_id=None if task is None else task.run_id,
            task_id=None if task is None else task.id,
            usage=signal.usage,
        )
    ]


def stop(
    state: State, subject: Run | Task, reason: str, *, at_once: bool = False, grace_ms: int | None = None
) -> CancelRequested:
    """Return the event that stops a run, or a task and all below it, at the next step or at once."""
    cancelled, stopping = tasks_to_end(state, subject)
    return CancelRequested(
        run_id=subject.id if isinstance(subject, Run) else subject.run_id,
        task_id=None if isinstance(subject, Run) else subject.id,
        cancelled=cancelled,
        stopping=stopping,
        reason=reason,
        at_once=at_once,
        grace_ms=grace_ms,
    )


def stop_all(state: State, tasks: Iterable[Task], reason: str, *, at_once: bool = False) -> list[Event]:
    """Return the events that stop the given tasks, without those that have ended or are being cancelled."""
    return [stop(state, task, reason, at_once=at_once) for task in tasks if not task.ended and not task.cancelling]


def end_stopped(
    state: State, task: Task, attempt: Attempt, signal: signals.AttemptStopped, ctx: DecisionContext
) -> list[Event]:
    """End a stopped attempt according to the reason for the stop; cancellation wins over every other reason.

    Its finished steps stay in `Task.steps`, except after `restart`.
    """
    reason: StopReason = "cancel" if is_cancelled(state, task) else attempt.stopping or "cancel"
    match reason:
        case "limit":
            return end_set_aside(state, task, attempt, signal, ctx)
        case "pause":
            return [attempt_event(AttemptSetAside, attempt, signal, paused=True)]
        case "cancel":
            return [attempt_event(AttemptCancelled, attempt, signal, requeued=False, limit=exceeded_by(state, task))]
        case "preempt":
            return [attempt_event(AttemptPreempted, attempt, signal, for_task_id=task.yields_to)]
        case "restart":
            return [attempt_event(AttemptCancelled, attempt, signal, requeued=True, restarted=True)]
        case "migrate" if not task.calling:
            assert attempt.agent_id is not None
            generation = state.agents[attempt.agent_id].generation
            return [attempt_event(AttemptMigrated, attempt, signal, before=attempt.generation, generation=generation)]
    # Also a migration that was cut off inside a tool call: the new attempt has to wait until the doubt is settled.
    return [attempt_event(AttemptCancelled, attempt, signal, requeued=True)]


def end_lost(state: State, task: Task, attempt: Attempt, ctx: DecisionContext) -> list[Event]:
    """End an attempt whose engine or program is gone; if it was asked to stop, this counts as the stop."""
    # Except for `migrate`: there is no attempt left to continue, so the next one begins on the new generation.
    end = signals.AttemptStopped(task_id=task.id, attempt=attempt.number)
    if not is_cancelled(state, task) and attempt.stopping in (None, "migrate"):
        return [AttemptLost(task_id=task.id, attempt=attempt.number, agent_id=attempt.agent_id)]
    if not is_cancelled(state, task) and attempt.stopping in ("limit", "pause"):
        # Its budget is checked once all lost attempts have ended; no working time has passed meanwhile.
        return [attempt_event(AttemptSetAside, attempt, end, paused=attempt.stopping == "pause")]
    return end_stopped(state, task, attempt, end, ctx)


def exceeded_by(state: State, task: Task) -> str | None:
    """Return the deadline or budget that ends `task`, in words; None if an operator ends it."""
    return cause_of(state, task).exceeded
