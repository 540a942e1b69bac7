"""What may stand in a team file about how much, how often and how many: limits, pools, circuits, restarts."""

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, Strict
from pydantic_core import PydanticCustomError

from engine.core.validation.bounds import Attempts, Depth, Dollars, Priority, Seconds, Share, Slots, Tokens, UpToADay

_RANGE = re.compile(r"\s*(\d{1,9})\s*\.\.\s*(\d{1,9})\s*")


class Block(BaseModel):
    """A block of keys: none that is not known, none of another type than is asked for."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class AmountsBlock(Block):
    """A budget: each amount that is left out is without limit."""

    attempts: Annotated[Attempts | None, Field(description="Attempts begun, retries included.")] = None
    time_s: Annotated[Seconds | None, Field(description="Time at work, summed over attempts, in seconds.")] = None
    tokens: Annotated[Tokens | None, Field(description="Tokens in and out.")] = None
    cost_usd: Annotated[Annotated[Dollars, Strict(False)] | None, Field(description="Money, in US dollars.")] = None
    warn_at: Annotated[Share, Field(description="The share of it that is warned about.")] = 0.8
    then: Annotated[
        Literal["stop", "ask", "fail"],
        Field(description="At its end: stop at the next step, ask a person, or fail at once."),
    ] = "stop"


class AgentLimitsBlock(AmountsBlock):
    """What an agent may spend in all, and on each task."""

    task: Annotated[AmountsBlock | None, Field(description="What it may spend on one task.")] = None


class LimitsBlock(AmountsBlock):
    """What a supervisor and everything under it may spend in all, and on each run, task and agent."""

    run_s: Annotated[Seconds | None, Field(description="How long a run may take, in seconds.")] = None
    depth: Annotated[Depth | None, Field(description="How deep delegations and teams may nest.")] = None
    run: Annotated[AmountsBlock | None, Field(description="What each run may spend.")] = None
    task: Annotated[AmountsBlock | None, Field(description="What each task may spend.")] = None
    agent: Annotated[AmountsBlock | None, Field(description="What each agent may spend in all.")] = None


def _pool(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    found = _RANGE.fullmatch(value)
    if found is None:
        raise PydanticCustomError("pool", "must be a range such as 1..8, or {min: 1, max: 8}")
    return {"min": int(found[1]), "max": int(found[2])}


class PoolBlock(Block):
    """Bounds within which instances of an agent come and go."""

    min: Slots = 1
    max: Slots
    grow_at: Annotated[Attempts, Field(description="Waiting tasks for each instance before one is added.")] = 2
    idle_s: Annotated[UpToADay, Field(description="Idle seconds before one is taken away.")] = 10.0


PoolBounds = Annotated[PoolBlock, BeforeValidator(_pool, json_schema_input_type=str | PoolBlock)]


class CircuitBlock(Block):
    """When an agent that keeps failing gets nothing to do for a while."""

    failures: Annotated[int, Field(ge=1, le=1000, description="Failed attempts in a row that open it.")] = 5
    cool_s: Annotated[UpToADay, Field(description="How long it stays open, in seconds.")] = 30.0


class RestartBlock(Block):
    """Who is started anew when an agent crashes, and how often before the supervisor itself fails."""

    strategy: Annotated[
        Literal["one_for_one", "one_for_all", "rest_for_one"],
        Field(description="The one that crashed, all of them, or it and those declared after it."),
    ] = "one_for_one"
    intensity: Annotated[int, Field(ge=0, le=1000, description="Restarts that are allowed within the period.")] = 3
    period_s: Annotated[UpToADay, Field(description="The period, in seconds.")] = 60.0


class PreemptBlock(Block):
    """When an urgent task takes the slot of a less urgent one."""

    at: Annotated[
        Literal["step", "now", "never"], Field(description="When the less urgent one stops: at its next step, or now.")
    ] = "step"
    urgent: Annotated[Priority, Field(description="Priorities up to this number take slots; 0 is highest.")] = 0
    limit: Annotated[int, Field(ge=0, le=100, description="How often one task may be made to wait.")] = 3
