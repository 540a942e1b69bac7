"""What may stand in a team file: its keys, their types and their bounds.

One rule holds inside: the models say what a person writes; what it means together (names that clash, members that do
not exist) is checked in `meaning`, and `build` turns it into what the engine takes.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, JsonValue, StringConstraints, Tag
from pydantic_core import PydanticCustomError

from engine.core.spec import Aggregation, RunIn

NAME_PATTERN = r"^[A-Za-z][A-Za-z0-9_-]{0,63}$"
REFERENCE_PATTERN = r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$"

Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN)]
Reference = Annotated[str, StringConstraints(pattern=REFERENCE_PATTERN, max_length=500)]
"""`module:qualname`."""
Text = Annotated[str, StringConstraints(max_length=100_000)]
Label = Annotated[str, StringConstraints(min_length=1, max_length=200)]

LATER = frozenset(
    {
        "limits",
        "strategies",
        "lead",
        "enable_auto_evolution",
        "coordination_strategies",
        "memory",
        "failover",
        "escalate",
    }
)
"""Keys and policies of later versions, refused by name so that nobody thinks they work."""


class _Block(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class RetryBlock(_Block):
    """How often to try again, and how long to wait between tries."""

    retries: Annotated[int, Field(ge=0, le=100, description="Tries after the first one.")] = 3
    base_s: Annotated[float, Field(gt=0, le=3600, description="Ceiling of the first back-off, in seconds.")] = 0.5
    cap_s: Annotated[float, Field(gt=0, le=86400, description="Largest ceiling, in seconds.")] = 30.0


def _retry_in_short(value: Any) -> Any:
    return {"retries": value} if isinstance(value, int) and not isinstance(value, bool) else value


class RetryPolicy(_Block):
    """`{retry: 3}`, or `{retry: {retries: 3, base_s: 0.5, cap_s: 30}}`."""

    retry: Annotated[
        RetryBlock,
        BeforeValidator(_retry_in_short, json_schema_input_type=Annotated[int, Field(ge=0, le=100)] | RetryBlock),
    ]


def _policy(value: Any) -> Any:
    if value == "retry":
        return {"retry": {}}
    name = next(iter(value), None) if isinstance(value, dict) else value
    if isinstance(name, str) and name in LATER:
        raise PydanticCustomError("later", "{name} is not supported yet; use skip or {retry: 3}", {"name": name})
    if value != "skip" and name != "retry":
        raise PydanticCustomError("policy", "must be skip or {retry: 3}")
    return value


Policy = Annotated[
    Annotated[Literal["skip"], Tag("skip")] | Annotated[RetryPolicy, Tag("retry")],
    Discriminator(lambda value: "skip" if value == "skip" else "retry"),
    BeforeValidator(_policy, json_schema_input_type=Literal["skip", "retry"] | RetryPolicy),
]


class AgentBlock(_Block):
    """One agent: what it is, can do and may use."""

    name: Annotated[Name, Field(description="A letter, then up to 63 letters, digits, '_' or '-'.")]
    type: Annotated[
        Label | None,
        Field(description="The runtime that executes it; function where run is given, scripted where script is given."),
    ] = None
    description: Annotated[Text, Field(description="What it does, in words that requests are matched with.")] = ""
    specialties: Annotated[list[Label], Field(max_length=100, description="What it is able to do.")] = []
    tools: Annotated[list[Reference], Field(max_length=200, description="Functions it may call, module:qualname.")] = []
    run: Annotated[Reference | None, Field(description="The function that does the work, module:qualname.")] = None
    run_in: Annotated[
        RunIn | None, Field(description="loop for async functions, thread for plain ones, process for heavy ones.")
    ] = None
    script: Annotated[JsonValue, Field(description="What a scripted agent does, step by step.")] = None
    model: Annotated[Label | list[Label] | None, Field(description="A model, or several to fail over along.")] = None
    instructions: Annotated[Text, Field(description="What a model is told it is.")] = ""
    category: Annotated[Label | None, Field(description="The kind of work it is for.")] = None
    weight: Annotated[float, Field(gt=0, le=1_000_000, description="Its voice in a vote.")] = 1.0
    max_concurrency: Annotated[int, Field(ge=1, le=10_000, description="Attempts it may run at once.")] = 1
    timeout_s: Annotated[
        float | None, Field(gt=0, le=31_536_000, description="Longest an attempt may take, in seconds.")
    ] = None
    on_failure: Annotated[list[Policy], Field(max_length=10, description="What happens when it fails, in order.")] = []
    options: Annotated[dict[str, JsonValue], Field(description="What its runtime asks for.")] = {}


class SupervisorBlock(_Block):
    """One supervisor: who receives requests and how it hands them on."""

    name: Annotated[Name, Field(description="A letter, then up to 63 letters, digits, '_' or '-'.")]
    strategy: Annotated[Label, Field(description="How a request becomes tasks, such as sequential or parallel.")] = (
        "sequential"
    )
    aggregation: Annotated[Aggregation, Field(description="How results are joined.")] = "concat"
    aggregator: Annotated[Name | None, Field(description="The agent that joins results by synthesis.")] = None
    participants: Annotated[
        list[Name] | None, Field(min_length=1, description="Who takes part, in this order; all where it is left out.")
    ] = None
    order: Annotated[
        list[Name] | None,
        Field(min_length=1, description="Order of agents and teams; those left out follow as they are declared."),
    ] = None
    auto_discover: Annotated[bool, Field(description="Choose agents by the words of the request.")] = False
    max_matches: Annotated[int, Field(ge=1, le=100, description="The most agents a request is given to.")] = 5
    default_agent: Annotated[Name | None, Field(description="Who takes a request that nobody matches.")] = None
    max_parallel: Annotated[int, Field(ge=1, le=10_000, description="Attempts its agents may run at once.")] = 10
    max_agents: Annotated[int, Field(ge=1, le=100_000, description="The most agents it may have.")] = 50


class TeamBlock(_Block):
    """A supervisor with its agents and the teams under it."""

    supervisor: SupervisorBlock
    agents: Annotated[list[AgentBlock], Field(description="Agents, in the order in which they take part.")] = []
    teams: Annotated[list["TeamBlock"], Field(description="Supervisors under this one, each with its own agents.")] = []


class TeamDocument(TeamBlock):
    """A team of agents for Quarterdeck."""

    version: Annotated[Literal[1], Field(description="Version of this format.")]
    registry: Annotated[
        list[AgentBlock], Field(description="Specs without an agent, to add or to swap in while the team runs.")
    ] = []


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a team file, for editors."""
    schema = TeamDocument.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "Quarterdeck team file"}
