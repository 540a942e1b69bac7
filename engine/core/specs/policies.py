"""Records of restarts and circuits, as people write them. The rules are in `rules`."""

from typing import Annotated, Literal

from engine.core.validation.bounds import UpToADay
from engine.core.validation.records import Written
from engine.core.validation.rules import Within


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
