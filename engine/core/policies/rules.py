"""What each failure policy says after a failure, how long a circuit stays open, and who is restarted after a crash.

A failure policy is one function, `(its record, Failures) -> Verdict | None`; None is "nothing left to give". It is
pure: what it may know is in `Failures`, draws and times included.

A chain is walked from the left each time: the first policy that has something left to give decides. All that a walk
depends on is what was given so far (`Task.retries`, `Task.failovers`, `Task.failed_on`), so a chain needs no place of
its own in the state, and every chain ends.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

from engine.core.policies.records import Circuit, Escalate, Fail, Failover, FailurePolicy, Restart, Retry, Skip
from engine.core.queries.tree import inherited
from engine.core.records import changed, fact
from engine.core.state import Agent, State, Task
from engine.core.validation.bounds import DAY_S

OF_MODELS: Sequence[FailurePolicy] = (Retry(3),)
"""The default chain of an agent that a model plays: calls of models fail often, and soon work again."""
LONGEST = 10
"""How many times `cool_s` a circuit stays open at most."""


@fact
class Failures:
    """What is known of a task whose attempt has failed."""

    error: str
    """What the last attempt said, in one line."""
    error_types: Sequence[str] = ()
    """Names of its class and the bases of that."""
    retryable: bool | None = None
    """What the exception itself said of being tried again; None where it said nothing."""
    retry_after_s: float | None = None
    """How long it asked to be left alone, in seconds."""
    retries: int = 0
    """Retries on the agent that failed last, without those that retry policies further left have given."""
    failovers: int = 0
    """How many other agents it was given to."""
    others: Sequence[str] = ()
    """Agents that could take it and have not failed on it, the best first."""
    asked: bool = False
    """A question about it was answered `retry` by default already."""
    jitter: float = 0.0
    """A draw from [0, 1)."""


@fact
class TryAgain:
    """The same agent again, after a while."""

    delay_ms: int


@fact
class GiveTo:
    """Another agent."""

    agent_id: str


@fact
class AskPerson:
    """A person says what is to become of it."""

    after_ms: int | None
    default: Literal["reject", "retry", "skip"] | None


@fact
class GiveUp:
    """The task has failed."""

    optional: bool = False
    """Those who wait for it go on without its output."""
    whole: bool = False
    """What it is part of fails with it, at once."""


Verdict: TypeAlias = TryAgain | GiveTo | AskPerson | GiveUp


def retry(policy: Retry, failures: Failures) -> TryAgain | None:
    """Try again while there are retries left and the error is worth one; never before the time that it asked for."""
    if failures.retries >= policy.retries or not is_worth_it(policy, failures):
        return None
    delay_s = backoff_s(failures.retries + 2, base_s=policy.base_s, cap_s=policy.cap_s, jitter=failures.jitter)
    asked_s = min(failures.retry_after_s or 0.0, DAY_S)  # whatever an exception asks for
    # Rounded up where it was asked for: a millisecond too early is too early.
    return TryAgain(delay_ms=max(int(delay_s * 1000), -int(-asked_s * 1000 // 1)))


def failover(policy: Failover, failures: Failures) -> GiveTo | None:
    """Give the task to the best of the other agents that have not failed on it."""
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
    """Return whether a retry is worth it: what the policy names goes before what the exception says of itself."""
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
    """Return how long a circuit is opened for, in seconds.

    Args:
        policy: What was set.
        before_s: How long it was opened for the last time, where it has not been closed since.
    """
    if before_s is None:
        return policy.cool_s
    return min(2 * before_s, LONGEST * policy.cool_s)


def affected(policy: Restart, members: Sequence[str], crashed: str) -> list[str]:
    """Return the members of a supervisor that are started anew when one of them crashes.

    Args:
        policy: What was set.
        members: All of them, in declared order.
        crashed: The one that did.

    Source: Erlang/OTP, "Supervisor Behaviour", Design Principles.
    """
    if policy.strategy == "one_for_all":
        return list(members)
    if policy.strategy == "rest_for_one":
        return list(members[members.index(crashed) :])
    return [crashed]


def is_too_often(policy: Restart, restarts_ms: Sequence[int], now_ms: int) -> bool:
    """Return whether one more restart would be more than `intensity` within `period_s`."""
    since = now_ms - round(policy.period_s * 1000)
    return sum(at_ms > since for at_ms in restarts_ms) >= policy.intensity


def chain_of_agent(state: State, agent: Agent) -> Sequence[FailurePolicy]:
    """Return the policies of an agent: those of its spec, else those of the nearest supervisor that has any."""
    spec = state.spec_of(agent)
    otherwise = OF_MODELS if spec.is_played_by_model else ()
    supervisor = state.supervisors[agent.supervisor_id]
    found: Sequence[FailurePolicy] = spec.on_failure or inherited(state, supervisor, "on_failure", otherwise)
    return found


def chain_of(state: State, task: Task) -> Sequence[FailurePolicy]:
    """Return the policies of a task: those of its run, else those of the first agent that failed on it."""
    run = state.runs[task.run_id]
    if run.on_failure:
        return run.on_failure
    for agent_id in (*task.failed_on, task.agent_id or "", task.worker_id or ""):
        if agent_id in state.agents:
            return chain_of_agent(state, state.agents[agent_id])
    return ()


def is_optional(chain: Sequence[FailurePolicy]) -> bool:
    """Return True when a task with this chain is one that others can do without."""
    return any(isinstance(policy, Skip) for policy in chain)


def walk(chain: Sequence[FailurePolicy], failures: Failures, *, after: int = -1) -> tuple[int, Verdict]:
    """Return what is next for a task, and the place of the policy that says so; at the end of the chain it fails.

    Args:
        chain: Its policies.
        failures: What is known of it.
        after: Only policies behind this place are asked; -1 asks all.
    """
    for place, policy in enumerate(chain):
        if place > after:
            verdict = AFTER[type(policy)](policy, failures)
            if verdict is not None:
                return place, verdict
        if isinstance(policy, Retry):
            failures = changed(failures, retries=max(0, failures.retries - policy.retries))
    return len(chain), GiveUp()
