"""Facts about tools whose calls must not happen twice: begun, ended badly, settled by a person."""

from typing import Literal

from engine.core.fact import fact


@fact
class ToolStarted:
    """An attempt is about to call a tool that must not be called twice; a step that is recorded is its good end."""

    type: Literal["tool_started"] = "tool_started"
    at_ms: int = 0
    run_id: str = ""
    task_id: str
    attempt: int
    agent_id: str | None
    name: str
    key: str


@fact
class ToolFailed:
    """A tool that was called raised: it has ended, and what is next is a matter of the agent's code."""

    type: Literal["tool_failed"] = "tool_failed"
    at_ms: int = 0
    run_id: str = ""
    task_id: str
    attempt: int
    agent_id: str | None
    name: str
    key: str
    error: str


@fact
class DoubtSettled:
    """A person said of a tool call without an end whether it has happened."""

    type: Literal["doubt_settled"] = "doubt_settled"
    at_ms: int = 0
    run_id: str = ""
    task_id: str
    name: str
    key: str
    ran: bool
    """True: it is not called again, and its output is what the person gave. False: it is called again."""
