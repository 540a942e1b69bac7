"""The format of scripts of scripted agents: the `options` of the type `scripted`.

It is separate from the runtime (`scripted`), so that a team file can be checked without importing the event loop.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated

from pydantic import Field

from engine.core.records.records import JsonValue
from engine.runtimes.kinds import AgentKind
from engine.scripts import Expression, ScriptPart

Delay = Annotated[float, Field(ge=0, le=86_400)]


class Spending(ScriptPart):
    """Usage of a step or a rule."""

    tokens_in: Annotated[int, Field(ge=0, le=10**9)] | None = None
    tokens_out: Annotated[int, Field(ge=0, le=10**9)] | None = None
    tokens_cached: Annotated[int, Field(ge=0, le=10**9)] | None = None
    cost_usd: Annotated[Decimal, Field(ge=0, le=10**6)] | None = None


class ScriptedStep(ScriptPart):
    """One step of a rule; journaled, and not repeated."""

    name: str
    delay_s: Delay = 0.0
    spend: Spending | None = None
    output: JsonValue = None


class ScriptedDelegation(ScriptPart):
    """A delegation to another member."""

    to: str
    text: JsonValue = "{text}"
    or_output: JsonValue = None
    """The answer if the delegation fails; without it the attempt fails as well."""


class ScriptedMap(ScriptPart):
    """A delegation of one task for each item."""

    to: str
    items: list[JsonValue]
    return_failures: bool = False


class Rule(ScriptPart):
    """The actions for texts that match."""

    match: Expression | None = None
    times: Annotated[int, Field(ge=1)] | None = None
    delay_s: Delay | tuple[Delay, Delay] = 0.0
    spend: Spending | None = None
    """Usage in addition to that of the steps."""
    emit: list[str] = Field(default_factory=list)
    emit_every_s: Delay = 0.0
    """Pause between two pieces of `emit`."""
    progress: Annotated[int, Field(ge=0, le=10_000)] = 0
    """Number of progress reports during the delay."""
    steps: list[ScriptedStep] = Field(default_factory=list)
    delegate: ScriptedDelegation | None = None
    map: ScriptedMap | None = None
    fail: str | None = None
    fail_rate: Annotated[float, Field(ge=0, le=1)] = 1.0
    """Share of the attempts that fail with `fail`, chosen by the task's id and attempt."""
    output: JsonValue = "{agent}: {text}"


class Script(ScriptPart):
    """The options of a scripted agent."""

    script: list[Rule] = Field(default_factory=list)


KINDS: Mapping[str, AgentKind] = {
    "scripted": AgentKind(
        words="a scripted agent",
        factory="engine.runtimes.scripted:scripted_runtime",
        options=Script,
        unused=("run", "run_in", "tools", "model", "instructions", "mcp", "may", "approve"),
    )
}
