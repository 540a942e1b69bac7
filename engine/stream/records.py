"""Records of streams: pieces of live output, and stream events for programs."""

from typing import Literal, TypeAlias

from msgspec import Struct

from engine.core.events import Event
from engine.core.records.records import JsonValue
from engine.core.records.values import Usage

PieceKind: TypeAlias = Literal["text", "thought", "tool_started", "tool_ended", "dropped", "closed"]
"""Kind of a piece. `closed` (no more output of the attempt) is for the live file only."""

Kind: TypeAlias = Literal[
    "started",
    "task_started",
    "text",
    "thought",
    "tool_started",
    "tool_ended",
    "step",
    "asked",
    "steered",
    "dropped",
    "task_ended",
    "completed",
]


class Speaker(Struct, frozen=True):
    """The attempt that a piece comes from."""

    run_id: str
    task_id: str
    attempt: int
    agent_id: str
    agent: str


class Piece(Struct):
    """A piece of live output; it is not journaled."""

    speaker: Speaker
    kind: PieceKind
    at_ms: int
    text: str = ""
    name: str | None = None
    """Name of the tool."""
    value: JsonValue = None
    """Arguments or result of the tool; for `dropped`, the number of dropped characters."""


StreamItem: TypeAlias = Piece | tuple[int, Event]
"""An item of a stream: a piece, or a journaled event with its seq."""


class StreamEvent(Struct, frozen=True):
    """An event of a request, for the program that follows it; see docs/reference/python.md."""

    kind: Kind
    at_ms: int
    """In UTC milliseconds of the engine."""
    seq: int | None
    """Seq of the journaled event; None for live output (text, thoughts, tools, dropped)."""
    run_id: str
    task_id: str
    parent_id: str | None
    """The parent task; None for the run's root task."""
    agent_id: str | None
    """The agent, or the supervisor of a group; None for built-in work such as a join."""
    agent: str
    """Its name; for built-in work, the name of the supervisor."""
    depth: int
    """0 for the run's root task, 1 for its nodes, and so on."""
    attempt: int = 0
    """Number of the attempt; 0 before the first."""
    text: str = ""
    """A chunk of output or thought, a question, a message, or an error."""
    name: str | None = None
    """Name of the tool or step, or title of the task."""
    arguments: JsonValue = None
    """Arguments of a tool or step; for `started` the request, for `asked` the options."""
    result: JsonValue = None
    """The result; for `dropped`, the number of dropped characters."""
    usage: Usage | None = None
    status: str | None = None
    """How it ended."""
    event: Event | None = None
    """The journaled event."""
