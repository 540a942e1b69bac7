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
    """Tokens of the request."""
    tokens_out: Annotated[int, Field(ge=0, le=10**9)] | None = None
    """Tokens of the answer."""
    tokens_cached: Annotated[int, Field(ge=0, le=10**9)] | None = None
    """Tokens of the request that were cached."""
    cost_usd: Annotated[Decimal, Field(ge=0, le=10**6)] | None = None
    """Price in US dollars."""


class ScriptedStep(ScriptPart):
    """One step of a rule; journaled, and not repeated."""

    name: str
    """Its name in the journal."""
    delay_s: Delay = 0.0
    """Its duration in seconds."""
    spend: Spending | None = None
    """Its usage."""
    output: JsonValue = None
    """Its recorded output."""


class ScriptedDelegation(ScriptPart):
    """A delegation to another member."""

    to: str
    """Name of the member."""
    text: JsonValue = "{text}"
    """The text of the task."""
    or_output: JsonValue = None
    """The answer if the delegation fails; without it the attempt fails as well."""


class ScriptedMap(ScriptPart):
    """A delegation of one task for each item."""

    to: str
    """Name of the member."""
    items: list[JsonValue]
    """The text of each task."""
    return_failures: bool = False
    """A failed task does not fail the attempt; its error is in the answer."""


class Rule(ScriptPart):
    """The actions for texts that match."""

    match: Expression | None = None
    """A regular expression to search in the text; without it the rule matches every text."""
    times: Annotated[int, Field(ge=1)] | None = None
    """How many attempts of a task it is for; then the next rule that matches."""
    delay_s: Delay | tuple[Delay, Delay] = 0.0
    """Delay in seconds, or the bounds between which it is drawn."""
    spend: Spending | None = None
    """Usage in addition to that of the steps."""
    emit: list[str] = Field(default_factory=list)
    """Pieces of text to stream."""
    emit_every_s: Delay = 0.0
    """Pause between two pieces of `emit`."""
    progress: Annotated[int, Field(ge=0, le=10_000)] = 0
    """Number of progress reports during the delay."""
    steps: list[ScriptedStep] = Field(default_factory=list)
    """Steps, in order."""
    delegate: ScriptedDelegation | None = None
    """A delegation, whose result is `{answer}`."""
    map: ScriptedMap | None = None
    """A delegation of each item, whose results are `{answer}`."""
    fail: str | None = None
    """The error with which the attempt fails."""
    fail_rate: Annotated[float, Field(ge=0, le=1)] = 1.0
    """Share of the attempts that fail with `fail`, chosen by the task's id and attempt."""
    output: JsonValue = "{agent}: {text}"
    """The output of the attempt."""


class Script(ScriptPart):
    """The options of a scripted agent."""

    script: list[Rule] = Field(default_factory=list)
    """Rules, of which the first that matches is executed."""


KINDS: Mapping[str, AgentKind] = {
    "scripted": AgentKind(
        words="a scripted agent",
        factory="engine.runtimes.scripted:scripted_runtime",
        options=Script,
        unused=("run", "run_in", "tools", "model", "instructions", "mcp", "may", "approve"),
    )
}
