"""Decides on failures: failure policies of tasks, circuits of agents, restarts of crashed members."""

from itertools import islice

from engine.core import events
from engine.core.budgets.enforcement import before_retry
from engine.core.decide.work.attempts import stop_all
from engine.core.decisions.decision_context import DecisionContext
from engine.core.decisions.outcomes import ask
from engine.core.events import EscalationAnswered, Event
from engine.core.followups import ApplyPolicy, CheckCircuit, MemberCrashed
from engine.core.policies.failure_chains import chain_of
from engine.core.policies.restarts import is_too_often, members_to_restart
from engine.core.queries.team.tree import agents_of, inherited_option, is_cancelled, lineage_of, parent_of, subtree_of
from engine.core.queries.work.placement import stand_ins
from engine.core.queries.work.queues import own_queue
from engine.core.specs.failure_policies import AskPerson, Failover, Failures, GiveTo, GiveUp, TryAgain, Verdict, walk
from engine.core.specs.policies import Circuit, Restart
from engine.core.state import Agent, State, Supervisor, Task, TaskStatus, Timer

FAILURE_OPTIONS = ["retry", "reject", "skip", "use"]
"""Answers to a failed task: start its policies over, continue the chain, skip the task, use the given output."""
MAX_COOL_FACTOR = 10
"""Limit on the time a circuit stays open, as a multiple of `cool_s`."""


def apply_policy(state: State, followup: ApplyPolicy, ctx: DecisionContext) -> list[Event]:
    """Apply the failure policies of a task whose attempt failed."""
    task = state.tasks.get(followup.task_id)
    if task is None or task.status is not TaskStatus.WAITING:
        return []  # an earlier follow-up (circuit, restart, cancellation) has decided about it
    if task.kind != "agent" or is_cancelled(state, task):
        return [_failure_event(task)]
    if task.calling:
        return []  # in doubt: a retry could repeat a tool call, so a person has to answer first
    chain = chain_of(state, task)
    if not chain:
        return _give_up(state, task, GiveUp())
    # Searched only if a policy can use them: ranking stand-ins visits every agent near by.
    has_failover = any(isinstance(policy, Failover) for policy in chain)
    failures = Failures(
        error=task.error or "failed",
        error_types=followup.error_types,
        retryable=followup.retryable,
        retry_after_s=followup.retry_after_s,
        retries=task.retries,
        failovers=task.failovers,
        others=_stand_in_ids(state, task) if has_failover else (),
        retried_by_default=task.tried_by_default,
        jitter=ctx.jitter,
    )
    place, verdict = walk(chain, failures)
    return _events(state, task, failures, place, verdict, ctx)


def _stand_in_ids(state: State, task: Task) -> list[str]:
    return [agent.id for agent in stand_ins(state, task)]


def _events(
    state: State, task: Task, failures: Failures, place: int, verdict: Verdict, ctx: DecisionContext
) -> list[Event]:
    if isinstance(verdict, TryAgain):
        return before_retry(state, task, ctx) or [_retry_event(task, failures, verdict.delay_ms, ctx)]
    if isinstance(verdict, GiveTo):
        return [_failover_event(state, task, verdict.agent_id)]
    if isinstance(verdict, AskPerson):
        return [_question_event(state, task, place, verdict, ctx)]
    return _give_up(state, task, verdict)


def _retry_event(task: Task, failures: Failures, delay_ms: int, ctx: DecisionContext) -> Event:
    return events.RetryScheduled(
        task_id=task.id,
        retry=task.retries + 1,
        delay_ms=delay_ms,
        due_ms=ctx.now_ms + delay_ms,
        jitter=ctx.jitter,
        retry_after_s=failures.retry_after_s,
    )


def _failover_event(state: State, task: Task, agent_id: str) -> Event:
    failed = state.agents.get(task.agent_id or "")
    name = state.agents[agent_id].name
    return events.TaskFailedOver(
        task_id=task.id,
        from_id=task.agent_id,
        to_id=agent_id,
        queue=own_queue(agent_id),
        reason=f"{failed.name if failed is not None else 'its agent'} failed; {name} takes over",
    )


def _question_event(state: State, task: Task, place: int, verdict: AskPerson, ctx: DecisionContext) -> Event:
    error = (task.error or "no message").removeprefix(f"{task.title}: ")  # many errors begin with what it was about
    return ask(
        state,
        ctx,
        kind="failure",
        subject=task.id,
        run_id=task.run_id,
        question=f"{task.title} failed: {error}; what should happen to it?",
        options=FAILURE_OPTIONS,
        default=verdict.default,
        after_ms=verdict.after_ms,
        detail={"place": place},
    )


def _failure_event(task: Task, *, optional: bool | None = None) -> events.TaskFailed:
    error = task.error or "failed"
    return events.TaskFailed(task_id=task.id, error=error, optional=optional)


def _skip_event(task: Task) -> events.TaskSkipped:
    reason = task.error or "failed"
    return events.TaskSkipped(task_id=task.id, reason=reason, optional=True)


def _give_up(state: State, task: Task, verdict: GiveUp) -> list[Event]:
    if verdict.optional:
        return [_skip_event(task)]
    failed = _failure_event(task, optional=False)
    if not verdict.whole:
        return [failed]
    reason = f"{task.title} failed, and with it the work that it is part of"
    return [failed, *stop_all(state, _siblings(state, task), reason)]


def _siblings(state: State, task: Task) -> list[Task]:
    """Return the other tasks of the graph or call that a task belongs to."""
    parent = state.tasks.get(task.parent_id or "")
    if parent is None:
        return []
    tasks = (state.tasks[task_id] for task_id in parent.children if task_id != task.id)
    return [sibling for sibling in tasks if parent.kind == "group" or sibling.call_key == task.call_key]


def retry_due(state: State, timer: Timer, ctx: DecisionContext) -> list[Event]:
    """End a back-off."""
    task = state.tasks[timer.subject]
    return [events.RetryDue(task_id=task.id)]


def on_failure_answered(state: State, event: EscalationAnswered, ctx: DecisionContext) -> list[Event]:
    """Carry out the answer to a failed task."""
    task = state.tasks.get(event.subject)
    if task is None or task.status is not TaskStatus.WAITING:
        return []
    if event.answer == "retry":
        queue = _original_queue(state, task)
        return [events.TaskTriedAnew(task_id=task.id, queue=queue, by=event.by)]
    if event.answer == "use":
        return [events.TaskAnswered(task_id=task.id)]
    if event.answer == "skip":
        return [_skip_event(task)]
    place = event.detail.get("place")
    failures = Failures(
        error=task.error or "failed",
        retries=task.retries,
        failovers=task.failovers,
        others=_stand_in_ids(state, task),
        retried_by_default=task.tried_by_default,
        jitter=ctx.jitter,
    )
    # `reject` continues with the policy after the one that asked; without a recorded place, no policy is left.
    after = place if isinstance(place, int) else len(chain_of(state, task))
    return _events(state, task, failures, *walk(chain_of(state, task), failures, after=after), ctx)


def _original_queue(state: State, task: Task) -> str:
    """Return the queue of a task before its first failure, or its present one if that is gone."""
    if task.came_from is not None and task.came_from in state.queues:
        return task.came_from
    first = state.agents.get(task.failed_on[0]) if task.failed_on else None
    planned = task.queue is not None and task.queue.startswith("agent:")
    if planned and first is not None and first.removing is None:
        return own_queue(first.id)
    assert task.queue is not None
    return task.queue


def circuit_of(state: State, agent: Agent) -> Circuit | None:
    """Return the circuit policy of an agent: of its spec, else of the nearest supervisor; None if there is none."""
    own = state.spec_of(agent).circuit
    circuit: Circuit | None = own or inherited_option(state, state.supervisors[agent.supervisor_id], "circuit", None)
    return circuit


def check_circuit(state: State, followup: CheckCircuit, ctx: DecisionContext) -> list[Event]:
    """Open or close the circuit of an agent whose attempt has ended."""
    agent = state.agents.get(followup.agent_id)
    if agent is None:
        return []
    if followup.succeeded:
        return [] if agent.circuit == "closed" else [_close_event(agent, "an attempt of it was done")]
    policy = circuit_of(state, agent)
    if policy is None:
        return [] if agent.circuit == "closed" else [_close_event(agent, "no circuit is set for it any more")]
    # `failures_in_a_row` of 0 means that the failed attempt was not the probe but an older one that ended late.
    probe_failed = agent.circuit == "half_open" and agent.failures_in_a_row > 0
    if probe_failed or (agent.circuit == "closed" and agent.failures_in_a_row >= policy.failures):
        return [_open_event(agent, _next_cool_s(policy, agent.cool_s), ctx)]
    return []


def _next_cool_s(policy: Circuit, previous_s: float | None) -> float:
    """Return how long to open a circuit, in seconds: twice as long as before, if it has not been closed since."""
    if previous_s is None:
        return policy.cool_s
    return min(2 * previous_s, MAX_COOL_FACTOR * policy.cool_s)


def _open_event(agent: Agent, seconds: float, ctx: DecisionContext) -> Event:
    return events.CircuitOpened(
        agent_id=agent.id, failures=agent.failures_in_a_row, cool_s=seconds, due_ms=ctx.now_ms + round(seconds * 1000)
    )


def _close_event(agent: Agent, reason: str) -> Event:
    return events.CircuitClosed(agent_id=agent.id, reason=reason)


def manual_close_events(agent: Agent) -> list[Event]:
    """Return the event by which an operator closes the circuit of an agent; none if it is closed."""
    return [] if agent.circuit == "closed" else [_close_event(agent, "an operator closed it")]


def cooling_due(state: State, timer: Timer, ctx: DecisionContext) -> list[Event]:
    """Half-open a circuit after its cooling time."""
    return [events.CircuitHalfOpened(agent_id=timer.subject)]


def member_crashed(state: State, followup: MemberCrashed, ctx: DecisionContext) -> list[Event]:
    """Restart the members that the policy names, or fail the supervisor if it has restarted too often."""
    member = state.agents.get(followup.member_id) or state.supervisors.get(followup.member_id)
    supervisor = None if member is None else parent_of(state, member)
    if member is None or supervisor is None:
        return []
    policy: Restart | None = inherited_option(state, supervisor, "restart", None)
    because = f"{member.name} crashed: {followup.because}"
    if policy is not None and is_too_often(policy, supervisor.restarts_ms, ctx.now_ms):
        return _fail_supervisor(state, supervisor, policy, because)
    rule = policy or Restart()
    members = members_to_restart(rule, supervisor.members, followup.member_id)
    return [
        events.AgentsRestarted(
            supervisor_id=supervisor.id,
            agent_ids=[agent.id for member_id in members for agent in agents_of(state, member_id)],
            strategy=rule.strategy,
            because=because,
            period_s=None if policy is None else policy.period_s,
        )
    ]


def _fail_supervisor(state: State, supervisor: Supervisor, policy: Restart, because: str) -> list[Event]:
    times = policy.intensity + 1
    count = f"{times} restart{'' if times == 1 else 's'} in {policy.period_s:g} s"
    error = f"supervisor {supervisor.name} failed: {count}"
    below = {team.id for team in subtree_of(state, supervisor)}
    groups = [
        task
        for task in state.tasks.values()
        if task.kind == "group" and task.worker_id in below and task.status is TaskStatus.RUNNING
    ]
    event = events.SupervisorFailed(
        supervisor_id=supervisor.id, error=error, because=because, groups=[group.id for group in groups]
    )
    failing = {group.id for group in groups}
    # Stopping the children of the outermost groups reaches the groups inside them.
    outermost = [
        group
        for group in groups
        if not any(ancestor.id in failing for ancestor in islice(lineage_of(state, group), 1, None))
    ]
    children = [state.tasks[task_id] for group in outermost for task_id in group.children]
    return [event, *stop_all(state, children, error)]
