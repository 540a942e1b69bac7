"""What the script of a scripted agent may say: the `options` of the type `scripted`.

Apart from the runtime that plays it, so that a team file is checked without the event loop. See `scripted`.
"""

from decimal import Decimal
from typing import Annotated

from pydantic import Field

from engine.core.records.records import JsonValue
from engine.scripts import Expression, Part

Delay = Annotated[float, Field(ge=0, le=86_400)]


class Spending(Part):
    """What something costs."""

    tokens_in: Annotated[int, Field(ge=0, le=10**9)] | None = None
    tokens_out: Annotated[int, Field(ge=0, le=10**9)] | None = None
    tokens_cached: Annotated[int, Field(ge=0, le=10**9)] | None = None
    cost_usd: Annotated[Decimal, Field(ge=0, le=10**6)] | None = None


class ScriptedStep(Part):
    """One step of a rule; journaled, and not done again."""

    name: str
    delay_s: Delay = 0.0
    spend: Spending | None = None
    output: JsonValue = None


class ScriptedDelegation(Part):
    """One piece of work for another member."""

    to: str
    text: JsonValue = "{text}"
    or_output: JsonValue = None
    """The answer in place of a failure; without it the attempt fails with the delegation."""


class ScriptedMap(Part):
    """The same work on several items."""

    to: str
    items: list[JsonValue]
    return_failures: bool = False


class Rule(Part):
    """What to do with the texts that it matches."""

    match: Expression | None = None
    times: Annotated[int, Field(ge=1)] | None = None
    delay_s: Delay | tuple[Delay, Delay] = 0.0
    spend: Spending | None = None
    """What the rule costs, besides its steps."""
    emit: list[str] = Field(default_factory=list)
    emit_every_s: Delay = 0.0
    """Pause between two pieces of `emit`."""
    progress: Annotated[int, Field(ge=0, le=10_000)] = 0
    """How many steps of progress the delay is shown in."""
    steps: list[ScriptedStep] = Field(default_factory=list)
    delegate: ScriptedDelegation | None = None
    map: ScriptedMap | None = None
    fail: str | None = None
    fail_rate: Annotated[float, Field(ge=0, le=1)] = 1.0
    """Share of the attempts that `fail` is for; which ones follows from the task's id and attempt."""
    output: JsonValue = "{agent}: {text}"


class Script(Part):
    """The options of a scripted agent."""

    script: list[Rule] = Field(default_factory=list)
