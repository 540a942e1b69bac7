"""Facts about runs: submitted, paused, re-planned, cancelled, finished."""

from typing import Literal

from msgspec import field

from engine.core.check import Takes
from engine.core.events.base import RunEvent, SupervisorEvent
from engine.core.events.task import NodePlan
from engine.core.limits import Limits
from engine.core.options import DEFAULT_PRIORITY
from engine.core.records import JsonValue, fact
from engine.core.spec import Aggregation, FailurePolicy
from engine.core.state import RunStatus
from engine.core.values import StoredValue, Usage


@fact
class RunSubmitted(RunEvent):
    """A request was given to a supervisor."""

    type: Literal["run_submitted"] = "run_submitted"
    supervisor_id: str
    root_id: str
    """The group task that stands for the whole run."""
    request: JsonValue
    on_failure: list[FailurePolicy] = field(default_factory=list)
    """Failure policies that come with the request."""
    priority: int = DEFAULT_PRIORITY
    deadline_ms: int | None = None
    warn_ms: int | None = None
    """When the deadline is warned about."""
    category: str | None = None
    limits: Limits | None = None
    after: list[str] = field(default_factory=list)
    """Runs that must be done before it begins."""
    conversation: str | None = None
    """It remembers the runs of this conversation that have ended by now."""


@fact
class RunPaused(RunEvent):
    """Nothing of the run starts; what is at work goes on."""

    type: Literal["run_paused"] = "run_paused"


@fact
class RunResumed(RunEvent):
    """Tasks of the run start again."""

    type: Literal["run_resumed"] = "run_resumed"


@fact
class CancelRequested(RunEvent):
    """Work is being stopped: what had not started is cancelled, what is at work stops at its next step."""

    type: Literal["cancel_requested"] = "cancel_requested"
    task_id: str | None = None
    """The task whose part of the run is cancelled; None for the whole run."""
    cancelled: list[str]
    """Tasks that end at once because nothing of them was at work."""
    stopping: list[str]
    """Tasks whose attempts are asked to stop."""
    reason: str
    at_once: bool = False
    """Attempts are stopped where they are, without the time that it takes them to come to their next step."""
    grace_ms: int | None = None
    """How long attempts may go on to their next step, and are then left where they are; None is what supervisors say.
    """


@fact
class GroupChange:
    """How one graph in progress is rewired."""

    task_id: str
    run_id: str
    mode: str
    kept: list[str] = field(default_factory=list)
    """What is done or goes on: nodes, and delegations of a lead that goes on."""
    cancelled: list[str] = field(default_factory=list)
    """Nodes at work that are asked to stop."""
    added: list[NodePlan] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    """What had not started and has no place in the new graph: nodes, and delegations of a lead that is stopped."""
    after: dict[str, list[str]] = field(default_factory=dict)
    """What each rewired node now waits for."""
    takes: dict[str, Takes] = field(default_factory=dict)
    outcome_id: str | None = None
    sees: dict[str, list[str]] = field(default_factory=dict)
    """Whose outputs each rewired node gets, where that is not everything before it."""
    roles: dict[str, str] = field(default_factory=dict)
    needs: dict[str, int] = field(default_factory=dict)
    """How many have to be done of those that a node waits for."""
    tolerated: list[str] = field(default_factory=list)
    """Nodes whose failure does not stop the graph."""
    adopted: list[str] = field(default_factory=list)
    """Delegations, done or at work, of a lead that is replaced or stopped: they become nodes of the graph."""
    settings: dict[str, JsonValue] = field(default_factory=dict)


@fact
class StrategySwitched(SupervisorEvent):
    """A supervisor coordinates in another way; graphs in progress were rewired, done nodes stay done."""

    type: Literal["strategy_switched"] = "strategy_switched"
    mode: str
    previous: str
    aggregation: Aggregation
    aggregator: str | None
    scope: Literal["run", "open", "new"]
    groups: list[GroupChange] = field(default_factory=list)
    settings: dict[str, JsonValue] = field(default_factory=dict)
    lead: str | None = None
    run_id: str | None = None
    """With the scope `run`: which; the supervisor itself stays as it was."""


@fact
class RunFigures:
    """What a run was and what it took, so that its end can be read without folding what led to it."""

    supervisor_id: str
    title: str
    request: StoredValue
    strategy: str
    tasks: int
    done: int
    failed: int
    usage: Usage
    started_ms: int
    longest_ms: int
    conversation: str | None = None


@fact
class RunFinished(RunEvent):
    """A run has its outcome; its tasks leave the state."""

    type: Literal["run_finished"] = "run_finished"
    status: RunStatus
    output: StoredValue
    figures: RunFigures
    error: str | None = None
    following: list[str] = field(default_factory=list)
    """Open runs that waited for it."""
    titles: dict[str, str] = field(default_factory=dict)
    """Of its tasks, by id: earlier events name them, and the state forgets them now."""
