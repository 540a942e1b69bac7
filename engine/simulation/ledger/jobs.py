"""What the ledger of work is made of: runs, tasks, attempts, questions to a person."""

from dataclasses import dataclass, field
from typing import Any

from engine.core.check import Check, Joining, Takes
from engine.core.limits import Limits
from engine.core.spec import AgentSpec, FailurePolicy
from engine.core.state import TaskStatus


@dataclass(slots=True)
class Try:
    """An attempt at work."""

    number: int
    agent_id: str | None
    generation: int
    started_ms: int
    spec: AgentSpec | None = None
    """What is run, as it was when it began on its generation."""
    parked: bool = False
    waits: list[str] = field(default_factory=list)
    """Calls that it is parked for."""
    asked: set[str] = field(default_factory=set)
    """Why it was asked to stop, all reasons."""


@dataclass(slots=True)
class Job:
    """A task."""

    id: str
    run_id: str
    parent_id: str | None
    kind: str
    title: str
    worker_id: str | None
    supervisor_id: str
    queue: str | None
    priority: int
    created_ms: int
    after: list[str] = field(default_factory=list)
    sees: list[str] | None = None
    takes: Takes = "request"
    need: int | None = None
    is_met: bool = False
    """As many answers came as it needs, whatever became of the others."""
    join: Joining | None = None
    check: Check | None = None
    optional: bool = False
    tolerated: bool = False
    passed_by: bool = False
    call_key: str | None = None
    asked_by: str | None = None
    """Who asked for it, where a switch made it a node of a graph; that one is answered all the same."""
    children: list[str] = field(default_factory=list)
    calls: dict[str, list[str]] = field(default_factory=dict)
    outcome: TaskStatus | None = None
    """None while it is open."""
    output: Any = None
    """Whole, whatever its size."""
    error: str | None = None
    ended_ms: int | None = None
    attempt: Try | None = None
    attempts: int = 0
    agent_id: str | None = None
    """The last agent that was at it."""
    steps: dict[str, Any] = field(default_factory=dict)
    calling: dict[str, str] = field(default_factory=dict)
    question: str | None = None
    in_doubt: bool = False
    retrying_until_ms: int | None = None
    cancelling: bool = False
    exceeded: bool = False
    held: bool = False
    deadline_ms: int | None = None
    """Its own."""
    preemptions: int = 0
    planned: bool = False
    taken: bool = False
    """A team took it from what several members share."""
    """Of a group: its graph was made."""
    outcome_id: str | None = None
    """Of a group: the node whose output is its own."""
    failed: str | None = None
    """Of a group: why it cannot come to a good end."""


@dataclass(slots=True)
class RunEntry:
    """A run."""

    id: str
    supervisor_id: str
    root_id: str
    request: Any
    priority: int
    submitted_ms: int
    on_failure: list[FailurePolicy]
    limits: Limits | None
    category: str | None
    after: list[str]
    deadline_ms: int | None
    tasks: list[str] = field(default_factory=list)
    paused: bool = False
    cancelling: bool = False
    exceeded: bool = False
    held: bool = False


@dataclass(slots=True)
class Question:
    """A question that waits for a person."""

    id: str
    kind: str
    subject: str
    run_id: str | None
    due_ms: int | None
