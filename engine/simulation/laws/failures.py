"""Failures: retries, failovers and questions against the chain of policies; circuits; restarts."""

from collections.abc import Iterator, Sequence
from math import ceil
from typing import Any

from engine.core import events
from engine.core.specs.failure_policies import Escalate, Fail, Failover, FailurePolicy, Retry, Skip
from engine.core.specs.policies import Circuit, Restart
from engine.simulation.laws.registry import When, law
from engine.simulation.ledger.team import AgentEntry
from engine.simulation.ledger.work import Job
from engine.simulation.shadow_ledger import ShadowLedger

MAX_BACKOFF_S = 86_400.0
CIRCUIT_TIMES = 10
OUTCOME_WORDS = {
    events.RetryScheduled: "retry",
    events.TaskFailedOver: "failover",
    events.Escalated: "ask",
    events.TaskFailed: "fail",
    events.TaskSkipped: "skip",
}


@law(events.TaskFailed, events.TaskSkipped, events.TaskFailedOver, events.RetryScheduled, events.Escalated)
def a_failure_goes_down_its_chain(ledger: ShadowLedger, event: Any) -> str | None:
    """A failed task is handled by the first policy of its chain that is not exhausted."""
    task_id = event.subject if isinstance(event, events.Escalated) else event.task_id
    failure = ledger.failures.pending.get(task_id)
    if failure is None or (isinstance(event, events.Escalated) and event.kind != "failure"):
        return None
    job = ledger.work.jobs[task_id]
    expected = list(_expected_outcomes(ledger, job, failure))
    if OUTCOME_WORDS[type(event)] not in {word for word, _ in expected}:
        policy_use = ledger.failures.policy_use_of(task_id)
        return (
            f"{event.type} of {task_id}; its chain {chain_of(ledger, job)} says {[word for word, _ in expected]} "
            f"after {policy_use.retries} retries and {policy_use.failovers} failovers"
        )
    policy = next(policy for word, policy in expected if word == OUTCOME_WORDS[type(event)])
    return _check_policy_event(ledger, job, failure, policy, event)


def _expected_outcomes(
    ledger: ShadowLedger, job: Job, failure: events.AttemptFailed
) -> Iterator[tuple[str, FailurePolicy | None]]:
    """Yield the allowed outcomes of a failure, each with its policy; several where failover may be possible."""
    if job.kind != "agent" or ledger.work.is_over(job):
        yield "fail", None
        return
    policy_use = ledger.failures.policy_use_of(job.id)
    retries = policy_use.retries
    for policy in chain_of(ledger, job):
        match policy:
            case Retry():
                if retries < policy.retries and _is_retryable(policy, failure):
                    yield "retry", policy
                    return
                retries = max(0, retries - policy.retries)
            case Failover() if policy.on and not {*policy.on}.intersection(failure.error_types or [failure.error_type]):
                continue
            case Failover() if policy.agents is None or policy_use.failovers < policy.agents:
                possible = _failover_candidates(ledger, job)
                if possible:
                    yield "failover", policy
                if any(_must_take_over(ledger, job, agent) for agent in possible):
                    return
            case Escalate():
                yield "ask", policy
                return
            case Skip():
                yield "skip", policy
                return
            case Fail():
                yield "fail", policy
                return
    yield "fail", None


_MODEL_CHAIN = (Retry(retries=3),)
"""Default chain of model agents; created once, because policies of a chain are compared by identity."""


def chain_of(ledger: ShadowLedger, job: Job) -> Sequence[FailurePolicy]:
    """Return the policies of a task: of its run, else of the first agent that failed on it, else inherited."""
    run = ledger.work.runs[job.run_id]
    if run.on_failure:
        return run.on_failure
    for agent_id in (*ledger.failures.policy_use_of(job.id).failed_on, job.agent_id, job.worker_id):
        agent = ledger.team.agents.get(agent_id or "")
        if agent is not None:
            default = _MODEL_CHAIN if agent.spec.is_played_by_model else ()
            policies: Sequence[FailurePolicy] = agent.spec.on_failure or ledger.team.inherited_option(
                agent.supervisor_id, "on_failure", default
            )
            return policies
    return ()


def _is_retryable(policy: Retry, failure: events.AttemptFailed) -> bool:
    types = set(failure.error_types or [failure.error_type])
    if types & set(policy.never_on):
        return False
    if types & set(policy.on):
        return True
    return not policy.on if failure.retryable is None else failure.retryable


def _failover_candidates(ledger: ShadowLedger, job: Job) -> list[AgentEntry]:
    """Return the available agents in the tree of who delegated or planned a task that have not failed on it.

    A supervisor that leaves gets nothing new: its agents can only take over what is in its team.
    """
    failed_on = ledger.failures.policy_use_of(job.id).failed_on
    home = _home_of(ledger, job)
    *_, root = ledger.team.lineage(home)
    serving = (
        ledger.team.agents.get(agent_id or "")
        for agent_id in (job.agent_id, *ledger.team.served.get(job.queue or "", ()))
    )
    teams = {home, job.supervisor_id, *(agent.supervisor_id for agent in serving if agent is not None)}
    reached = {supervisor.id for team in teams for supervisor in ledger.team.lineage(team)}
    return [
        agent
        for agent in ledger.team.agents_under(root.id)
        if agent.id not in failed_on
        and agent.id != job.agent_id
        and is_available(ledger, agent)
        and _topmost_leaving_id(ledger, agent) in (None, *reached)
    ]


def _topmost_leaving_id(ledger: ShadowLedger, agent: AgentEntry) -> str | None:
    """Return the topmost supervisor above an agent that is leaving; None if none is."""
    return next(
        (
            supervisor.id
            for supervisor in reversed([*ledger.team.lineage(agent.supervisor_id)])
            if supervisor.is_leaving
        ),
        None,
    )


def _home_of(ledger: ShadowLedger, job: Job) -> str:
    """Return the supervisor of the agent that delegated a task, or the one that planned it, wherever it is now."""
    asker = ledger.work.jobs.get(job.asked_by or job.parent_id or "")
    if asker is not None and asker.kind != "agent":
        return asker.worker_id or ""
    by = None if asker is None else ledger.team.agents.get(asker.agent_id or "")
    return ledger.team.home_of(job.queue) if by is None else by.supervisor_id


def is_available(ledger: ShadowLedger, agent: AgentEntry) -> bool:
    """Return whether an agent is available: not leaving, broken, exhausted or behind an open circuit."""
    is_shut = ledger.failures.circuit(agent.id).is_shut
    is_broken = agent.removing is not None or agent.error is not None or agent.exhausted
    return not (
        is_broken
        or is_shut
        or any(supervisor.error or supervisor.exhausted for supervisor in ledger.team.lineage(agent.supervisor_id))
    )


def _must_take_over(ledger: ShadowLedger, job: Job, agent: AgentEntry) -> bool:
    """Return whether a sibling shares a specialty with the agent of a task, and so must be able to take over."""
    policy_use = ledger.failures.policy_use_of(job.id)
    first = ledger.team.agents.get(policy_use.failed_on[0]) if policy_use.failed_on else None
    asker = ledger.work.jobs.get(job.asked_by or job.parent_id or "")
    is_asker = asker is not None and asker.kind == "agent" and asker.agent_id == agent.id
    if (
        first is None
        or is_asker
        or agent.supervisor_id != job.supervisor_id
        or not (job.queue or "").startswith("agent:")
    ):
        return False
    skills = {word.lower() for word in first.spec.specialties}
    was_theirs = first.id == (job.queue or "").removeprefix("agent:") and not policy_use.failovers
    return was_theirs and bool(skills & {word.lower() for word in agent.spec.specialties})


def _check_policy_event(
    ledger: ShadowLedger, job: Job, failure: events.AttemptFailed, policy: FailurePolicy | None, event: Any
) -> str | None:
    """Return what is wrong in the fields of the event that follows a failure."""
    policy_use = ledger.failures.policy_use_of(job.id)
    match event, policy:
        case events.RetryScheduled(), Retry():
            return _check_retry(ledger, job, failure, policy, event)
        case events.TaskFailedOver(), _:
            if (
                event.to_id not in {agent.id for agent in _failover_candidates(ledger, job)}
                or event.queue != f"agent:{event.to_id}"
            ):
                return f"{job.id} goes to {event.to_id} ({event.queue}), which failed on it, is broken, or is not there"
        case events.Escalated(), Escalate():
            due_ms = None if policy.after_s is None else event.at_ms + round(policy.after_s * 1000)
            default = None if policy.after_s is None else policy.default
            default = "reject" if default == "retry" and policy_use.was_default else default
            if (event.due_ms, event.default) != (due_ms, default):
                return f"{job.id} waits for a person until {event.due_ms} ({event.default}), not {due_ms} ({default})"
        case events.TaskFailed(), _:
            return f"{job.id} becomes optional, although nothing says so" if event.optional else None
        case events.TaskSkipped(), _:
            return None if event.optional else f"{job.id} is not optional, although its chain ends in skip"
    return None


def _check_retry(
    ledger: ShadowLedger, job: Job, failure: events.AttemptFailed, policy: Retry, event: events.RetryScheduled
) -> str | None:
    policy_use = ledger.failures.policy_use_of(job.id)
    before = 0
    for chain_policy in chain_of(ledger, job):
        if chain_policy is policy:
            break
        before += chain_policy.retries if isinstance(chain_policy, Retry) else 0
    ceiling_s = min(policy.cap_s, policy.base_s * 2.0 ** max(0, policy_use.retries - before))
    asked_ms = ceil(min(failure.retry_after_s or 0.0, MAX_BACKOFF_S) * 1000)
    if event.retry != policy_use.retries + 1:
        return f"retry {event.retry} of {job.id} follows {policy_use.retries}"
    if not asked_ms <= event.delay_ms <= max(asked_ms, ceiling_s * 1000):
        return f"{job.id} backs off for {event.delay_ms} ms, of {asked_ms} to {ceiling_s * 1000:g}"
    return None if event.due_ms == event.at_ms + event.delay_ms else f"{job.id} backs off until {event.due_ms}"


@law(events.AttemptStarted)
def a_failure_is_decided_before_the_next_attempt(ledger: ShadowLedger, event: events.AttemptStarted) -> str | None:
    """A task whose attempt failed begins again only once a policy has decided so."""
    is_pending = event.task_id in ledger.failures.pending
    return f"{event.task_id} begins again, and nothing has said so since its failure" if is_pending else None


@law(events.TaskFailed, events.TaskSkipped, events.TaskTriedAnew, events.TaskAnswered)
def an_answer_is_carried_out(ledger: ShadowLedger, event: Any) -> str | None:
    """The answer of a person, or the default answer, about a failed task is carried out."""
    answer = ledger.failures.answered.get(event.task_id)
    expected_type = {"retry": events.TaskTriedAnew, "use": events.TaskAnswered, "skip": events.TaskSkipped}.get(
        answer or ""
    )
    if expected_type is None:
        return None
    if not isinstance(event, expected_type) or (isinstance(event, events.TaskSkipped) and not event.optional):
        return f"{event.task_id} was to be {answer}, and there came {event.type}"
    return None


# Circuits


def circuit_of(ledger: ShadowLedger, agent: AgentEntry) -> Circuit | None:
    """Return the circuit that is set for an agent: in its spec, else inherited."""
    circuit: Circuit | None = agent.spec.circuit or ledger.team.inherited_option(agent.supervisor_id, "circuit", None)
    return circuit


@law(events.CircuitOpened)
def a_circuit_opens_after_failures_in_a_row(ledger: ShadowLedger, event: events.CircuitOpened) -> str | None:
    """A circuit opens after `failures` failed attempts in a row, or when its probe fails; for longer each time."""
    agent, circuit = ledger.team.agents[event.agent_id], ledger.failures.circuit(event.agent_id)
    policy = circuit_of(ledger, agent)
    if policy is None or circuit.status == "open":
        return f"the circuit of {agent.id} opens, which is {circuit.status}, set to {policy}"
    if circuit.in_a_row < (policy.failures if circuit.status == "closed" else 1):
        return f"the circuit of {agent.id} opens after {circuit.in_a_row} failures in a row: {policy}"
    cool_s = policy.cool_s if circuit.cool_s is None else min(2 * circuit.cool_s, CIRCUIT_TIMES * policy.cool_s)
    if (event.cool_s, event.due_ms) != (cool_s, event.at_ms + round(cool_s * 1000)):
        return f"the circuit of {agent.id} opens for {event.cool_s} s, not {cool_s}"
    return None


@law(events.CircuitHalfOpened)
def a_circuit_cools_down(ledger: ShadowLedger, event: events.CircuitHalfOpened) -> str | None:
    """An open circuit lets a probe through once it has cooled down, and not before."""
    circuit = ledger.failures.circuit(event.agent_id)
    if circuit.status != "open" or event.at_ms < circuit.due_ms:
        return f"the circuit of {event.agent_id}, {circuit.status} until {circuit.due_ms}, half opens at {event.at_ms}"
    return None


@law(When.AFTER_BATCH)
def circuits_follow_from_attempts(ledger: ShadowLedger) -> str | None:
    """After a batch a circuit is open where too many attempts failed in a row, and closed after one was done."""
    for agent in ledger.state.agents.values():
        circuit = ledger.failures.circuit(agent.id)
        if (agent.circuit, agent.failures_in_a_row) != (circuit.status, circuit.in_a_row):
            return (
                f"the circuit of {agent.id} is {agent.circuit} after {agent.failures_in_a_row} failures in a row; "
                f"events say {circuit.status} after {circuit.in_a_row}"
            )
        policy = circuit_of(ledger, ledger.team.agents[agent.id])
        has_failed = any(
            isinstance(event, events.AttemptFailed) and event.agent_id == agent.id for event in ledger.batch
        )
        if policy is not None and has_failed and circuit.status == "closed" and circuit.in_a_row >= policy.failures:
            return f"{circuit.in_a_row} attempts of {agent.id} failed in a row, and its circuit is closed: {policy}"
    return None


# Restarts


@law(events.AgentsRestarted)
def restarts_are_counted(ledger: ShadowLedger, event: events.AgentsRestarted) -> str | None:
    """A crash restarts the agents that the supervisor's restart strategy selects, and not more often than it allows."""
    policy: Restart | None = ledger.team.inherited_option(event.supervisor_id, "restart", None)
    rule = policy or Restart()
    if policy is not None:
        times = _count_restarts(ledger, event.supervisor_id, policy, event.at_ms)
        if times >= policy.intensity:
            return f"{event.supervisor_id} restarts agents after {times} restarts: {policy}"
    members = ledger.team.supervisors[event.supervisor_id].members
    crashed = next((member_id for member_id in reversed(ledger.failures.crashed) if member_id in members), None)
    if crashed is None:
        return f"{event.supervisor_id} restarts {event.agent_ids}, and nobody under it crashed"
    place = members.index(crashed)
    chosen = {"one_for_one": [crashed], "one_for_all": members, "rest_for_one": members[place:]}[rule.strategy]
    expected_ids = [agent for member in chosen for agent in _agents_in(ledger, member)]
    return None if event.agent_ids == expected_ids else f"{event.agent_ids} are restarted, not {expected_ids}: {rule}"


def _agents_in(ledger: ShadowLedger, member_id: str) -> list[str]:
    if member_id in ledger.team.agents:
        return [member_id]
    return [
        agent_id for member in ledger.team.supervisors[member_id].members for agent_id in _agents_in(ledger, member)
    ]


def _count_restarts(ledger: ShadowLedger, supervisor_id: str, policy: Restart, now_ms: int) -> int:
    since_ms = now_ms - round(policy.period_s * 1000)
    return sum(at_ms > since_ms for at_ms in ledger.failures.restarts_ms.get(supervisor_id, ()))


@law(events.SupervisorFailed)
def a_supervisor_fails_after_too_many_restarts(ledger: ShadowLedger, event: events.SupervisorFailed) -> str | None:
    """A supervisor fails when it would have to restart its agents more often than allowed; its graphs fail with it."""
    policy: Restart | None = ledger.team.inherited_option(event.supervisor_id, "restart", None)
    times = 0 if policy is None else _count_restarts(ledger, event.supervisor_id, policy, event.at_ms)
    if policy is None or times < policy.intensity:
        return f"{event.supervisor_id} fails after {times} restarts: {policy}"
    below = set(ledger.team.subtree_ids(event.supervisor_id))
    jobs = ledger.work.jobs.values()
    group_ids = {
        job.id for job in jobs if job.kind == "group" and job.planned and job.worker_id in below and not job.outcome
    }
    if set(event.groups) == group_ids:
        return None
    return f"{event.supervisor_id} fails with {event.groups}, not {group_ids}"


@law(When.AFTER_BATCH)
def crashes_are_answered(ledger: ShadowLedger) -> str | None:
    """A crash restarts agents, or makes their supervisor fail."""
    crashes, ledger.failures.crashes = ledger.failures.crashes, []
    unanswered = [crash for crash in crashes if crash.agent_id in ledger.team.agents]
    return f"{unanswered[0].agent_id} crashed on {unanswered[0].task_id}, and nothing followed" if unanswered else None
