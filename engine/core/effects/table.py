"""Maps events to effects, by functions found by the annotation of their event (`core/handlers.py`)."""

from collections.abc import Iterable
from typing import Literal

from engine.core import effects, events
from engine.core.effects import Effect
from engine.core.effects.inputs import all_inputs_of, inputs_of, looks_of, source_of
from engine.core.events import EVENTS, Event
from engine.core.handlers import handlers_in
from engine.core.queries.team.code import references_of
from engine.core.queries.team.made import working_spec
from engine.core.queries.team.tree import inherited_option
from engine.core.queries.work.conversation import visible_exchanges
from engine.core.queries.work.pauses import attempts_under, pause_of
from engine.core.queries.work.retries import lets_pass
from engine.core.records.records import copy_with
from engine.core.specs.check import Takes
from engine.core.specs.spec import spec_hash
from engine.core.state import (
    OF_ATTEMPTS,
    Agent,
    Attempt,
    Run,
    State,
    StopReason,
    Supervisor,
    SwapMode,
    Task,
    TaskChanges,
    TaskStatus,
    timer_id,
)


def effects_of(state: State, event: Event) -> list[Effect]:
    """Return the effects of `event`, which `state` has just folded."""
    handler = _EFFECTS.get(type(event))
    event_effects: list[Effect] = handler(state, event) if handler is not None else []
    return event_effects


def _attempt_started(state: State, event: events.AttemptStarted) -> list[Effect]:
    task = state.tasks[event.task_id]
    if event.agent_id is None and task.check is not None:
        return [
            effects.CheckOutputs(task_id=task.id, attempt=event.attempt, check=task.check, looks=looks_of(state, task))
        ]
    if event.agent_id is None:
        inputs = [source for source in inputs_of(state, task) if state.tasks[source.task_id].status == "done"]
        join = task.join or "concat"
        return [
            effects.JoinResults(run_id=event.run_id, task_id=task.id, attempt=event.attempt, join=join, inputs=inputs)
        ]
    return [_start(state, task, state.agents[event.agent_id], event.attempt, event.generation)]


def _start(state: State, task: Task, agent: Agent, attempt: int, generation: int) -> effects.StartAttempt:
    spec, lacks = working_spec(state, agent)
    return effects.StartAttempt(
        run_id=task.run_id,
        task_id=task.id,
        attempt=attempt,
        agent_id=agent.id,
        agent=agent.name,
        generation=generation,
        spec=agent.spec if spec is state.specs[agent.spec] else spec_hash(spec),
        title=task.title,
        request=state.runs[task.run_id].request,
        input=task.input,
        takes=_takes_for_agent(source_of(state, task).takes),
        inputs=all_inputs_of(state, task),
        steps=dict(task.steps),
        agent_state=dict(agent.kept),
        changes=task.changes and _copy_changes(task.changes),
        conversation=visible_exchanges(state, task),
        labels=state.runs[task.run_id].labels,
        # The spec itself: a swap in the same batch may drop it from the state before the attempt starts.
        blueprint=spec,
        lacks=lacks,
    )


def _copy_changes(own: TaskChanges) -> TaskChanges:
    return copy_with(own, steps=dict(own.steps), views=dict(own.views), conflicts=dict(own.conflicts))


def _attempt_migrated(state: State, event: events.AttemptMigrated) -> list[Effect]:
    return [_start(state, state.tasks[event.task_id], state.agents[event.agent_id], event.attempt, event.generation)]


def _takes_for_agent(takes: Takes) -> Literal["request", "previous", "context"]:
    """Map `own` to `request`: for the agent, an item of its own is a request like any other."""
    return "request" if takes == "own" else takes


def answer_of(state: State, task_id: str, attempt: int, call_key: str) -> effects.AnswerCall:
    """Return the outcomes of all tasks of one call."""
    task = state.tasks[task_id]
    answers = [_answer(state.tasks[child_id]) for child_id in task.calls[call_key].children]
    has_slot = task.attempt is not None and not task.attempt.parked
    return effects.AnswerCall(task_id=task_id, attempt=attempt, call_key=call_key, answers=answers, has_slot=has_slot)


def _answer(child: Task) -> effects.CallAnswer:
    """Return the outcome of a delegated task; an optional one that did not succeed counts as done without output."""
    if child.status is not TaskStatus.DONE and child.status is not TaskStatus.CANCELLED and lets_pass(child):
        return effects.CallAnswer(task_id=child.id, ok=True, output=None, error=None)
    ok = child.status is TaskStatus.DONE
    return effects.CallAnswer(task_id=child.id, ok=ok, output=child.output, error=child.error or child.status)


def _attempt_resumed(state: State, event: events.AttemptResumed) -> list[Effect]:
    task = state.tasks[event.task_id]
    assert task.attempt is not None
    if task.attempt.stopping == "migrate":
        return _stop(state, [task.id], now=False, patient=True)
    answers = [
        answer_of(state, task.id, event.attempt, key)
        for key in event.call_keys
        if (call := task.calls.get(key)) is not None and call.open == 0
    ]
    return [*answers] or [effects.ResumeAttempt(task_id=task.id, attempt=event.attempt)]


def _call_answered(state: State, event: events.CallAnswered) -> list[Effect]:
    return [answer_of(state, event.task_id, event.attempt, event.call_key)]


def _call_refused(state: State, event: events.CallRefused) -> list[Effect]:
    attempt = state.tasks[event.task_id].attempt
    return [
        effects.AnswerCall(
            task_id=event.task_id,
            attempt=event.attempt,
            call_key=event.call_key,
            answers=[],
            refused=event.reason,
            has_slot=attempt is not None and not attempt.parked,
        )
    ]


def _stop(
    state: State,
    task_ids: list[str],
    *,
    now: bool,
    grace_ms: int | None = None,
    patient: bool = False,
    leave: bool = False,
) -> list[Effect]:
    attempts = ((task_id, state.tasks[task_id].attempt) for task_id in task_ids)
    return [
        effects.StopAttempt(
            task_id=task_id,
            attempt=attempt.number,
            now=now,
            grace_ms=_grace_ms(state, attempt) if grace_ms is None and not patient else grace_ms,
            patient=patient,
            leave=leave,
        )
        for task_id, attempt in attempts
        if attempt is not None
    ]


def _grace_ms(state: State, attempt: Attempt) -> int | None:
    """Return the grace period set by the supervisors of an attempt's agent; None if none sets it."""
    agent = state.agents.get(attempt.agent_id or "")
    if agent is None:
        return None
    grace_s: float | None = inherited_option(state, state.supervisors[agent.supervisor_id], "grace_s", None)
    return None if grace_s is None else round(grace_s * 1000)


def _attempt_lost(state: State, event: events.AttemptLost) -> list[Effect]:
    """Stop a lost attempt, so that it does not run beside its successor.

    After a restart it does not run any more, but an attempt may also be lost within an engine (of an away agent).
    """
    return [effects.StopAttempt(task_id=event.task_id, attempt=event.attempt, now=True)]


def _cancel_requested(state: State, event: events.CancelRequested) -> list[Effect]:
    leave = event.at_once or event.grace_ms is not None
    return _stop(state, event.stopping, now=event.at_once, grace_ms=event.grace_ms, leave=leave)


def _preemption_asked(state: State, event: events.PreemptionAsked) -> list[Effect]:
    return [effects.StopAttempt(task_id=event.task_id, attempt=event.attempt, now=event.now, patient=not event.now)]


def _strategy_switched(state: State, event: events.StrategySwitched) -> list[Effect]:
    return [effect for group in event.groups for effect in _stop(state, group.cancelled, now=False)]


def _agent_removing(state: State, event: events.AgentRemoving) -> list[Effect]:
    if event.mode == "drain":
        return []
    agent = state.agents[event.agent_id]
    return _stop(state, [*agent.running, *agent.parked], now=event.mode == "abort")


def _plan_asked(state: State, event: events.PlanAsked) -> list[Effect]:
    group = state.tasks[event.task_id]
    if not event.words:
        return [effects.ReadText(task_id=group.id, input=group.input)]
    return [
        effects.FindAgents(task_id=group.id, supervisor_id=group.worker_id or "", input=group.input, words=event.words)
    ]


def _retry_scheduled(state: State, event: events.RetryScheduled) -> list[Effect]:
    return [effects.StartTimer(timer_id=timer_id("retry", event.task_id), due_ms=event.due_ms)]


def _escalated(state: State, event: events.Escalated) -> list[Effect]:
    return _default_timers(state, [event.escalation_id])


def _run_resumed(state: State, event: events.RunResumed) -> list[Effect]:
    questions = [question.id for question in state.escalations.values() if question.run_id == event.run_id]
    return [*_default_timers(state, questions), *_end_pauses(state, state.runs[event.run_id])]


def _agent_resumed(state: State, event: events.AgentResumed) -> list[Effect]:
    return _end_pauses(state, state.agents[event.agent_id])


def _supervisor_resumed(state: State, event: events.SupervisorResumed) -> list[Effect]:
    return _end_pauses(state, state.supervisors[event.supervisor_id])


def _member_moved(state: State, event: events.MemberMoved) -> list[Effect]:
    """Let attempts go on that have left a paused supervisor."""
    return _end_pauses(state, state.agents.get(event.member_id) or state.supervisors[event.member_id])


def _end_pauses(state: State, subject: Run | Agent | Supervisor) -> list[Effect]:
    return [
        effects.EndPause(task_id=task.id, attempt=task.attempt.number)
        for task in attempts_under(state, subject)
        if task.attempt is not None and pause_of(state, task.run_id, task.attempt.agent_id or "") is None
    ]


def _paused(state: State, event: events.AgentPaused | events.SupervisorPaused | events.RunPaused) -> list[Effect]:
    return _stop(state, event.stopping, now=True)


def _default_timers(state: State, questions: Iterable[str]) -> list[Effect]:
    """Start the timers of questions that have one; those of a paused run have none."""
    timers = (state.timers.get(timer_id("escalation", question)) for question in questions)
    return [effects.StartTimer(timer_id=timer.id, due_ms=timer.due_ms) for timer in timers if timer is not None]


def _escalation_answered(state: State, event: events.EscalationAnswered) -> list[Effect]:
    task = state.tasks.get(event.subject)
    if event.kind not in OF_ATTEMPTS or task is None or task.attempt is None:
        return []
    return [effects.TellAnswer(task_id=task.id, attempt=task.attempt.number, key=str(event.detail["key"]))]


def _steered(state: State, event: events.Steered) -> list[Effect]:
    attempts = ((task_id, state.tasks[task_id].attempt) for task_id in event.tasks)
    return [
        effects.TellSteer(task_id=task_id, attempt=attempt.number, now=event.now)
        for task_id, attempt in attempts
        if attempt is not None
    ]


def _timers(state: State, subject: str, *kinds: str) -> list[Effect]:
    timers = (state.timers.get(timer_id(kind, subject)) for kind in kinds)
    return [effects.StartTimer(timer_id=timer.id, due_ms=timer.due_ms) for timer in timers if timer is not None]


def _deadline_set(state: State, event: events.DeadlineSet) -> list[Effect]:
    return _timers(state, event.task_id or event.run_id, "warn", "deadline")


def _run_submitted(state: State, event: events.RunSubmitted) -> list[Effect]:
    return [] if event.deadline_ms is None else _timers(state, event.run_id, "warn", "deadline")


def _deadline_passed(state: State, event: events.DeadlinePassed) -> list[Effect]:
    grace_ms = None if event.grace_due_ms is None else event.grace_due_ms - event.at_ms
    stops = _stop(state, event.stopping, now=grace_ms == 0, grace_ms=grace_ms)
    return [*stops, *_timers(state, event.task_id or event.run_id, "grace")]


def _budget_ends(state: State, event: events.BudgetReached | events.BudgetExhausted) -> list[Effect]:
    others = [task_id for task_id in event.stopping if task_id != event.reporter]
    stops = _stop(state, others, now=event.then == "fail" or event.grace_ms == 0, grace_ms=event.grace_ms)
    if event.reporter is not None:  # it is between steps, and may return
        stops += _stop(state, [event.reporter], now=False, grace_ms=event.grace_ms, patient=True)
    return stops


def _budget_timed(state: State, event: events.BudgetTimed) -> list[Effect]:
    return _timers(state, event.subject, "time")


def _grace_ended(state: State, event: events.GraceEnded) -> list[Effect]:
    return _stop(state, event.stopping, now=True)


def _pool_watched(state: State, event: events.PoolWatched) -> list[Effect]:
    if event.due_ms is None:
        return []
    return [effects.StartTimer(timer_id=timer_id("pool", event.agent_id), due_ms=event.due_ms)]


def _check_agent(
    state: State, event: events.AgentAdded | events.AgentCheckAsked | events.CapabilitiesChanged
) -> list[Effect]:
    return [_check_code(state.agents[event.agent_id])]


def _check_code(agent: Agent) -> effects.CheckAgent:
    return effects.CheckAgent(agent_id=agent.id, generation=agent.generation, spec=agent.spec)


def _check_renamed(state: State, event: events.MemberRenamed) -> list[Effect]:
    agent = state.agents.get(event.member_id)
    return [] if agent is None else [_check_code(agent)]


def _agent_swapped(state: State, event: events.AgentSwapped | events.SwapRolledBack) -> list[Effect]:
    agent = state.agents[event.agent_id]
    return [_check_code(agent), *_leave_generation(state, agent, event.mode), *_timers(state, agent.id, "drain")]


def _leave_generation(state: State, agent: Agent, mode: SwapMode) -> list[Effect]:
    """Stop the attempts that a swap has asked to stop; parked ones migrate once they have a slot."""
    if mode == "abort":
        return _stop(state, _stopping_for(state, [*agent.running, *agent.parked], "restart"), now=True)
    if mode == "migrate":
        return _stop(state, _stopping_for(state, list(agent.running), "migrate"), now=False, patient=True)
    return []


def _stopping_for(state: State, task_ids: list[str], reason: StopReason) -> list[str]:
    attempts = ((task_id, state.tasks[task_id].attempt) for task_id in task_ids)
    return [task_id for task_id, attempt in attempts if attempt is not None and attempt.stopping == reason]


def _swap_hurried(state: State, event: events.SwapHurried) -> list[Effect]:
    return _leave_generation(state, state.agents[event.agent_id], event.mode)


def _task_reassigned(state: State, event: events.TaskReassigned) -> list[Effect]:
    return [] if event.stopping is None else _stop(state, [event.task_id], now=event.now, patient=not event.now)


def _references_trusted(state: State, event: events.ReferencesTrusted) -> list[Effect]:
    references = event.references.keys()
    specs = {key: None for key, spec in state.specs.items() if not references.isdisjoint(references_of(spec))}
    # Agents that lacked this trust may be able to work now: a file that was moved is loaded after the start.
    agents = [agent for agent in state.agents.values() if agent.spec in specs]
    return [effects.DropRuntimes(specs=[*specs]), *map(_check_code, agents)] if specs else []


def _grant_given(state: State, event: events.GrantGiven) -> list[Effect]:
    return _timers(state, event.grant_id, "grant")


def _remembered(state: State, event: events.Remembered) -> list[Effect]:
    return [effects.TellInsight(insight_id=event.insight_id), *_timers(state, event.insight_id, "expiry")]


def _circuit_opened(state: State, event: events.CircuitOpened) -> list[Effect]:
    return [effects.StartTimer(timer_id=timer_id("circuit", event.agent_id), due_ms=event.due_ms)]


def _agents_restarted(state: State, event: events.AgentsRestarted) -> list[Effect]:
    agents = [state.agents[agent_id] for agent_id in event.agent_ids]
    at_work = [task_id for agent in agents for task_id in (*agent.running, *agent.parked)]
    shared_specs = {agent.spec for agent in state.agents.values() if agent.id not in event.agent_ids}
    # Runtimes are shared by equal specs: one that another agent uses must keep its state.
    specs = dict.fromkeys(agent.spec for agent in agents if agent.spec not in shared_specs)
    restart = effects.RestartAgents(agent_ids=event.agent_ids, specs=list(specs))
    return [*_stop(state, at_work, now=True), restart, *map(_check_code, agents)]


def restart_effects(state: State) -> list[Effect]:
    """Return the effects of a restart in addition to those of its events: check all agents, start all timers."""
    return _checks_and_timers(state, state.agents.values())


def _checks_and_timers(state: State, agents: Iterable[Agent]) -> list[Effect]:
    timers = (effects.StartTimer(timer_id=timer.id, due_ms=timer.due_ms) for timer in state.timers.values())
    return [*map(_check_code, agents), *timers]


def _state_imported(state: State, event: events.StateImported) -> list[Effect]:
    return _checks_and_timers(state, (agent for agent in state.agents.values() if agent.created_seq == state.seq))


def _command_applied(state: State, event: events.CommandApplied) -> list[Effect]:
    return [
        effects.Acknowledge(
            command_id=event.command_id, seq=state.seq, applied=True, result=dict(event.result), summary=event.summary
        )
    ]


def _command_refused(state: State, event: events.CommandRefused) -> list[Effect]:
    return [
        effects.Acknowledge(
            command_id=event.command_id, seq=state.seq, applied=False, reason=event.reason, code=event.code
        )
    ]


def _run_finished(state: State, event: events.RunFinished) -> list[Effect]:
    return [effects.EndRun(run_id=event.run_id, seq=state.seq)]


def _engine_stopped(state: State, event: events.EngineStopped) -> list[Effect]:
    return [effects.StopLoop(reason=event.reason)]


_EFFECTS = handlers_in([globals()], EVENTS, result_hint=list[Effect])
