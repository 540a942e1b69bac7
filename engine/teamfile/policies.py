"""The smaller blocks of a team file: limits, pools, circuits, restarts, and the policies at `on_failure`."""

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Strict, Tag
from pydantic_core import PydanticCustomError

from engine.core.specs.failure_policies import Escalate, Fail, Failover, FailurePolicy, Retry, Several, Skip
from engine.core.validation.bounds import (
    Attempts,
    Depth,
    Dollars,
    Label,
    Priority,
    Seconds,
    Share,
    Slots,
    Tokens,
    UpToADay,
)

_RANGE = re.compile(r"\s*(\d{1,9})\s*\.\.\s*(\d{1,9})\s*")


class Block(BaseModel):
    """A block of keys; unknown keys and other types are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, defer_build=True)


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


class RetryBlock(Block):
    """How often to try again, how long to wait between tries, and after which errors."""

    retries: Annotated[int, Field(ge=0, le=100, description="Tries after the first one.")] = 3
    base_s: Annotated[float, Field(gt=0, le=3600, description="Ceiling of the first back-off, in seconds.")] = 0.5
    cap_s: Annotated[UpToADay, Field(description="Largest ceiling, in seconds.")] = 30.0
    on: Annotated[
        list[Label],
        Field(default_factory=list, max_length=50, description="Exceptions that are worth it; all where empty."),
    ]
    never_on: Annotated[
        list[Label], Field(default_factory=list, max_length=50, description="Exceptions that are not worth it.")
    ]


class FailoverBlock(Block):
    """How many other agents to try."""

    agents: Annotated[Several | None, Field(description="How many; all there are where left out.")] = None


class EscalateBlock(Block):
    """How long a person is waited for, and what happens then."""

    after_s: Annotated[Seconds | None, Field(description="Seconds until the default holds; no limit if left out.")] = (
        None
    )
    default: Annotated[
        Literal["reject", "retry", "skip"], Field(description="The answer when none was given in time.")
    ] = "reject"


def _in_short(name: str) -> BeforeValidator:
    """Let `{retry: 3}` stand for `{retry: {retries: 3}}`."""

    def spelled(value: Any) -> Any:
        return {name: value} if isinstance(value, int | float) and not isinstance(value, bool) else value

    return BeforeValidator(spelled, json_schema_input_type=Any)


class RetryPolicy(Block):
    """`{retry: 3}`, or `{retry: {retries: 3, base_s: 0.5, cap_s: 30, on: [TimeoutError]}}`."""

    retry: Annotated[RetryBlock, _in_short("retries")]


class FailoverPolicy(Block):
    """`{failover: 2}`, or `{failover: {agents: 2}}`."""

    failover: Annotated[FailoverBlock, _in_short("agents")]


class EscalatePolicy(Block):
    """`{escalate: 30}`, or `{escalate: {after_s: 30, default: reject}}`."""

    escalate: Annotated[EscalateBlock, _in_short("after_s")]


BLOCKS: dict[str, type[Block]] = {"retry": RetryBlock, "failover": FailoverBlock, "escalate": EscalateBlock}
"""The models of policies that have settings."""
_RECORDS: dict[str, type] = {"retry": Retry, "failover": Failover, "escalate": Escalate, "fail": Fail, "skip": Skip}
_ALLOWED = f"must be one of {', '.join(_RECORDS)}, such as {{retry: 3}}"
_ONE = "must be one policy, its settings in a block of their own, such as {retry: {retries: 3, base_s: 0.5}}"


def _policy(value: Any) -> Any:
    name = next(iter(value), None) if isinstance(value, dict) else value
    if not isinstance(name, str) or name not in (BLOCKS if isinstance(value, dict) else _RECORDS):
        raise PydanticCustomError("policy", _ALLOWED)
    if isinstance(value, dict) and len(value) > 1:
        raise PydanticCustomError("policy", _ONE)
    return {name: {}} if isinstance(value, str) and value in BLOCKS else value


def _which(value: Any) -> str:
    return str(next(iter(value), "")) if isinstance(value, dict) else str(value)


Policy = Annotated[
    Annotated[Literal["skip"], Tag("skip")]
    | Annotated[Literal["fail"], Tag("fail")]
    | Annotated[RetryPolicy, Tag("retry")]
    | Annotated[FailoverPolicy, Tag("failover")]
    | Annotated[EscalatePolicy, Tag("escalate")],
    Discriminator(_which),
    BeforeValidator(
        _policy,
        json_schema_input_type=Literal["skip", "fail", "retry", "failover", "escalate"]
        | RetryPolicy
        | FailoverPolicy
        | EscalatePolicy,
    ),
]


def policy_of(policy: Policy) -> FailurePolicy:
    """Return the failure policy that a block stands for.

    Raises:
        BadValue: If its settings contradict each other.
    """
    if isinstance(policy, str):
        made: FailurePolicy = _RECORDS[policy]()
    else:
        ((name, block),) = policy
        made = _RECORDS[name](**block.model_dump())
    return made
