"""Facts about who goes first: priorities changed, slots taken from what is less urgent."""

from typing import Literal

from msgspec import field

from engine.core.fact import fact
from engine.core.values import Usage


@fact
class PrioritySet:
    """A run or a task, and all below it, is more or less urgent than before."""

    type: Literal["priority_set"] = "priority_set"
    at_ms: int = 0
    run_id: str
    task_id: str | None = None
    """None for the whole run, and what it makes later."""
    priority: int
    previous: int


@fact
class PreemptionAsked:
    """An attempt is asked to stop, because its slot is for a task that is more urgent."""

    type: Literal["preemption_asked"] = "preemption_asked"
    at_ms: int = 0
    run_id: str = ""
    task_id: str
    attempt: int
    agent_id: str
    for_task_id: str
    """The urgent task; one at a time stops for it."""
    now: bool = False
    """It stops at once, and not at its next step."""


@fact
class AttemptPreempted:
    """An attempt stopped for a more urgent task; its task waits again, and goes on from its finished steps."""

    type: Literal["attempt_preempted"] = "attempt_preempted"
    at_ms: int = 0
    run_id: str = ""
    task_id: str
    attempt: int
    agent_id: str
    for_task_id: str | None
    duration_ms: int
    usage: Usage = field(default_factory=Usage)
    stuck: bool = False
    """Its thread has not returned and still takes a slot."""
