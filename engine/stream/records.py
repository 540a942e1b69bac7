"""What goes through a stream: pieces of what attempts say, and the events that a program is given."""

from typing import Literal, TypeAlias

from msgspec import Struct

from engine.core.events import Event
from engine.core.records import JsonValue
from engine.core.values import Usage

PieceKind: TypeAlias = Literal["text", "thought", "tool_started", "tool_ended", "dropped", "closed"]
"""What a piece is; `closed` is for the live file alone: the attempt says nothing more."""

Kind: TypeAlias = Literal[
    "started", "task_started", "text", "thought", "tool_started", "tool_ended", "step", "asked", "steered", "dropped",
    "task_ended", "completed",
]  # fmt: skip


class Speaker(Struct, frozen=True):
    """An attempt that says something."""

    run_id: str
    task_id: str
    attempt: int
    agent_id: str
    agent: str


class Piece(Struct):
    """Something that an attempt said; it is not journaled."""

    speaker: Speaker
    kind: PieceKind
    at_ms: int
    text: str = ""
    name: str | None = None
    """Of a tool."""
    value: JsonValue = None
    """What a tool was called with, or what it answered; of `dropped`, how many characters were left out."""


Heard: TypeAlias = Piece | tuple[int, Event]
"""What a reader gets: a piece, or a journaled event with its seq."""


class StreamEvent(Struct, frozen=True):
    """One thing that happened to a request, for the program that follows it; see docs/reference/python.md."""

    kind: Kind
    at_ms: int
    """In UTC milliseconds of the engine."""
    seq: int | None
    """Of the journaled event; None for what is not journaled: text, thoughts, tools, and what was dropped."""
    run_id: str
    task_id: str
    parent_id: str | None
    """The task that this one is part of; None for the run's own."""
    agent_id: str | None
    """An agent, or the supervisor of a team's task; None for what the engine does itself, such as a join."""
    agent: str
    """Its name; for what the engine does itself, that of the supervisor."""
    depth: int
    """0 for the run's own task, 1 for its nodes, and so on down."""
    attempt: int = 0
    """0 before the first one."""
    text: str = ""
    """A chunk of output or of thought, a question, a message, or what went wrong."""
    name: str | None = None
    """Of the tool or the step; of a task its title."""
    arguments: JsonValue = None
    """What a tool or a step was given; of `started` the request, of `asked` the options."""
    result: JsonValue = None
    """What came of it; of `dropped`, how many characters were left out."""
    usage: Usage | None = None
    status: str | None = None
    """How it ended."""
    event: Event | None = None
    """The journaled event."""
