"""Records of restarts and circuits, as people write them; rules: `policies.restarts`, `decide.work.failing`."""

from typing import Annotated, Literal

from engine.core.validation.bounds import UpToADay
from engine.core.validation.records import ValidatedRecord
from engine.core.validation.rules import Within


class Restart(ValidatedRecord):
    """What a supervisor does when an agent of it crashes, in the terms of OTP.

    Source: Erlang/OTP, "Supervisor Behaviour", Design Principles.
    """

    strategy: Literal["one_for_one", "one_for_all", "rest_for_one"] = "one_for_one"
    """Who is started again: the crashed agent, all agents, or it and those declared after it."""
    intensity: Annotated[int, Within(ge=0, le=1000)] = 3
    """Restarts allowed within the period; one more, and the supervisor itself fails."""
    period_s: UpToADay = 60.0
    """The period, in seconds."""


class Circuit(ValidatedRecord):
    """When an agent that keeps failing gets no work for a while.

    Source: M. Nygard, "Release It!", 2007, the circuit breaker.
    """

    failures: Annotated[int, Within(ge=1, le=1000)] = 5
    """Failed attempts in a row that open it."""
    cool_s: UpToADay = 30.0
    """How long it stays open, in seconds; then one attempt is let through."""
