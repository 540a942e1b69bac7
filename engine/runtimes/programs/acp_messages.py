"""Messages of an ACP agent as records, independent of the protocol's package: abilities, turns, calls."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Abilities:
    """The declared capabilities of an agent."""

    loads: bool
    """It can load a session and replays its history."""
    resumes: bool
    """It can resume a session."""
    calls_addresses: bool
    """It can use tool servers at addresses."""
    logins: list[str]
    """Names of its login methods."""


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """How a prompt ended."""

    stop_reason: str
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """An update of a tool call; a field that is None has not changed."""

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
class PermissionOption:
    """One answer to a request for permission."""

    id: str
    name: str
    kind: str
