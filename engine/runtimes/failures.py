"""What an exception of the user's code says of itself: what it is, whether to try again and when, whose fault it is."""

from dataclasses import dataclass

from engine.errors import AgentCrashed, CallFailed, ProcessDied, Unusable
from engine.runtimes.child import traits_of
from engine.runtimes.values import clean

MOST_TYPES = 32
"""How many classes of one exception are looked at."""


@dataclass(frozen=True, slots=True)
class Traits:
    """What failure policies go by."""

    types: list[str]
    """Names of its class and the bases of that."""
    retryable: bool | None
    """Whether trying again is worth it, where it says so."""
    retry_after_s: float | None
    """How long it asks to be left alone, in seconds."""
    crashed: bool
    """The agent broke down, not the task alone."""


def traits(error: BaseException) -> Traits:
    """Return what `error` says of itself, also one that was raised in another process."""
    said = error.traits if isinstance(error, CallFailed) else traits_of(error)
    types = [clean(str(name))[:100] for name in said.get("types") or ()][:MOST_TYPES]
    retryable, retry_after_s = said.get("retryable"), said.get("retry_after_s")
    # A runtime that is unusable by the time that it executes was usable when it was checked.
    crashed = isinstance(error, ProcessDied | AgentCrashed | Unusable) or AgentCrashed.__name__ in types
    return Traits(
        types=types,
        retryable=retryable if isinstance(retryable, bool) else None,
        retry_after_s=retry_after_s if isinstance(retry_after_s, float) else None,
        crashed=crashed,
    )
