"""The format of a team file: its keys, their types and their bounds.

Checks across keys (name clashes, missing members) are in `meaning`; `build` converts the models to records of the
engine. See docs/reference/team-file.md.
"""

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import Field, Strict, StringConstraints

from engine.core.records.records import JsonValue
from engine.core.specs.model_spec import Address, LongestWait, ModelSpec, PerMillion, PerMinute, Price, Variable
from engine.core.specs.options import Balance
from engine.core.specs.spec import Aggregation, May, RunIn
from engine.core.validation.bounds import (
    Label,
    Matches,
    Members,
    Name,
    NoneToADay,
    Participants,
    Seconds,
    Slots,
    Text,
    Weight,
)
from engine.teamfile.policies import (
    AgentLimitsBlock,
    Block,
    CircuitBlock,
    LimitsBlock,
    Policy,
    PoolBounds,
    PreemptBlock,
    RestartBlock,
)

REFERENCE_PATTERN = r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$"

Reference = Annotated[str, StringConstraints(pattern=REFERENCE_PATTERN, max_length=500)]
"""`module:qualname`."""

LATER = frozenset({"enable_auto_evolution", "memory"})
"""Keys of later versions, refused by name so that they are not silently ignored."""


class AgentBlock(Block):
    """One agent: what it is, can do and may use."""

    name: Annotated[Name, Field(description="A letter, then up to 63 letters, digits, '_' or '-'.")]
    type: Annotated[
        Label | None,
        Field(description="The runtime that executes it; function where run is given, scripted where script is given."),
    ] = None
    description: Annotated[Text, Field(description="What it does, in words that requests are matched with.")] = ""
    specialties: Annotated[
        list[Label], Field(default_factory=list, max_length=100, description="What it is able to do.")
    ]
    tools: Annotated[
        list[Reference],
        Field(default_factory=list, max_length=200, description="Functions it may call, module:qualname."),
    ]
    run: Annotated[Reference | None, Field(description="The function that does the work, module:qualname.")] = None
    run_in: Annotated[
        RunIn | None, Field(description="loop for async functions, thread for plain ones, process for heavy ones.")
    ] = None
    script: Annotated[JsonValue, Field(description="What a scripted agent does, step by step.")] = None
    model: Annotated[Label | list[Label] | None, Field(description="A model, or several to fail over along.")] = None
    instructions: Annotated[Text, Field(description="What a model is told it is.")] = ""
    mcp: Annotated[
        list[Label], Field(default_factory=list, max_length=100, description="Servers of tools, or server/tool.")
    ]
    may: Annotated[
        list[May], Field(default_factory=list, max_length=10, description="What a model may do besides its tools.")
    ]
    approve: Annotated[
        dict[Label, JsonValue],
        Field(default_factory=dict, description="When a person is asked before a tool: never, always, or a guard."),
    ]
    output: Annotated[JsonValue, Field(description="JSON Schema of its output; text where it is left out.")] = None
    category: Annotated[Label | None, Field(description="The kind of work it is for.")] = None
    weight: Annotated[Weight, Field(description="Its share of the work, among those able to do it.")] = 1.0
    max_concurrency: Annotated[Slots, Field(description="Attempts it may run at once.")] = 1
    timeout_s: Annotated[Seconds | None, Field(description="Longest an attempt may take, in seconds.")] = None
    step_timeout_s: Annotated[Seconds | None, Field(description="Longest one step may take, in seconds.")] = None
    on_failure: Annotated[
        list[Policy], Field(default_factory=list, max_length=10, description="What happens when it fails, in order.")
    ]
    pool: Annotated[PoolBounds | None, Field(description="As many instances as its queue asks for, such as 1..8.")] = (
        None
    )
    limits: Annotated[AgentLimitsBlock | None, Field(description="What it may spend.")] = None
    circuit: Annotated[CircuitBlock | None, Field(description="When it gets nothing to do after failures.")] = None
    options: Annotated[dict[str, JsonValue], Field(default_factory=dict, description="What its runtime asks for.")]


class PriceBlock(Block):
    """What tokens cost, in US dollars for a million of them."""

    in_usd: Annotated[Annotated[PerMillion, Strict(False)], Field(description="Tokens in.")] = Decimal(0)
    out_usd: Annotated[Annotated[PerMillion, Strict(False)], Field(description="Tokens out.")] = Decimal(0)
    cached_usd: Annotated[
        Annotated[PerMillion, Strict(False)] | None, Field(description="Tokens in from the provider's cache.")
    ] = None


class ModelBlock(Block):
    """A model under a name of the team's own."""

    model: Annotated[Label | None, Field(description="Its name in litellm, such as openai/gpt-4o-mini.")] = None
    key_env: Annotated[Variable | None, Field(description="The variable that holds its key.")] = None
    base_url: Annotated[Address | None, Field(description="Where it is served, if not at its provider.")] = None
    rpm: Annotated[PerMinute | None, Field(description="Requests a minute that are allowed.")] = None
    tpm: Annotated[PerMinute | None, Field(description="Tokens a minute that are allowed.")] = None
    price: Annotated[PriceBlock | None, Field(description="What its tokens cost.")] = None
    context_tokens: Annotated[int | None, Field(ge=256, le=10**9, description="Tokens that a request may hold.")] = None
    timeout_s: Annotated[LongestWait, Field(description="Longest a request may take, in seconds.")] = 600.0
    idle_s: Annotated[LongestWait, Field(description="Longest that nothing may come, in seconds.")] = 60.0
    replies: Annotated[
        list[JsonValue], Field(default_factory=list, max_length=1_000, description="What it says, in place of a model.")
    ]


def model_spec(block: ModelBlock) -> ModelSpec:
    """Return the record of a model.

    Raises:
        BadValue: If its values contradict each other.
    """
    price = None if block.price is None else Price(**block.price.model_dump())
    return ModelSpec(**block.model_dump() | {"price": price})


class McpBlock(Block):
    """A tool server that speaks the Model Context Protocol."""

    argv: Annotated[list[Text], Field(default_factory=list, max_length=100, description="A program and arguments.")]
    url: Annotated[Address | None, Field(description="The address of a server, in place of a program.")] = None
    env: Annotated[
        list[Variable], Field(default_factory=list, max_length=100, description="Variables that the program gets.")
    ]
    headers_env: Annotated[
        dict[Label, Variable], Field(default_factory=dict, description="Variables that hold headers of each request.")
    ]
    idempotent: Annotated[
        list[Label], Field(default_factory=list, max_length=200, description="Tools that may be called twice.")
    ]
    timeout_s: Annotated[LongestWait, Field(description="Longest a call may take, in seconds.")] = 60.0


class SupervisorBlock(Block):
    """One supervisor: who receives requests and how it hands them on."""

    name: Annotated[Name, Field(description="A letter, then up to 63 letters, digits, '_' or '-'.")]
    strategy: Annotated[Label, Field(description="How a request becomes tasks, such as sequential or parallel.")] = (
        "sequential"
    )
    aggregation: Annotated[Aggregation, Field(description="How results are joined.")] = "concat"
    aggregator: Annotated[Name | None, Field(description="The agent that joins results by synthesis.")] = None
    participants: Annotated[
        Participants | None, Field(description="Who takes part, in this order; all where it is left out.")
    ] = None
    order: Annotated[
        list[Name] | None,
        Field(min_length=1, description="Order of agents and teams; those left out follow as they are declared."),
    ] = None
    auto_discover: Annotated[bool, Field(description="Choose agents by the words of the request.")] = False
    max_matches: Annotated[Matches, Field(description="The most agents a request is given to.")] = 5
    default_agent: Annotated[Name | None, Field(description="Takes requests that match no agent.")] = None
    max_parallel: Annotated[Slots, Field(description="Attempts its agents may run at once.")] = 10
    max_agents: Annotated[Members, Field(description="The most agents it may have.")] = 50
    max_total: Annotated[
        Members | None, Field(description="Attempts that may be at work in it and everything under it.")
    ] = None
    processes: Annotated[
        Slots | None, Field(description="Attempts in processes that may be at work in it and everything under it.")
    ] = None
    model: Annotated[
        Label | list[Label] | None, Field(description="A model that leads, or several to fail over along.")
    ] = None
    instructions: Annotated[Text, Field(description="What the model that leads is told it is.")] = ""
    lead: Annotated[Name | None, Field(description="The agent that gets the whole request under delegate.")] = None
    settings: Annotated[dict[str, JsonValue], Field(default_factory=dict, description="What its strategy asks for.")]
    on_failure: Annotated[
        list[Policy],
        Field(default_factory=list, max_length=10, description="For agents that say nothing themselves, in order."),
    ]
    balance: Annotated[Balance | None, Field(description="Which of several able agents gets a task.")] = None
    track_record: Annotated[
        bool | None, Field(description="A model that leads is told how its workers did at such work before.")
    ] = None
    ageing_s: Annotated[
        NoneToADay | None,
        Field(description="Seconds of waiting that raise a task by a priority; 0 never."),
    ] = None
    preempt: Annotated[PreemptBlock | None, Field(description="When an urgent task takes a slot.")] = None
    restart: Annotated[RestartBlock | None, Field(description="What happens when an agent crashes.")] = None
    circuit: Annotated[CircuitBlock | None, Field(description="For agents that say nothing themselves.")] = None
    grace_s: Annotated[
        NoneToADay | None, Field(description="Seconds to the next step after a deadline, before the abort.")
    ] = None


class TeamBlock(Block):
    """A supervisor with its agents and the teams under it."""

    supervisor: SupervisorBlock
    agents: Annotated[
        list[AgentBlock], Field(default_factory=list, description="Agents, in the order in which they take part.")
    ]
    limits: Annotated[LimitsBlock | None, Field(description="What may be spent, and by when.")] = None
    models: Annotated[
        dict[Label, ModelBlock], Field(default_factory=dict, description="Models by the names that agents use.")
    ]
    mcp: Annotated[
        dict[Label, McpBlock], Field(default_factory=dict, description="Servers of tools by the names agents use.")
    ]
    strategies: Annotated[
        dict[Label, Label],
        Field(default_factory=dict, description="Strategies by category, such as {research_tasks: parallel}."),
    ]
    teams: Annotated[
        list["TeamBlock"],
        Field(default_factory=list, description="Supervisors under this one, each with its own agents."),
    ]


class TeamDocument(TeamBlock):
    """A team of agents for Quarterdeck."""

    version: Annotated[Literal[1], Field(description="Version of this format.")]
    registry: Annotated[
        list[AgentBlock],
        Field(default_factory=list, description="Specs without an agent, to add or to swap in while the team runs."),
    ]


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a team file, for editors."""
    schema = TeamDocument.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "Quarterdeck team file"}
