"""What a person writes about failure: policies in the order in which they apply, restarts, circuits.

A chain such as `[Retry(3), Failover(), Escalate(after_s=30)]` is walked from the left: each policy is asked in turn,
and one that has nothing left to give hands over to the next. A task whose chain is at its end has failed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

from pydantic import Field


@dataclass(slots=True)
class Retry:
    """Try again on the same agent after a back-off that grows and is drawn with full jitter.

    A task that any able agent may take goes back to its queue, and whoever is free takes it. Where the error says how
    long to wait (`retry_after_s`), the back-off is never shorter.
    """

    retries: Annotated[int, Field(ge=0, le=100)] = 3
    """How many times to try again after the first attempt."""
    base_s: Annotated[float, Field(gt=0, le=3600)] = 0.5
    """Ceiling of the first back-off, in seconds."""
    cap_s: Annotated[float, Field(gt=0, le=86400)] = 30.0
    """Largest ceiling, in seconds."""
    type: Literal["retry"] = "retry"
    on: Sequence[str] = ()
    """Names of exception classes that are worth it, their subclasses included; empty is every one but those in
    `never_on` and those that say themselves that they are final."""
    never_on: Sequence[str] = ()
    """Names of exception classes that are not."""

    def __post_init__(self) -> None:
        """Keep seconds as floats, as JSON gives them back: the hash of a spec depends on it."""
        self.base_s = float(self.base_s)
        self.cap_s = float(self.cap_s)
        self.on = tuple(self.on)
        self.never_on = tuple(self.never_on)


@dataclass(slots=True)
class Failover:
    """Give the task to another agent that can do it, never to one that failed on it while another is left."""

    agents: Annotated[int, Field(ge=1, le=100)] | None = None
    """How many others to try; None tries all there are."""
    type: Literal["failover"] = "failover"


@dataclass(slots=True)
class Escalate:
    """Ask a person what is to become of the task."""

    after_s: Annotated[float, Field(gt=0, le=31_536_000)] | None = None
    """How long to wait for an answer, in seconds; None waits for ever."""
    default: Literal["reject", "retry", "skip"] = "reject"
    """The answer when nobody gave one in time."""
    type: Literal["escalate"] = "escalate"

    def __post_init__(self) -> None:
        """Keep seconds as floats, as JSON gives them back: the hash of a spec depends on it."""
        self.after_s = None if self.after_s is None else float(self.after_s)


@dataclass(slots=True)
class Fail:
    """Let the task fail, and with it at once the graph that it is part of: what else runs there is stopped."""

    type: Literal["fail"] = "fail"


@dataclass(slots=True)
class Skip:
    """Count the task as optional: when it fails, those who wait for it go on without its output."""

    type: Literal["skip"] = "skip"


FailurePolicy: TypeAlias = Retry | Failover | Escalate | Fail | Skip


@dataclass(slots=True)
class Restart:
    """What a supervisor does when one of its agents crashes: OTP's words and meaning.

    Source: Erlang/OTP, "Supervisor Behaviour", Design Principles.
    """

    strategy: Literal["one_for_one", "one_for_all", "rest_for_one"] = "one_for_one"
    """Who is started anew: the one that crashed, all of them, or it and those declared after it."""
    intensity: Annotated[int, Field(ge=0, le=1000)] = 3
    """How many restarts within `period_s` are allowed; one more, and the supervisor itself fails."""
    period_s: Annotated[float, Field(gt=0, le=86400)] = 60.0

    def __post_init__(self) -> None:
        """Keep seconds as floats, as JSON gives them back."""
        self.period_s = float(self.period_s)


@dataclass(slots=True)
class Circuit:
    """When an agent that keeps failing gets nothing to do for a while.

    Source: M. Nygard, "Release It!", 2007, the circuit breaker.
    """

    failures: Annotated[int, Field(ge=1, le=1000)] = 5
    """Failed attempts in a row that open it."""
    cool_s: Annotated[float, Field(gt=0, le=86400)] = 30.0
    """How long it stays open before one attempt is let through, in seconds."""

    def __post_init__(self) -> None:
        """Keep seconds as floats, as JSON gives them back: the hash of a spec depends on it."""
        self.cool_s = float(self.cool_s)
