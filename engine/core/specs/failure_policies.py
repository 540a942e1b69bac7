"""Failure policies, as people write them, and the verdict of each policy on a failure.

`verdict` of a policy is a pure function of its fields and `Failures`; None means that the policy is used up. A chain is
walked from the left after each failure, and the first verdict counts. The walk depends only on `Task.retries`,
`Task.failovers` and `Task.failed_on`, so the state needs no position in the chain, and every chain ends.
See docs/semantics/failures.md.
"""

from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias

from msgspec import field
from typing_extensions import override

from engine.core.errors import BadValue
from engine.core.records.records import copy_with, fact
from engine.core.validation.bounds import DAY_S, Label, Seconds, UpToADay
from engine.core.validation.records import ValidatedRecord
from engine.core.validation.rules import Also, NoEffect, Within

FailoverCount: TypeAlias = Annotated[int, Within(ge=1, le=100)]
ErrorNames: TypeAlias = Annotated[Sequence[Label], Within(max_length=50)]


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
    retried_by_default: bool = False
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


class Policy(ValidatedRecord, tag_field="type", tag=str.lower):
    """One way to go on after a failure."""

    @property
    def type(self) -> str:
        """What team files call it."""
        return str(self.__struct_config__.tag)

    @property
    def gives(self) -> int:
        """Retries on the same agent that it allows in total."""
        return 0

    def verdict(self, failures: Failures) -> Verdict | None:
        """Return what happens next; None if the policy is used up."""
        raise NotImplementedError


class Retry(Policy):
    """Try again on the same agent after a back-off that grows and is drawn with full jitter.

    A task that any able agent may take goes back to its queue, for the next free agent. Where the error says how
    long to wait (`retry_after_s`), the back-off is never shorter.
    """

    retries: Annotated[int, Within(ge=0, le=100)] = 3
    """How many times to try again after the first attempt."""
    base_s: Annotated[float, Within(gt=0, le=3600)] = 0.5
    """Ceiling of the first back-off, in seconds."""
    cap_s: UpToADay = 30.0
    """Largest ceiling, in seconds."""
    on: ErrorNames = ()
    """Exceptions that are worth a retry, by the names of their classes or base classes; if empty, all but those in
    `never_on` and those that declare themselves final."""
    never_on: ErrorNames = ()
    """Exceptions that are not worth a retry, by the names of their classes or base classes."""

    @override
    def __post_init__(self) -> None:
        """Normalize the values, and refuse invalid ones."""
        super().__post_init__()
        if self.cap_s < self.base_s:
            raise BadValue("retry", ("cap_s",), f"must be at least base_s, {self.base_s:g}, not {self.cap_s:g}")

    @property
    @override
    def gives(self) -> int:
        """All retries."""
        return self.retries

    @override
    def verdict(self, failures: Failures) -> Verdict | None:
        """Retry while retries are left and the error is worth one, never before the delay that it asked for."""
        if failures.retries >= self.retries or not self._is_worth_it(failures):
            return None
        delay_s = backoff_s(failures.retries + 2, base_s=self.base_s, cap_s=self.cap_s, jitter=failures.jitter)
        # An exception comes from user code and may ask for anything.
        asked_s = min(failures.retry_after_s or 0.0, DAY_S)
        # The requested delay is rounded up: a provider may reject a call that comes a millisecond too early.
        return TryAgain(delay_ms=max(int(delay_s * 1000), -int(-asked_s * 1000 // 1)))

    def _is_worth_it(self, failures: Failures) -> bool:
        """Return whether an error is worth a retry; names in the policy take precedence over the exception's flag."""
        if any(name in self.never_on for name in failures.error_types):
            return False
        if any(name in self.on for name in failures.error_types):
            return True
        return failures.retryable if failures.retryable is not None else not self.on


class Failover(Policy, omit_defaults=True):  # `on` is younger than the journals: without it, specs keep their hashes
    """Give the task to another agent that can do it, never to one that failed on it while another is left."""

    agents: FailoverCount | None = field(default_factory=lambda: None)  # unlike a default, it is always written
    """How many others to try; by default all there are."""
    on: ErrorNames = ()
    """Exceptions after which another agent tries, by the names of their classes or base classes; if empty, all."""

    @override
    def verdict(self, failures: Failures) -> Verdict | None:
        """Fail over to the best stand-in."""
        if self.on and not any(name in self.on for name in failures.error_types):
            return None
        if not failures.others or (self.agents is not None and failures.failovers >= self.agents):
            return None
        return GiveTo(agent_id=failures.others[0])


class Escalate(Policy):
    """Ask a person what happens to the task."""

    after_s: Seconds | None = None
    """How long to wait for an answer, in seconds; by default without limit."""
    default: Literal["reject", "retry", "skip"] = "reject"
    """The answer when none was given in time."""

    @override
    def verdict(self, failures: Failures) -> Verdict | None:
        """Ask a person; `retry` is the default once only, because an unattended chain has to end."""
        if self.after_s is None:
            return AskPerson(after_ms=None, default=None)
        default = "reject" if failures.retried_by_default and self.default == "retry" else self.default
        return AskPerson(after_ms=round(self.after_s * 1000), default=default)


class Fail(Policy):
    """Let the task fail, and with it at once the graph that it is part of: what else runs there is stopped."""

    @override
    def verdict(self, failures: Failures) -> Verdict | None:
        """Give up, with the whole graph."""
        return GiveUp(whole=True)


class Skip(Policy):
    """Count the task as optional: when it fails, those who wait for it go on without its output."""

    @override
    def verdict(self, failures: Failures) -> Verdict | None:
        """Give up, and let the others go on."""
        return GiveUp(optional=True)


FailurePolicy: TypeAlias = Retry | Failover | Escalate | Fail | Skip


def _check_order(chain: Sequence[FailurePolicy]) -> None:
    for index, policy in enumerate(chain[:-1]):
        if isinstance(policy, Fail | Skip):
            after = chain[index + 1]
            raise NoEffect(f"comes after {policy.type}, which is always the last; remove it", after, (index + 1,))


Chain: TypeAlias = Annotated[Sequence[FailurePolicy], Within(max_length=10), Also(_check_order)]
"""Policies in the order in which they apply; `Fail` and `Skip` must come last."""


def is_optional(chain: Sequence[FailurePolicy]) -> bool:
    """Return whether a task with this chain is optional."""
    return any(isinstance(policy, Skip) for policy in chain)


def walk(chain: Sequence[FailurePolicy], failures: Failures, *, after: int = -1) -> tuple[int, Verdict]:
    """Return the verdict on a failed task, and the place of its policy, which is behind the place `after`."""
    for index, policy in enumerate(chain):
        if index > after:
            verdict = policy.verdict(failures)
            if verdict is not None:
                return index, verdict
        # Retries are counted in one number: those of this policy are subtracted for the policies further right.
        if policy.gives:
            failures = copy_with(failures, retries=max(0, failures.retries - policy.gives))
    return len(chain), GiveUp()


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
