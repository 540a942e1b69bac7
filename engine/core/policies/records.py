"""Records of failure policies, restarts and circuits, as people write them. The rules are in `rules`."""

from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias

from engine.core.errors import BadValue
from engine.core.validation.bounds import Label, Seconds, UpToADay
from engine.core.validation.records import Written
from engine.core.validation.rules import Also, OutOfPlace, Within

Several: TypeAlias = Annotated[int, Within(ge=1, le=100)]
Names: TypeAlias = Annotated[Sequence[Label], Within(max_length=50)]


class Policy(Written, tag_field="type", tag=str.lower):
    """One way to go on after a failure."""

    @property
    def type(self) -> str:
        """What team files call it."""
        return str(self.__struct_config__.tag)


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
    on: Names = ()
    """Names of exception classes that are worth it, their subclasses included; empty is every one but those in
    `never_on` and those that say themselves that they are final."""
    never_on: Names = ()
    """Names of exception classes that are not."""

    def __post_init__(self) -> None:
        """Normalize the values, and refuse invalid ones."""
        super().__post_init__()
        if self.cap_s < self.base_s:
            raise BadValue("retry", ("cap_s",), f"must be at least base_s, {self.base_s:g}, not {self.cap_s:g}")


class Failover(Policy):
    """Give the task to another agent that can do it, never to one that failed on it while another is left."""

    agents: Several | None = None
    """How many others to try; None tries all there are."""


class Escalate(Policy):
    """Ask a person what is to become of the task."""

    after_s: Seconds | None = None
    """How long to wait for an answer, in seconds; with None there is no limit."""
    default: Literal["reject", "retry", "skip"] = "reject"
    """The answer when none was given in time."""


class Fail(Policy):
    """Let the task fail, and with it at once the graph that it is part of: what else runs there is stopped."""


class Skip(Policy):
    """Count the task as optional: when it fails, those who wait for it go on without its output."""


FailurePolicy: TypeAlias = Retry | Failover | Escalate | Fail | Skip


def _ends_with_its_last(chain: Sequence[FailurePolicy]) -> None:
    for place, policy in enumerate(chain[:-1]):
        if isinstance(policy, Fail | Skip):
            after = chain[place + 1]
            raise OutOfPlace(f"comes after {policy.type}, which is always the last; remove it", after, (place + 1,))


Chain: TypeAlias = Annotated[Sequence[FailurePolicy], Within(max_length=10), Also(_ends_with_its_last)]
"""Policies in the order in which they apply; `Fail` and `Skip` must come last."""


class Restart(Written):
    """What a supervisor does when an agent of it crashes, in the terms of OTP.

    Source: Erlang/OTP, "Supervisor Behaviour", Design Principles.
    """

    strategy: Literal["one_for_one", "one_for_all", "rest_for_one"] = "one_for_one"
    """Which members restart: the crashed one, all, or the crashed one and those declared after it."""
    intensity: Annotated[int, Within(ge=0, le=1000)] = 3
    """How many restarts within `period_s` are allowed; one more, and the supervisor itself fails."""
    period_s: UpToADay = 60.0


class Circuit(Written):
    """When an agent that keeps failing gets no work for a while.

    Source: M. Nygard, "Release It!", 2007, the circuit breaker.
    """

    failures: Annotated[int, Within(ge=1, le=1000)] = 5
    """Failed attempts in a row that open it."""
    cool_s: UpToADay = 30.0
    """How long it stays open before one attempt is let through, in seconds."""
