"""Entities that outlive a run: exchanges of conversations, insights, track records. Bounded; texts by reference."""

from msgspec import field

from engine.core.entities.work import RunStatus, TaskStatus, Utterance
from engine.core.records.records import entity, fact
from engine.core.records.values import StoredValue, Usage

MAX_EXCHANGES = 50
"""Limit on the finished runs of its conversation that a new run remembers."""
MAX_UTTERANCES = 200
"""Limit on the messages between requests and outputs of a conversation, besides those that an open run remembers."""
MAX_CONVERSATIONS = 100
"""Limit on the conversations of a supervisor, besides those with an open run."""
PRIVATE = "private"
"""The segment of an agent's own insights: they leave with it, and nobody else reads them."""
MAX_INSIGHTS = 200
"""Limit on the private insights of an agent."""
MAX_READERS = 10
"""Limit on the agents that are known to have read an insight."""
MAX_PARTS = 1_000
"""Limit on the parts of prompts known to be in the journal; an older one is recorded again when it is used."""
MAX_CATEGORIES = 50
"""Limit on the categories in the track record of an agent."""
MAX_LAST_TASKS = 10
"""Limit on the ended tasks that an agent remembers."""


@entity
class TrackRecord:
    """Outcomes and usage of an agent's attempts in one category."""

    done: int = 0
    failed: int = 0
    cancelled: int = 0
    usage: Usage = field(default_factory=Usage)


@fact
class EndedTask:
    """A task that has ended, as the agent that worked on it last remembers it."""

    task_id: str
    title: str
    status: TaskStatus
    ended_ms: int
    """When it ended, UTC milliseconds."""


@fact
class Evidence:
    """The step in which an insight was written."""

    run_id: str
    task_id: str
    step: str
    """Key of the step."""


@entity
class Insight:
    """A note of an agent for its later work or, in a segment of its team, for all that may read there.

    Once written, only `superseded_by` and who read it change.
    """

    id: str
    agent_id: str | None = None
    """The agent that wrote it, which may have left; None if a person or a program did."""
    author: str = ""
    """Name of who wrote it, at that time."""
    supervisor_id: str = ""
    """The supervisor at the top of its team, whose pool it belongs to."""
    text: StoredValue
    tags: list[str] = field(default_factory=list)
    segment: str = field(default_factory=lambda: PRIVATE)
    importance: float
    """From 0 to 1; beyond the limit the least important insights are dropped first."""
    at_ms: int = 0
    version: int = 1
    """1, or one more than that of the insight which it supersedes."""
    supersedes: str | None = None
    """The version before it, as far as one is left; it may be forgotten by now."""
    superseded_by: str | None = None
    """The version after it, as far as one is left; it may be forgotten by now."""
    expires_ms: int | None = None
    """When it is forgotten, UTC milliseconds."""
    evidence: Evidence | None = None
    reads: int = 0
    """Number of recorded steps that have read it."""
    readers: list[str] = field(default_factory=list)
    """Ids of the last `MAX_READERS` agents that read it, the last one at the end."""


@entity
class Exchange:
    """A finished run of a conversation, as later runs remember it."""

    run_id: str
    status: RunStatus
    request: StoredValue = None
    output: StoredValue = None
    error: str | None = None
    said: list[Utterance] = field(default_factory=list)
    """Messages of the answering model between request and output; empty if no model answered, or dropped by age."""
    readers: int = 0
    """Open runs that remember it."""


@entity
class Conversation:
    """Requests to one supervisor; each remembers those that had ended before it."""

    ended: int = 0
    """Number of its ended runs; exchanges are numbered in this order, from 0."""
    open: int = 0
    """Number of its open runs."""
    worked: list[str] = field(default_factory=list)
    """Members with a node in the graphs of the last ended run; they get requests that no member matches."""
    exchanges: dict[int, Exchange] = field(default_factory=dict)
    """The last `MAX_EXCHANGES` exchanges, and older ones that an open run remembers."""
