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

LONGEST_BACKOFF_S = 86_400.0
CIRCUIT_TIMES = 10
WORDS = {
    events.RetryScheduled: "retry",
    events.TaskFailedOver: "failover",
    events.Escalated: "ask",
    events.TaskFailed: "fail",
    events.TaskSkipped: "skip",
}


@law(events.TaskFailed, events.TaskSkipped, events.TaskFailedOver, events.RetryScheduled, events.Escalated)
def a_failure_goes_down_its_chain(books: ShadowLedger, event: Any) -> str | None:
    """A failed task is handled by the first policy of its chain that is not exhausted."""
    task_id = event.subject if isinstance(event, events.Escalated) else event.task_id
    failure = books.failures.pending.get(task_id)
    if failure is None or (isinstance(event, events.Escalated) and event.kind != "failure"):
        return None
    job = books.work.jobs[task_id]
    expected = list(_expected(books, job, failure))
    if WORDS[type(event)] not in {word for word, _ in expected}:
        given = books.failures.of(task_id)
        return (
            f"{event.type} of {task_id}; its chain {chain_of(books, job)} says {[word for word, _ in expected]} "
            f"after {given.retries} retries and {given.failovers} failovers"
        )
    policy = next(policy for word, policy in expected if word == WORDS[type(event)])
    return _wrong_in(books, job, failure, policy, event)


def _expected(
    books: ShadowLedger, job: Job, failure: events.AttemptFailed
) -> Iterator[tuple[str, FailurePolicy | None]]:
    """Yield the allowed outcomes of a failure, each with its policy; several where failover may be possible."""
    if job.kind != "agent" or books.work.is_over(job):
        yield "fail", None
        return
    given = books.failures.of(job.id)
    retries = given.retries
    for policy in chain_of(books, job):
        match policy:
            case Retry():
                if retries < policy.retries and _is_worth_it(policy, failure):
                    yield "retry", policy
                    return
                retries = max(0, retries - policy.retries)
            case Failover() if policy.agents is None or given.failovers < policy.agents:
                possible = _could_take_over(books, job)
                if possible:
                    yield "failover", policy
                if any(_surely_takes_over(books, job, one) for one in possible):
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


_OF_MODELS = (Retry(retries=3),)
"""Default chain of model agents; created once, because policies of a chain are compared by identity."""


def chain_of(books: ShadowLedger, job: Job) -> Sequence[FailurePolicy]:
    """Return the policies of a task: of its run, else of the first agent that failed on it, else inherited."""
    run = books.work.runs[job.run_id]
    if run.on_failure:
        return run.on_failure
    for agent_id in (*books.failures.of(job.id).failed_on, job.agent_id, job.worker_id):
        agent = books.team.agents.get(agent_id or "")
        if agent is not None:
            otherwise = _OF_MODELS if agent.spec.is_played_by_model else ()
            found: Sequence[FailurePolicy] = agent.spec.on_failure or books.team.inherited(
                agent.supervisor_id, "on_failure", otherwise
            )
            return found
    return ()


def _is_worth_it(policy: Retry, failure: events.AttemptFailed) -> bool:
    types = set(failure.error_types or [failure.error_type])
    if types & set(policy.never_on):
        return False
    if types & set(policy.on):
        return True
    return not policy.on if failure.retryable is None else failure.retryable


def _could_take_over(books: ShadowLedger, job: Job) -> list[AgentEntry]:
    """Return the available agents in the tree of who delegated or planned a task that have not failed on it.

    A supervisor that leaves gets nothing new: its agents can only take over what is in its team.
    """
    failed_on = books.failures.of(job.id).failed_on
    home = _home_of(books, job)
    *_, root = books.team.up(home)
    serving = (books.team.agents.get(one or "") for one in (job.agent_id, *books.team.served.get(job.queue or "", ())))
    teams = {home, job.supervisor_id, *(agent.supervisor_id for agent in serving if agent is not None)}
    reached = {above.id for team in teams for above in books.team.up(team)}
    return [
        agent
        for agent in books.team.under(root.id)
        if agent.id not in failed_on
        and agent.id != job.agent_id
        and is_at_hand(books, agent)
        and _leaving_top(books, agent) in (None, *reached)
    ]


def _leaving_top(books: ShadowLedger, agent: AgentEntry) -> str | None:
    """Return the topmost supervisor above an agent that is leaving; None if none is."""
    return next((one.id for one in reversed([*books.team.up(agent.supervisor_id)]) if one.is_leaving), None)


def _home_of(books: ShadowLedger, job: Job) -> str:
    """Return the supervisor of the agent that delegated a task, or the one that planned it, wherever it is now."""
    asker = books.work.jobs.get(job.asked_by or job.parent_id or "")
    if asker is not None and asker.kind != "agent":
        return asker.worker_id or ""
    by = None if asker is None else books.team.agents.get(asker.agent_id or "")
    return books.team.home_of(job.queue) if by is None else by.supervisor_id


def is_at_hand(books: ShadowLedger, agent: AgentEntry) -> bool:
    """Tell whether an agent is available: not leaving, broken, exhausted or behind an open circuit."""
    is_shut = books.failures.circuit(agent.id).is_shut
    is_broken = agent.removing is not None or agent.error is not None or agent.exhausted
    return not (is_broken or is_shut or any(one.error or one.exhausted for one in books.team.up(agent.supervisor_id)))


def _surely_takes_over(books: ShadowLedger, job: Job, agent: AgentEntry) -> bool:
    """Tell whether a sibling shares a specialty with the agent of a task, and so must be able to take over."""
    given = books.failures.of(job.id)
    first = books.team.agents.get(given.failed_on[0]) if given.failed_on else None
    asker = books.work.jobs.get(job.asked_by or job.parent_id or "")
    is_asker = asker is not None and asker.kind == "agent" and asker.agent_id == agent.id
    if (
        first is None
        or is_asker
        or agent.supervisor_id != job.supervisor_id
        or not (job.queue or "").startswith("agent:")
    ):
        return False
    skills = {word.lower() for word in first.spec.specialties}
    was_theirs = first.id == (job.queue or "").removeprefix("agent:") and not given.failovers
    return was_theirs and bool(skills & {word.lower() for word in agent.spec.specialties})


def _wrong_in(
    books: ShadowLedger, job: Job, failure: events.AttemptFailed, policy: FailurePolicy | None, event: Any
) -> str | None:
    """Return what is wrong in the fields of the event that follows a failure."""
    given = books.failures.of(job.id)
    match event, policy:
        case events.RetryScheduled(), Retry():
            return _wrong_in_retry(books, job, failure, policy, event)
        case events.TaskFailedOver(), _:
            if (
                event.to_id not in {one.id for one in _could_take_over(books, job)}
                or event.queue != f"agent:{event.to_id}"
            ):
                return f"{job.id} goes to {event.to_id} ({event.queue}), which failed on it, is broken, or is not there"
        case events.Escalated(), Escalate():
            due_ms = None if policy.after_s is None else event.at_ms + round(policy.after_s * 1000)
            default = None if policy.after_s is None else policy.default
            default = "reject" if default == "retry" and given.was_default else default
            if (event.due_ms, event.default) != (due_ms, default):
                return f"{job.id} waits for a person until {event.due_ms} ({event.default}), not {due_ms} ({default})"
        case events.TaskFailed(), _:
            return f"{job.id} becomes optional, although nothing says so" if event.optional else None
        case events.TaskSkipped(), _:
            return None if event.optional else f"{job.id} is not optional, although its chain ends in skip"
    return None


def _wrong_in_retry(
    books: ShadowLedger, job: Job, failure: events.AttemptFailed, policy: Retry, event: events.RetryScheduled
) -> str | None:
    given = books.failures.of(job.id)
    before = 0
    for one in chain_of(books, job):
        if one is policy:
            break
        before += one.retries if isinstance(one, Retry) else 0
    ceiling_s = min(policy.cap_s, policy.base_s * 2.0 ** max(0, given.retries - before))
    asked_ms = ceil(min(failure.retry_after_s or 0.0, LONGEST_BACKOFF_S) * 1000)
    if event.retry != given.retries + 1:
        return f"retry {event.retry} of {job.id} follows {given.retries}"
    if not asked_ms <= event.delay_ms <= max(asked_ms, ceiling_s * 1000):
        return f"{job.id} backs off for {event.delay_ms} ms, of {asked_ms} to {ceiling_s * 1000:g}"
    return None if event.due_ms == event.at_ms + event.delay_ms else f"{job.id} backs off until {event.due_ms}"


@law(events.AttemptStarted)
def a_failure_is_decided_before_the_next_attempt(books: ShadowLedger, event: events.AttemptStarted) -> str | None:
    """A task whose attempt failed begins again only once a policy has decided so."""
    is_pending = event.task_id in books.failures.pending
    return f"{event.task_id} begins again, and nothing has said so since its failure" if is_pending else None


@law(events.TaskFailed, events.TaskSkipped, events.TaskTriedAnew, events.TaskAnswered)
def an_answer_is_carried_out(books: ShadowLedger, event: Any) -> str | None:
    """The answer of a person, or the default answer, about a failed task is carried out."""
    said = books.failures.answered.get(event.task_id)
    wanted = {"retry": events.TaskTriedAnew, "use": events.TaskAnswered, "skip": events.TaskSkipped}.get(said or "")
    if wanted is None:
        return None
    if not isinstance(event, wanted) or (isinstance(event, events.TaskSkipped) and not event.optional):
        return f"{event.task_id} was to be {said}, and there came {event.type}"
    return None


# Circuits


def circuit_of(books: ShadowLedger, agent: AgentEntry) -> Circuit | None:
    """Return the circuit that is set for an agent: in its spec, else inherited."""
    found: Circuit | None = agent.spec.circuit or books.team.inherited(agent.supervisor_id, "circuit", None)
    return found


@law(events.CircuitOpened)
def a_circuit_opens_after_failures_in_a_row(books: ShadowLedger, event: events.CircuitOpened) -> str | None:
    """A circuit opens after `failures` failed attempts in a row, or when its probe fails; for longer each time."""
    agent, circuit = books.team.agents[event.agent_id], books.failures.circuit(event.agent_id)
    policy = circuit_of(books, agent)
    if policy is None or circuit.stands == "open":
        return f"the circuit of {agent.id} opens, which is {circuit.stands}, set to {policy}"
    if circuit.in_a_row < (policy.failures if circuit.stands == "closed" else 1):
        return f"the circuit of {agent.id} opens after {circuit.in_a_row} failures in a row: {policy}"
    wanted = policy.cool_s if circuit.cool_s is None else min(2 * circuit.cool_s, CIRCUIT_TIMES * policy.cool_s)
    if (event.cool_s, event.due_ms) != (wanted, event.at_ms + round(wanted * 1000)):
        return f"the circuit of {agent.id} opens for {event.cool_s} s, not {wanted}"
    return None


@law(events.CircuitHalfOpened)
def a_circuit_cools_down(books: ShadowLedger, event: events.CircuitHalfOpened) -> str | None:
    """An open circuit lets a probe through once it has cooled down, and not before."""
    circuit = books.failures.circuit(event.agent_id)
    if circuit.stands != "open" or event.at_ms < circuit.due_ms:
        return f"the circuit of {event.agent_id}, {circuit.stands} until {circuit.due_ms}, half opens at {event.at_ms}"
    return None


@law(When.AFTER_BATCH)
def circuits_follow_from_attempts(books: ShadowLedger) -> str | None:
    """After a batch a circuit is open where too many attempts failed in a row, and closed after one was done."""
    for agent in books.state.agents.values():
        circuit = books.failures.circuit(agent.id)
        if (agent.circuit, agent.failures_in_a_row) != (circuit.stands, circuit.in_a_row):
            return (
                f"the circuit of {agent.id} is {agent.circuit} after {agent.failures_in_a_row} failures in a row; "
                f"events say {circuit.stands} after {circuit.in_a_row}"
            )
        policy = circuit_of(books, books.team.agents[agent.id])
        has_failed = any(isinstance(one, events.AttemptFailed) and one.agent_id == agent.id for one in books.batch)
        if policy is not None and has_failed and circuit.stands == "closed" and circuit.in_a_row >= policy.failures:
            return f"{circuit.in_a_row} attempts of {agent.id} failed in a row, and its circuit is closed: {policy}"
    return None


# Restarts


@law(events.AgentsRestarted)
def restarts_are_counted(books: ShadowLedger, event: events.AgentsRestarted) -> str | None:
    """A crash restarts the agents that the supervisor's restart strategy selects, and not more often than it allows."""
    policy: Restart | None = books.team.inherited(event.supervisor_id, "restart", None)
    rule = policy or Restart()
    if policy is not None:
        times = _within(books, event.supervisor_id, policy, event.at_ms)
        if times >= policy.intensity:
            return f"{event.supervisor_id} restarts agents after {times} restarts: {policy}"
    members = books.team.supervisors[event.supervisor_id].members
    crashed = next((one for one in reversed(books.failures.crashed) if one in members), None)
    if crashed is None:
        return f"{event.supervisor_id} restarts {event.agent_ids}, and nobody under it crashed"
    place = members.index(crashed)
    chosen = {"one_for_one": [crashed], "one_for_all": members, "rest_for_one": members[place:]}[rule.strategy]
    wanted = [agent for member in chosen for agent in _agents_in(books, member)]
    return None if event.agent_ids == wanted else f"{event.agent_ids} are restarted, not {wanted}: {rule}"


def _agents_in(books: ShadowLedger, member_id: str) -> list[str]:
    if member_id in books.team.agents:
        return [member_id]
    return [one for member in books.team.supervisors[member_id].members for one in _agents_in(books, member)]


def _within(books: ShadowLedger, supervisor_id: str, policy: Restart, now_ms: int) -> int:
    since_ms = now_ms - round(policy.period_s * 1000)
    return sum(at_ms > since_ms for at_ms in books.failures.restarts_ms.get(supervisor_id, ()))


@law(events.SupervisorFailed)
def a_supervisor_fails_after_too_many_restarts(books: ShadowLedger, event: events.SupervisorFailed) -> str | None:
    """A supervisor fails when it would have to restart its agents more often than allowed; its graphs fail with it."""
    policy: Restart | None = books.team.inherited(event.supervisor_id, "restart", None)
    times = 0 if policy is None else _within(books, event.supervisor_id, policy, event.at_ms)
    if policy is None or times < policy.intensity:
        return f"{event.supervisor_id} fails after {times} restarts: {policy}"
    below = set(books.team.below(event.supervisor_id))
    jobs = books.work.jobs.values()
    wanted = {
        job.id for job in jobs if job.kind == "group" and job.planned and job.worker_id in below and not job.outcome
    }
    return None if set(event.groups) == wanted else f"{event.supervisor_id} fails with {event.groups}, not {wanted}"


@law(When.AFTER_BATCH)
def crashes_are_answered(books: ShadowLedger) -> str | None:
    """A crash restarts agents, or makes their supervisor fail."""
    crashes, books.failures.crashes = books.failures.crashes, []
    left = [one for one in crashes if one.agent_id in books.team.agents]
    return f"{left[0].agent_id} crashed on {left[0].task_id}, and nothing followed" if left else None
