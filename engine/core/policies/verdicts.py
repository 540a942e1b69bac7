"""What a policy is asked with, and what it can answer: the small interface that all failure policies share.

A policy is one function, `(its record, Failures) -> Verdict | None`; None is "nothing left to give". It is pure: what
it may know is in `Failures`, draws and times included.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from engine.core.fact import fact


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
