"""The `options` of agents that are programs, of the types `process` and `acp`.

See docs/reference/programs.md.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from engine.core.specs.model_spec import Variable

Word = Annotated[str, Field(max_length=100_000, pattern=r"^[^\x00]*$")]


class ProgramOptions(BaseModel):
    """Options of every program."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

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


KINDS: dict[str, type[ProgramOptions]] = {"process": ProcessOptions, "acp": AcpOptions}
"""Options by agent type."""
