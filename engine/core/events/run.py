"""Events of runs: submitted, paused, rewired, cancelled, finished."""

from typing import Literal

from msgspec import field

from engine.core.entities.work import Figures
from engine.core.events.base import RunEvent, SupervisorEvent
from engine.core.events.task import NodePlan
from engine.core.records.records import JsonValue, fact
from engine.core.records.values import StoredValue
from engine.core.specs.check import Takes
from engine.core.specs.limits import Limits
from engine.core.specs.options import DEFAULT_PRIORITY
from engine.core.specs.spec import Aggregation, FailurePolicy
from engine.core.state import RunStatus


@fact
class RunSubmitted(RunEvent):
    """A request was submitted to a supervisor."""

    supervisor_id: str
    root_id: str
    """The group task of the whole run."""
    request: JsonValue
    on_failure: list[FailurePolicy] = field(default_factory=list)
    """Failure policies of the request."""
    priority: int = DEFAULT_PRIORITY
    deadline_ms: int | None = None
    warn_ms: int | None = None
    """When to warn about the deadline, UTC milliseconds."""
    category: str | None = None
    limits: Limits | None = None
    after: list[str] = field(default_factory=list)
    """Runs that must be done before it begins."""
    conversation: str | None = None
    """The conversation that it continues; it sees the runs of it that have ended by now."""
    labels: dict[str, str] = field(default_factory=dict)


@fact
class RunPaused(RunEvent):
    """A run was paused: none of its tasks starts, attempts at work wait at their next step."""

    stopping: list[str] = field(default_factory=list)
    """Tasks whose attempts are set aside at once."""


@fact
class RunResumed(RunEvent):
    """A paused run was resumed."""


@fact
class CancelRequested(RunEvent):
    """Work is cancelled: tasks not started end, attempts at work stop at their next step."""

    task_id: str | None = None
    """The task that is cancelled, with everything below it; None cancels the whole run."""
    cancelled: list[str]
    """Tasks that end at once, because no attempt of them is at work."""
    stopping: list[str]
    """Tasks whose attempts are asked to stop."""
    reason: str
    at_once: bool = False
    """Attempts are aborted at once instead of stopped at their next step."""
    grace_ms: int | None = None
    """How long attempts may run to their next step, in milliseconds; None is the grace of their supervisor."""
    failed: bool = False
    """Attempts that stop end as failed, for the reason; else as cancelled."""


@fact
class GroupChange:
    """How one graph in progress is rewired."""

    task_id: str
    run_id: str
    mode: str
    kept: list[str] = field(default_factory=list)
    """Nodes that are done or continue, and delegations of a lead that continues."""
    cancelled: list[str] = field(default_factory=list)
    """Nodes at work that are asked to stop."""
    added: list[NodePlan] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    """Work not started that the new graph has no place for: nodes, and delegations of a lead that is stopped."""
    after: dict[str, list[str]] = field(default_factory=dict)
    """The nodes that each rewired node now waits for."""
    takes: dict[str, Takes] = field(default_factory=dict)
    outcome_id: str | None = None
    sees: dict[str, list[str]] = field(default_factory=dict)
    """The nodes whose outputs each rewired node gets, if not all before it."""
    roles: dict[str, str] = field(default_factory=dict)
    needs: dict[str, int] = field(default_factory=dict)
    """How many predecessors of a node must be done before it begins."""
    tolerated: list[str] = field(default_factory=list)
    """Nodes whose failure does not fail the graph."""
    adopted: list[str] = field(default_factory=list)
    """Delegations, done or at work, of a lead that is replaced or stopped; they become nodes of the graph."""
    settings: dict[str, JsonValue] = field(default_factory=dict)


@fact
class StrategySwitched(SupervisorEvent):
    """The strategy of a supervisor or of one run changed; open graphs were rewired, done nodes stay done."""

    mode: str
    previous: str
    aggregation: Aggregation
    aggregator: str | None
    scope: Literal["run", "open", "new"]
    groups: list[GroupChange] = field(default_factory=list)
    settings: dict[str, JsonValue] = field(default_factory=dict)
    lead: str | None = None
    run_id: str | None = None
    """With the scope `run`: the only run that changes; the supervisor keeps its strategy."""


@fact
class RunFigures(Figures):
    """Figures of a finished run, so that its end can be shown without folding the events before it."""


@fact
class RunFinished(RunEvent):
    """A run finished; its tasks are removed from the state."""

    status: RunStatus
    output: StoredValue
    figures: RunFigures
    error: str | None = None
    following: list[str] = field(default_factory=list)
    """Open runs that were waiting for it."""
    titles: dict[str, str] = field(default_factory=dict)
    """Titles of its tasks, by id: readers of earlier events need them once the state has dropped the tasks."""
