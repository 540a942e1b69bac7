"""Rules of failure policies, circuits and restarts.

A policy is a pure function `(record, Failures) -> Verdict | None`; None means that it has nothing left to give. A chain
is walked from the left after each failure, and the first verdict counts. The walk depends only on `Task.retries`,
`Task.failovers` and `Task.failed_on`, so the state needs no position in the chain, and every chain ends.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

from engine.core.policies.records import Circuit, Escalate, Fail, Failover, FailurePolicy, Restart, Retry, Skip
from engine.core.queries.tree import inherited
from engine.core.records import changed, fact
from engine.core.state import Agent, State, Task
from engine.core.validation.bounds import DAY_S

OF_MODELS: Sequence[FailurePolicy] = (Retry(3),)
"""Default chain of model agents: calls of models fail often, and usually succeed when repeated."""
LONGEST = 10
"""Limit on the time a circuit stays open, as a multiple of `cool_s`."""


@fact
class Failures:
    """The facts about a failed attempt that policies may use."""

    error: str
    """Error of the last attempt, in one line."""
    error_types: Sequence[str] = ()
    """Names of its class and base classes."""
    retryable: bool | None = None
    """Whether the exception declared itself worth a retry; None if it did not say."""
    retry_after_s: float | None = None
    """Delay that the exception asked for, in seconds."""
    retries: int = 0
    """Retries on the last agent, without those of retry policies further left."""
    failovers: int = 0
    """Number of failovers so far."""
    others: Sequence[str] = ()
    """Stand-ins that have not failed on the task, best first."""
    asked: bool = False
    """A question about it was already answered `retry` by default."""
    jitter: float = 0.0
    """A draw from [0, 1)."""


@fact
class TryAgain:
    """Retry on the same agent after a delay."""

    delay_ms: int


@fact
class GiveTo:
    """Fail over to another agent."""

    agent_id: str


@fact
class AskPerson:
    """Ask a person."""

    after_ms: int | None
    default: Literal["reject", "retry", "skip"] | None


@fact
class GiveUp:
    """The task has failed."""

    optional: bool = False
    """Dependents go on without its output."""
    whole: bool = False
    """The graph or call that it is part of fails at once."""


Verdict: TypeAlias = TryAgain | GiveTo | AskPerson | GiveUp


def retry(policy: Retry, failures: Failures) -> TryAgain | None:
    """Retry while retries are left and the error is worth one, never before the delay that it asked for."""
    if failures.retries >= policy.retries or not is_worth_it(policy, failures):
        return None
    delay_s = backoff_s(failures.retries + 2, base_s=policy.base_s, cap_s=policy.cap_s, jitter=failures.jitter)
    asked_s = min(failures.retry_after_s or 0.0, DAY_S)  # an exception comes from user code and may ask for anything
    # The requested delay is rounded up: a provider may reject a call that comes a millisecond too early.
    return TryAgain(delay_ms=max(int(delay_s * 1000), -int(-asked_s * 1000 // 1)))


def failover(policy: Failover, failures: Failures) -> GiveTo | None:
    """Fail over to the best stand-in."""
    if not failures.others or (policy.agents is not None and failures.failovers >= policy.agents):
        return None
    return GiveTo(agent_id=failures.others[0])


def escalate(policy: Escalate, failures: Failures) -> AskPerson:
    """Ask a person; `retry` is the default once only, because an unattended chain has to end."""
    if policy.after_s is None:
        return AskPerson(after_ms=None, default=None)
    default = "reject" if failures.asked and policy.default == "retry" else policy.default
    return AskPerson(after_ms=round(policy.after_s * 1000), default=default)


AFTER: dict[type, Callable[[Any, Failures], Verdict | None]] = {
    Retry: retry,
    Failover: failover,
    Escalate: escalate,
    Fail: lambda policy, failures: GiveUp(whole=True),
    Skip: lambda policy, failures: GiveUp(optional=True),
}
"""The function of every policy."""


def is_worth_it(policy: Retry, failures: Failures) -> bool:
    """Return whether an error is worth a retry; the names in the policy come before the exception's own word."""
    if any(name in policy.never_on for name in failures.error_types):
        return False
    if any(name in policy.on for name in failures.error_types):
        return True
    return failures.retryable if failures.retryable is not None else not policy.on


def backoff_s(attempt: int, *, base_s: float, cap_s: float, jitter: float) -> float:
    """Seconds to wait before `attempt`, exponential with full jitter.

    Args:
        attempt: Number of the attempt about to start, 2 for the first retry.
        base_s: Ceiling of the first delay, in seconds.
        cap_s: Largest ceiling, in seconds.
        jitter: Draw from [0, 1); the caller owns the random source, so that replay can record the draw instead of
            repeating it.

    Returns:
        A delay in [0, cap_s), in seconds.

    Raises:
        ValueError: If `attempt` is below 2: a first attempt never waits.

    Source: M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015, "full jitter" variant.
    """
    if attempt < 2:
        raise ValueError(f"a first attempt never waits, attempt {attempt}")
    ceiling = min(cap_s, base_s * 2.0 ** min(attempt - 2, 60))
    return ceiling * jitter


def cool_s(policy: Circuit, before_s: float | None) -> float:
    """Return how long to open a circuit, in seconds.

    Args:
        policy: The circuit policy.
        before_s: Time of the last opening, if it has not been closed since.
    """
    if before_s is None:
        return policy.cool_s
    return min(2 * before_s, LONGEST * policy.cool_s)


def affected(policy: Restart, members: Sequence[str], crashed: str) -> list[str]:
    """Return the members of a supervisor that restart when one of them crashes.

    Args:
        policy: The restart policy.
        members: All members, in declared order.
        crashed: The crashed member.

    Source: Erlang/OTP, "Supervisor Behaviour", Design Principles.
    """
    if policy.strategy == "one_for_all":
        return list(members)
    if policy.strategy == "rest_for_one":
        return list(members[members.index(crashed) :])
    return [crashed]


def is_too_often(policy: Restart, restarts_ms: Sequence[int], now_ms: int) -> bool:
    """Return whether another restart would exceed `intensity` within `period_s`."""
    since = now_ms - round(policy.period_s * 1000)
    return sum(at_ms > since for at_ms in restarts_ms) >= policy.intensity


def chain_of_agent(state: State, agent: Agent) -> Sequence[FailurePolicy]:
    """Return the failure policies of an agent: of its spec, else of the nearest supervisor that sets any."""
    spec = state.spec_of(agent)
    otherwise = OF_MODELS if spec.is_played_by_model else ()
    supervisor = state.supervisors[agent.supervisor_id]
    found: Sequence[FailurePolicy] = spec.on_failure or inherited(state, supervisor, "on_failure", otherwise)
    return found


def chain_of(state: State, task: Task) -> Sequence[FailurePolicy]:
    """Return the failure policies of a task: of its run, else of the first agent that failed on it."""
    run = state.runs[task.run_id]
    if run.on_failure:
        return run.on_failure
    # The first agent that failed: after a failover the chain must stay the same, or it would start over.
    for agent_id in (*task.failed_on, task.agent_id or "", task.worker_id or ""):
        if agent_id in state.agents:
            return chain_of_agent(state, state.agents[agent_id])
    return ()


def is_optional(chain: Sequence[FailurePolicy]) -> bool:
    """Return whether a task with this chain is optional."""
    return any(isinstance(policy, Skip) for policy in chain)


def walk(chain: Sequence[FailurePolicy], failures: Failures, *, after: int = -1) -> tuple[int, Verdict]:
    """Return the verdict on a failed task, and the place of the policy that gave it.

    Args:
        chain: The policies of the task.
        failures: The facts about the failure.
        after: Ask only policies behind this place; -1 asks all.
    """
    for place, policy in enumerate(chain):
        if place > after:
            verdict = AFTER[type(policy)](policy, failures)
            if verdict is not None:
                return place, verdict
        if isinstance(policy, Retry):
            # Retries are counted in one number: what this policy has given is subtracted for those further right.
            failures = changed(failures, retries=max(0, failures.retries - policy.retries))
    return len(chain), GiveUp()
