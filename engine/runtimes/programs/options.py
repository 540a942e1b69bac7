"""The kinds of agents that are programs, `process` and `acp`, and their `options`.

See docs/reference/programs.md.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from engine.core.specs.model_spec import Variable
from engine.platform.field_docstrings import describe_keys
from engine.runtimes.kinds import AgentKind, Place, SpecBlock

TOOL_KINDS = (
    "read",
    "edit",
    "delete",
    "move",
    "search",
    "execute",
    "think",
    "fetch",
    "switch_mode",
    "other",
)
"""Kinds of tools in the Agent Client Protocol, which are the keys of `approve` of an `acp` agent."""
Word = Annotated[str, Field(max_length=100_000, pattern=r"^[^\x00]*$")]


class ProgramOptions(BaseModel):
    """Options of every program."""

    model_config = ConfigDict(extra="forbid", defer_build=True, json_schema_extra=describe_keys)

    argv: Annotated[list[Word], Field(min_length=1, max_length=200)]
    """The program and its arguments; never a shell."""
    env: list[Variable] = Field(default_factory=list, max_length=100)
    """Environment variables that it gets in addition to the usual ones."""
    cwd: Word = "."
    """Its working folder, relative to the team's folder."""
    worktree: bool = False
    """It works in a git worktree of its own, one for each attempt."""

    @model_validator(mode="after")
    def _is_named(self) -> "ProgramOptions":
        if not self.argv[0]:
            raise ValueError("argv names no program")
        return self


class ProcessOptions(ProgramOptions):
    """Options of the type `process`."""

    input: Literal["stdin", "argument"] = "stdin"
    """How it gets its task; an argument is the last one."""
    protocol: Literal["text", "jsonl"] = "text"
    """Format of its output: text, or lines of JSON."""
    once: bool = False
    """It must not run twice for a task; after an interruption the task is in doubt."""
    output_bytes: Annotated[int, Field(ge=1, le=50_000_000)] = 10_000_000
    """Maximum size of the output, in bytes."""

    @model_validator(mode="after")
    def _has_input(self) -> "ProcessOptions":
        if self.protocol == "jsonl" and self.input == "argument":
            raise ValueError("a program that speaks jsonl gets its task on stdin; leave out input")
        return self


class AcpOptions(ProgramOptions):
    """Options of the type `acp`."""

    fs: Literal["none", "read", "write"] = "none"
    """Which files of its folder it may request from the engine; direct access is not covered."""
    terminal: bool = False
    """It may ask the engine to run programs in its folder, each approved by a person; not its own programs."""


def _unused_by_acp(keys: SpecBlock) -> Iterator[tuple[Place, str]]:
    for tool in keys.approve:
        if tool not in TOOL_KINDS:
            yield ("approve", tool), f"is no kind of tool of the protocol; there are {', '.join(TOOL_KINDS)}"
    for index, name in enumerate(keys.mcp):
        if "/" in name:
            server_name = name.partition("/")[0]
            yield ("mcp", index), f"names one tool, and an agent of type acp gets whole servers: write {server_name!r}"


_UNUSED = ("run", "run_in", "tools", "model", "may", "step_timeout_s")
_OPTIONS_HINT = "name the program: options: {argv: [tr, a-z, A-Z]}"
_HINTS = {"step_timeout_s": "use timeout_s"}
KINDS: Mapping[str, AgentKind] = {
    "process": AgentKind(
        words="an agent of type process",
        factory="engine.runtimes.programs.process:process_runtime",
        options=ProcessOptions,
        options_hint=_OPTIONS_HINT,
        unused=(*_UNUSED, "instructions", "mcp", "approve"),
        hints=_HINTS,
    ),
    "acp": AgentKind(
        words="an agent of type acp",
        factory="engine.runtimes.programs.acp:acp_runtime",
        options=AcpOptions,
        options_hint=_OPTIONS_HINT,
        unused=_UNUSED,
        hints=_HINTS,
        unused_by_others=_unused_by_acp,
    ),
}
