"""What an agent of the Agent Client Protocol says, without the package of the protocol: abilities, turns, calls."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Abilities:
    """What an agent says of itself."""

    loads: bool
    """It can load a session and replays its history."""
    resumes: bool
    """It can resume a session."""
    calls_addresses: bool
    """It can use tool servers at addresses."""
    logins: list[str]


@dataclass(frozen=True, slots=True)
class Turn:
    """How a prompt ended."""

    stop_reason: str
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """What is new about a tool call; None where nothing is."""

    id: str
    title: str | None
    kind: str | None
    status: str | None
    input: Any
    output: Any
    texts: list[str] = field(default_factory=list)
    diffs: list[tuple[str, str, str]] = field(default_factory=list)
    """Path, old text, new text."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer to a request for permission."""

    id: str
    name: str
    kind: str
