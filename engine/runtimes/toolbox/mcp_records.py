"""What the files of tool servers share; free of the packages of the protocol, which take a second to import."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from typing_extensions import override

from engine.children.child import Child
from engine.children.tail import how_ended
from engine.core.records.records import JsonValue
from engine.core.specs.model_spec import McpSpec
from engine.errors import EngineError, Unusable
from engine.platform.redaction import note_sent_variable

MAX_TOOLS = 1_000
"""Tools of one server; the rest are ignored."""


class Fault(IntEnum):
    """Codes of the errors that take the place of an answer; outside the range of JSON-RPC."""

    LOST = -990_001
    """It is unknown whether the call took place."""
    NOT_REACHED = -990_002
    """The server did not accept the call."""
    UNUSABLE = -990_003
    """The server has answered, but its answer cannot be used."""


class Lost(EngineError):
    """A server was lost before it answered: it is unknown whether the call took place."""


class NotReached(EngineError):
    """A server did not accept a call, which can be repeated over a new connection."""


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool that a server offers."""

    name: str
    description: str
    parameters: Mapping[str, JsonValue]


@dataclass(slots=True)
class LastWords:
    """How a program ended, and the last line of its standard error."""

    program: Child | None = None

    @property
    def kill_reason(self) -> str:
        """Why it was ended by us; empty if it ended by itself."""
        return "" if self.program is None else self.program.kill_reason

    @override
    def __str__(self) -> str:
        """Return it as one line; empty if it neither ended nor wrote anything."""
        if self.program is None or self.kill_reason:
            return self.kill_reason
        code, line = self.program.returncode, self.program.errors.line
        parts = [] if code is None else [f"it {how_ended(code)}"]
        if line:
            parts.append(f"it last said: {line[:300]}")
        return "; ".join(parts)


def headers_of(spec: McpSpec) -> dict[str, str]:
    """Return the headers of each request to a server.

    Raises:
        Unusable: If the variable of a header is not set.
    """
    missing = next((name for name in spec.headers_env.values() if name not in os.environ), None)
    if missing is not None:
        raise Unusable(
            f"the engine's environment has no {missing}, which 'headers_env' names; set it and start the engine"
        )
    for name in spec.headers_env.values():
        note_sent_variable(name)
    return {header: os.environ[name] for header, name in spec.headers_env.items()}
