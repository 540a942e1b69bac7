"""Maps events to their follow-ups, by functions found by the annotation of their event (`core/handlers.py`)."""

from typing import Any

from engine.core import events, followups
from engine.core.events import EVENTS, Event
from engine.core.followups import FollowUp
from engine.core.handlers import handlers_in
from engine.core.queries.money.budget import Subject, is_empty, is_limited, limits_of, paying_subjects
from engine.core.queries.people.offers import DISCOVER
from engine.core.queries.team.tree import agents_of, inherited_option, lineage_of, subtree_of
from engine.core.scheduler import Schedule
from engine.core.state import Agent, State, Task, TaskStatus


def followups_of(state: State, event: Event) -> list[FollowUp]:
    """Return the follow-ups of `event`, which `state` has just folded."""
    kind = type(event)
    handler = _FOLLOWUPS.get(kind)
    follow_ups = handler(state, event) if handler is not None else []
    # Doubts first: a task in doubt must not be retried, requeued or dispatched before a person has answered.
    if kind in _DOUBT_EVENTS:
        follow_ups = [*_doubt_questions(state, event), *follow_ups]
    if kind in _REQUEUE_EVENTS:
        follow_ups = [*follow_ups, *_place_again(state, event)]
    if state.limited and kind in _SPENDING_EVENTS:
        follow_ups = [*follow_ups, *_budget_checks(state, event)]
    return follow_ups


ABILITY_EVENTS = frozenset(
    {
        events.AgentAdded, events.AgentBroke, events.AgentMended, events.AgentRemoved, events.AgentRemoving,
        events.AgentSwapped, events.BudgetExhausted, events.BudgetExtended, events.CapabilitiesChanged,
        events.CircuitClosed, events.CircuitHalfOpened, events.CircuitOpened, events.EngineStarted, events.MemberMoved,
        events.RunResumed, events.StateImported, events.SupervisorFailed, events.SupervisorLeaving,
        events.SupervisorMended, events.SupervisorRemoved, events.SwapRolledBack,
    }
)  # fmt: skip
"""Events that may change which agents are able, so that waiting tasks may have to be placed again."""
SERVING_EVENTS = ABILITY_EVENTS | {
    events.AgentPaused, events.AgentResumed, events.EscalationAnswered, events.MemberRenamed, events.QueueMade,
    events.TaskFailedOver, events.TaskReassigned, events.TaskRequeued,
}  # fmt: skip
"""Events that may change who may take from a queue, or which tasks wait in one that nobody may take from."""
_SPENDING_EVENTS = frozenset(
    {
        events.AttemptStarted,
        events.AttemptResumed,
        events.StepRecorded,
        events.ModelFailed,
        events.StepStopped,
        events.AttemptDone,
        events.AttemptFailed,
        events.AttemptCancelled,
        events.AttemptPreempted,
        events.AttemptSetAside,
        events.AttemptMigrated,
        events.ThreadReturned,
    }
)
"""Events with which an attempt begins to spend, or reports usage."""


def _budget_checks(state: State, event: Any) -> list[FollowUp]:
    """Check the budgets of all levels that pay for an attempt."""
    # Most steps report no usage; walking up the levels for them would cost more than the fold of the event.
    reports = (events.StepRecorded, events.ModelFailed, events.StepStopped, events.ThreadReturned)
    if type(event) in reports and is_empty(event.usage):
        return []
    # A thread may return after its run has finished: then only the agent and its supervisors pay.
    task, run = state.tasks.get(event.task_id or ""), state.runs.get(event.run_id or "")
    agent = state.agents.get(event.agent_id or "")
    if not is_limited(state, task, run, agent):
        return []
    # Such an attempt is between steps: with a spent budget it stops at the next one, unless it returns before.
    reporter = event.task_id if type(event) in (events.StepRecorded, events.AttemptResumed) else None
    limited = (spender.id for spender in paying_subjects(state, task, run, agent) if limits_of(state, spender))
    return [followups.CheckBudget(subject=subject, reporter=reporter) for subject in limited]


def _budget_exhausted(state: State, event: events.BudgetExhausted) -> list[FollowUp]:
    if event.subject in state.supervisors:
        return [followups.ReturnItems(supervisor_id=event.subject)]
    return [] if event.then == "ask" else _after_cut_off(state, event.run_id, event.task_id, event.ended)


def _budget_extended(state: State, event: events.BudgetExtended) -> list[FollowUp]:
    return [followups.CheckBudget(subject=event.subject)]


def _supervisor_changed(state: State, event: events.SupervisorChanged) -> list[FollowUp]:
    """Check the budgets of a supervisor and of everything that inherits from it."""
    return _member_budget_checks(state, event.supervisor_id)


def _member_moved(state: State, event: events.MemberMoved) -> list[FollowUp]:
    """Check the budgets that a moved member inherits, and return its shared items: the new parent may be paused."""
    follow_ups = _member_budget_checks(state, event.member_id)
    if event.member_id in state.supervisors:
        follow_ups.append(followups.ReturnItems(supervisor_id=event.member_id))
    return follow_ups


def _supervisor_paused(state: State, event: events.SupervisorPaused) -> list[FollowUp]:
    return [followups.ReturnItems(supervisor_id=event.supervisor_id)]


def _member_budget_checks(state: State, member_id: str) -> list[FollowUp]:
    """Check all budgets under a member: a lowered limit may be spent already, a raised one resumes work."""
    subjects: list[str] = []
    if member_id in state.supervisors:
        subjects = [team.id for team in subtree_of(state, state.supervisors[member_id])]
        subjects += [run.id for run in state.runs.values() if run.supervisor_id in subjects]
    for agent in agents_of(state, member_id):
        subjects += [agent.id, *agent.running, *agent.parked]
    return [followups.CheckBudget(subject=subject) for subject in subjects]


def _resume_pending_work(state: State, event: events.EngineStarted | events.StateImported) -> list[FollowUp]:
    """Repeat work of the previous engine process that left no event, such as reading the request of a group."""
    return [
        followups.StartUnblocked(task_id=task.id)
        for task in state.tasks.values()
        if task.kind != "agent" and task.status is TaskStatus.WAITING and not task.blockers and task.attempt is None
    ]


def _run_resumed(state: State, event: events.RunResumed) -> list[FollowUp]:
    """Look for agents for the graphs that have waited for it."""
    tasks = map(state.tasks.__getitem__, state.runs[event.run_id].tasks)
    return [
        followups.StartUnblocked(task_id=task.id)
        for task in tasks
        if task.kind == "group" and task.status is TaskStatus.WAITING and not task.blockers
    ]


def _run_submitted(state: State, event: events.RunSubmitted) -> list[FollowUp]:
    if event.after:
        return []
    text = event.request if isinstance(event.request, str) else None
    return [followups.PlanGroup(task_id=event.root_id, text=text)]


def _discovered(state: State, event: events.Discovered) -> list[FollowUp]:
    """Plan the graph, unless a person is asked first: the question is part of the same decision."""
    follow_ups: list[FollowUp] = [followups.StartUnblocked(task_id=event.task_id)]
    group = state.tasks[event.task_id]
    supervisor = state.supervisors.get(group.supervisor_id)
    if not state.limited or is_empty(event.usage) or supervisor is None:
        return follow_ups
    payers: list[Subject] = [*paying_subjects(state, group, state.runs[event.run_id], None)]
    payers += lineage_of(state, supervisor)
    return [*(followups.CheckBudget(subject=payer.id) for payer in payers if limits_of(state, payer)), *follow_ups]


def _group_planned(state: State, event: events.GroupPlanned) -> list[FollowUp]:
    if not event.nodes:
        return [followups.CheckGroup(task_id=event.task_id)]
    return [
        followups.StartUnblocked(task_id=node.task_id)
        for node in event.nodes
        if node.kind != "agent" and not node.after
    ]


def _group_grown(state: State, event: events.GroupGrown) -> list[FollowUp]:
    return _graph_followups(state, event.task_id)


def _need_met(state: State, event: events.NeedMet) -> list[FollowUp]:
    return [followups.StartUnblocked(task_id=event.task_id)]


def _graph_followups(state: State, group_id: str) -> list[FollowUp]:
    """Return the follow-ups of a graph whose edges have changed."""
    nodes = map(state.tasks.__getitem__, state.tasks[group_id].children)
    waiting = (node for node in nodes if node.status is TaskStatus.WAITING)
    unblocked = (node for node in waiting if node.need or (node.kind != "agent" and not node.blockers))
    return [*(followups.StartUnblocked(task_id=node.id) for node in unblocked), followups.CheckGroup(task_id=group_id)]


def _strategy_switched(state: State, event: events.StrategySwitched) -> list[FollowUp]:
    return [followup for change in event.groups for followup in _graph_followups(state, change.task_id)]


def _delegated(state: State, event: events.Delegated) -> list[FollowUp]:
    if not event.children:
        return [followups.AnswerNow(task_id=event.task_id, call_key=event.call_key)]
    return [
        followups.PlanGroup(task_id=child.task_id, text=child.input if isinstance(child.input, str) else None)
        for child in event.children
        if child.kind == "group" and not child.after
    ]


def _item_taken(state: State, event: events.ItemTaken) -> list[FollowUp]:
    request = state.tasks[event.task_id].input
    return [followups.PlanGroup(task_id=event.task_id, text=request if isinstance(request, str) else None)]


def _call_rejoined(state: State, event: events.CallRejoined) -> list[FollowUp]:
    if state.tasks[event.task_id].calls[event.call_key].open:
        return []
    return [followups.AnswerNow(task_id=event.task_id, call_key=event.call_key)]


def _task_ended(
    state: State, event: events.TaskAnswered | events.TaskFailed | events.TaskSkipped | events.GroupEnded
) -> list[FollowUp]:
    return _after_end(state, event.task_id) if _is_awaited(state, event.task_id) else []


def _after_end(state: State, *task_ids: str) -> list[FollowUp]:
    """Return the follow-ups of ended tasks; the root's include the end of the run."""
    follow_ups: list[FollowUp] = [followups.AfterEnd(task_id=task_id) for task_id in task_ids]
    roots = (state.tasks[task_id] for task_id in task_ids if state.tasks[task_id].parent_id is None)
    return follow_ups + [followups.FinishRun(run_id=root.run_id) for root in roots]


def _is_awaited(state: State, task_id: str) -> bool:
    """Return whether the end of a task has follow-ups.

    It has none for an item of a delegation before the last one, as most tasks of a large map are.
    """
    task = state.tasks[task_id]
    if task.before or task.open or task.parent_id is None:
        return True
    asker = state.tasks[task.parent_id]
    return asker.kind == "group" or (asker.attempt is not None and task.call_key in asker.attempt.owed)


def _attempt_interrupted(state: State, event: events.AttemptPreempted | events.AttemptSetAside) -> list[FollowUp]:
    return _after_attempt(state, event)


def _after_attempt(state: State, event: Any) -> list[FollowUp]:
    follow_ups: list[FollowUp] = []
    agent = state.agents.get(event.agent_id or "")
    if agent is not None and (agent.probation is not None or agent.generation > agent.drained):
        follow_ups.append(followups.CheckGeneration(agent_id=agent.id))
    urgent = state.tasks[event.task_id].yields_to
    if urgent is not None:
        follow_ups.append(followups.GiveSlot(task_id=urgent))
    run = state.runs[event.run_id]
    if not run.running and state.tasks[run.root_id].ended:
        follow_ups.append(followups.FinishRun(run_id=run.id))
    return follow_ups


def _attempt_resumed(state: State, event: events.AttemptResumed) -> list[FollowUp]:
    """Try the urgent tasks of an agent's queues again: the resumed attempt can be preempted for them."""
    schedule = Schedule.of(state)
    if not schedule.urgent:
        return []
    queues = (state.queues[key] for key in state.agents[event.agent_id].queues)
    heads = (schedule.first_urgent(state, queue.key) for queue in queues if queue.ready)
    return [followups.TakeSlot(task_id=task_id) for task_id in heads if task_id is not None]


def _run_finished(state: State, event: events.RunFinished) -> list[FollowUp]:
    follow_ups: list[FollowUp] = [
        followups.FollowRun(run_id=run_id, previous_id=event.run_id, status=event.status) for run_id in event.following
    ]
    supervisor = state.supervisors.get(state.finished[-1].supervisor_id)
    if supervisor is not None and supervisor.options.optimize is not None:
        follow_ups.append(followups.Tune(supervisor_id=supervisor.id))
    return follow_ups


def _attempt_done(state: State, event: events.AttemptDone) -> list[FollowUp]:
    after = _after_attempt(state, event)
    if _is_awaited(state, event.task_id):
        after.insert(0, followups.AfterEnd(task_id=event.task_id))
    if event.agent_id is not None and state.agents[event.agent_id].circuit != "closed":
        after.append(followups.CheckCircuit(agent_id=event.agent_id, succeeded=True))
    if state.tasks[event.task_id].kind != "check":
        return after
    # First: nodes that the verdict rules out must not start, and a growing graph must not end.
    return [followups.GrowGroup(check_id=event.task_id, verdict=event.output, seq=state.seq), *after]


def _attempt_failed(state: State, event: events.AttemptFailed) -> list[FollowUp]:
    policy = followups.ApplyPolicy(
        task_id=event.task_id,
        error_types=event.error_types or [event.error_type],
        retryable=event.retryable,
        retry_after_s=event.retry_after_s,
    )
    # Circuit and restart first: a failover must not choose an agent that they take out of work.
    follow_ups: list[FollowUp] = []
    if event.agent_id is not None:
        agent = state.agents[event.agent_id]
        if agent.circuit != "closed" or _has_circuit(state, agent):
            follow_ups.append(followups.CheckCircuit(agent_id=event.agent_id, succeeded=False))
        if event.crashed:
            follow_ups.append(followups.MemberCrashed(member_id=event.agent_id, because=event.error))
    return [*follow_ups, policy, *_after_attempt(state, event)]


def _has_circuit(state: State, agent: Agent) -> bool:
    """Return whether an agent has a circuit breaker."""
    supervisor = state.supervisors[agent.supervisor_id]
    return (
        state.specs[agent.spec].circuit is not None or inherited_option(state, supervisor, "circuit", None) is not None
    )


def _supervisor_failed(state: State, event: events.SupervisorFailed) -> list[FollowUp]:
    checks: list[FollowUp] = [followups.CheckGroup(task_id=task_id) for task_id in event.groups]
    return [*checks, followups.MemberCrashed(member_id=event.supervisor_id, because=event.error)]


def _attempt_cancelled(state: State, event: events.AttemptCancelled) -> list[FollowUp]:
    kind: type[followups.AfterEnd | followups.StopDelegations | followups.Requeue] = followups.AfterEnd
    if event.restarted:
        kind = followups.StopDelegations
    elif event.requeued:
        kind = followups.Requeue
    return [kind(task_id=event.task_id), *_after_attempt(state, event)]


def _attempt_migrated(state: State, event: events.AttemptMigrated) -> list[FollowUp]:
    return [followups.CheckGeneration(agent_id=event.agent_id)]


def _attempt_lost(state: State, event: events.AttemptLost) -> list[FollowUp]:
    return [followups.StartUnblocked(task_id=event.task_id)] if event.agent_id is None else _after_attempt(state, event)


def _cancel_requested(state: State, event: events.CancelRequested) -> list[FollowUp]:
    return _after_cut_off(state, event.run_id, event.task_id, event.cancelled)


def _deadline_passed(state: State, event: events.DeadlinePassed) -> list[FollowUp]:
    return _after_cut_off(state, event.run_id, event.task_id, event.ended)


def _after_cut_off(state: State, run_id: str | None, task_id: str | None, ended_ids: list[str]) -> list[FollowUp]:
    """Return the follow-ups of cutting off a run or a task: some of its tasks have ended, others are stopping."""
    if run_id is None:
        return []
    return [*_after_end(state, *ended_ids), followups.CheckGroup(task_id=task_id or state.runs[run_id].root_id)]


def _agent_swapped(
    state: State, event: events.AgentSwapped | events.SwapRolledBack | events.SwapHurried
) -> list[FollowUp]:
    return [followups.CheckGeneration(agent_id=event.agent_id), *_member_budget_checks(state, event.agent_id)]


def _task_reopened(state: State, event: events.TaskReopened) -> list[FollowUp]:
    return [followups.StartUnblocked(task_id=task_id) for task_id in event.reopened]


_DOUBT_EVENTS = frozenset(
    {
        events.AttemptLost,
        events.AttemptFailed,
        events.AttemptCancelled,
        events.AttemptPreempted,
        events.AttemptSetAside,
        events.BudgetExtended,
        events.DoubtSettled,
        events.EscalationAnswered,
        events.TaskReopened,
    }
)
"""Events after which a task may be in doubt (a tool call without a recorded end)."""


def _doubt_questions(state: State, event: Any) -> list[FollowUp]:
    if type(event) is events.EscalationAnswered and event.kind == "doubt":
        return []  # `ActOnAnswer` settles the doubt; asking again here would repeat the question
    tasks = _tasks_of(state, event)
    return [followups.AskDoubt(task_id=task.id) for task in tasks if task.calling and not task.ended]


def _tasks_of(state: State, event: Any) -> list[Task]:
    """Return the tasks that an event leaves waiting."""
    ids = [event.subject if type(event) is events.EscalationAnswered else event.task_id]
    if type(event) is events.TaskReopened:
        ids = event.reopened
    return [state.tasks[task_id] for task_id in ids if task_id in state.tasks]


_REQUEUE_EVENTS = frozenset(
    {
        events.AttemptCancelled,
        events.AttemptLost,
        events.AttemptPreempted,
        events.AttemptSetAside,
        events.DoubtSettled,
        events.ItemReturned,
        events.RetryDue,
        events.TaskReopened,
        events.TaskTriedAnew,
    }
)
"""Events that return a task to a queue whose agents may have become unable meanwhile."""


def _place_again(state: State, event: Any) -> list[FollowUp]:
    keys = dict.fromkeys(task.queue for task in _tasks_of(state, event) if not task.ended)
    return [followups.PlaceAgain(queue=key) for key in keys if key is not None]


def _attempt_started(state: State, event: events.AttemptStarted) -> list[FollowUp]:
    """Place the delegations of an earlier attempt again: the search starts at the agent, which may have changed."""
    if event.attempt == 1:
        return []
    calls = state.tasks[event.task_id].calls.values()
    waiting = (state.tasks[child_id].queue for call in calls if call.open for child_id in call.children)
    return [followups.PlaceAgain(queue=key) for key in dict.fromkeys(waiting) if key is not None]


def _doubt_settled(state: State, event: events.DoubtSettled) -> list[FollowUp]:
    """Requeue a task that was in doubt when its agent began to leave: the agent's other tasks have been moved."""
    agent = state.agents.get(state.tasks[event.task_id].agent_id or "")
    is_leaving = agent is not None and agent.removing in ("requeue", "abort")
    return [followups.Requeue(task_id=event.task_id)] if is_leaving else []


def _escalation_answered(state: State, event: events.EscalationAnswered) -> list[FollowUp]:
    follow_ups: list[FollowUp] = [followups.ActOnAnswer(event=event)]
    # After the agents have joined that a person let in.
    return [*follow_ups, followups.StartUnblocked(task_id=event.subject)] if event.kind == DISCOVER else follow_ups


_FOLLOWUPS = handlers_in([globals()], EVENTS, result_hint=list[FollowUp])
