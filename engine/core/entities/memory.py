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
MAX_INSIGHTS = 200
"""Limit on the insights of an agent."""
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


@entity
class Insight:
    """A note that an agent stored for later attempts."""

    id: str
    agent_id: str
    text: StoredValue
    tags: list[str] = field(default_factory=list)
    importance: float
    """From 0 to 1; beyond the limit the least important insight is dropped, of equals the oldest."""
    at_ms: int = 0


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
