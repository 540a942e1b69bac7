"""Facts about agents that change while they work: what becomes of attempts, ways back, specialties, other hands."""

from typing import Literal

from msgspec import field

from engine.core.fact import fact
from engine.core.spec import AgentSpec
from engine.core.state import SwapMode
from engine.core.values import Usage


@fact
class AttemptMigrated:
    """An attempt stopped at a step, and goes on from there with the agent's new generation."""

    type: Literal["attempt_migrated"] = "attempt_migrated"
    at_ms: int = 0
    run_id: str = ""
    task_id: str
    attempt: int
    agent_id: str
    before: int
    """The generation that it stopped on."""
    generation: int
    duration_ms: int
    usage: Usage = field(default_factory=Usage)
    """Of the part that ended."""
    stuck: bool = False
    """A thread of that part has not returned and still takes a slot."""


@fact
class SwapRolledBack:
    """An agent has the spec of the generation before again, as a new generation."""

    type: Literal["swap_rolled_back"] = "swap_rolled_back"
    at_ms: int = 0
    agent_id: str
    generation: int
    spec: AgentSpec
    mode: SwapMode
    why: str
    """Who wanted it, or what was wrong with the generation that is left."""
    by_itself: bool = False
    """No operator asked for it."""
    queues: list[str] = field(default_factory=list)
    """Queues by capability that it takes tasks from now."""


@fact
class SwapHurried:
    """What was still at work on earlier generations is stopped, and begins again on the new one."""

    type: Literal["swap_hurried"] = "swap_hurried"
    at_ms: int = 0
    agent_id: str
    generation: int
    mode: Literal["migrate", "abort"]


@fact
class CapabilitiesChanged:
    """A live agent has other specialties; its generation stays, and what is at work goes on."""

    type: Literal["capabilities_changed"] = "capabilities_changed"
    at_ms: int = 0
    agent_id: str
    spec: AgentSpec
    added: list[str]
    removed: list[str]
    queues: list[str] = field(default_factory=list)
    """Queues by capability that it takes tasks from now."""


@fact
class TaskReassigned:
    """An operator gave a task to another agent; an attempt at work stops, and its finished steps are kept."""

    type: Literal["task_reassigned"] = "task_reassigned"
    at_ms: int = 0
    run_id: str = ""
    task_id: str
    agent_id: str
    """Who does it from now on."""
    supervisor_id: str
    """Whose slots it takes from now on."""
    stopping: int | None = None
    """The attempt that is asked to stop, if one is at work."""
    now: bool = False
