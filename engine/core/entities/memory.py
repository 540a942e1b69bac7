"""Entities of what outlives a run: exchanges of conversations, insights, track records. References alone, bounded."""

from msgspec import field

from engine.core.entities.work import RunStatus, Utterance
from engine.core.records.records import entity
from engine.core.records.values import StoredValue, Usage

EXCHANGES = 50
"""How many finished runs of its conversation a new run remembers."""
UTTERANCES = 200
"""How many messages between requests and outputs a conversation keeps, besides those that an open run remembers."""
CONVERSATIONS = 100
"""How many conversations of a supervisor are kept, besides those with an open run."""
INSIGHTS = 200
"""How many insights an agent keeps."""
PARTS = 1_000
"""How many parts of prompts are known to stand in the journal; an older one is written again where it is used."""
CATEGORIES = 50
"""How many categories of work the track record of an agent tells apart."""


@entity
class TrackRecord:
    """What the attempts of an agent came to at work of one category."""

    done: int = 0
    failed: int = 0
    cancelled: int = 0
    usage: Usage = field(default_factory=Usage)


@entity
class Insight:
    """Something that an agent wants to know later."""

    id: str
    agent_id: str
    """Whose."""
    text: StoredValue
    tags: list[str] = field(default_factory=list)
    importance: float
    """From 0 to 1; of too many the least important go, the oldest of these first."""
    at_ms: int = 0


@entity
class Exchange:
    """A finished run of a conversation, as the runs after it remember it."""

    run_id: str
    status: RunStatus
    request: StoredValue = None
    output: StoredValue = None
    error: str | None = None
    said: list[Utterance] = field(default_factory=list)
    """What the model that answered said and heard between request and output; empty where no model did, or where it is
    too long ago."""
    readers: int = 0
    """Open runs that remember it."""


@entity
class Conversation:
    """Requests to one supervisor, each of which remembers those that had ended before it."""

    ended: int = 0
    """How many runs of it have ended; exchanges are numbered by that, from 0."""
    open: int = 0
    """How many runs of it are open."""
    worked: list[str] = field(default_factory=list)
    """Members that had a place in the graphs of the last one that ended; a request that suits nobody goes to them."""
    exchanges: dict[int, Exchange] = field(default_factory=dict)
    """The last `EXCHANGES`, and older ones that an open run remembers."""
