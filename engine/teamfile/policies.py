"""What may stand at `on_failure`: policies by name, or by name with their settings."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag
from pydantic_core import PydanticCustomError

from engine.core.policies.records import Escalate, Fail, Failover, FailurePolicy, Retry, Several, Skip
from engine.core.validation.bounds import Label, Seconds, UpToADay
from engine.teamfile.bounds import Block

_ALLOWED = "must be retry, failover, escalate, fail or skip, such as {retry: 3}"


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

    after_s: Annotated[Seconds | None, Field(description="Seconds until the default holds; for ever if left out.")] = (
        None
    )
    default: Annotated[
        Literal["reject", "retry", "skip"], Field(description="What holds where nobody answered in time.")
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
"""The settings of policies that have any."""
_RECORDS: dict[str, type] = {"retry": Retry, "failover": Failover, "escalate": Escalate, "skip": Skip, "fail": Fail}


def _policy(value: Any) -> Any:
    name = next(iter(value), None) if isinstance(value, dict) else value
    if not isinstance(name, str) or name not in (BLOCKS if isinstance(value, dict) else _RECORDS):
        raise PydanticCustomError("policy", _ALLOWED)
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
        BadValue: If its settings do not go together.
    """
    if isinstance(policy, str):
        made: FailurePolicy = _RECORDS[policy]()
    else:
        ((name, block),) = policy
        made = _RECORDS[name](**block.model_dump())
    return made
