"""What may stand in a team file: its keys, their types and their bounds.

Rule: the models say what a person writes; what it means together (names that clash, members that do not exist) is
checked in `meaning`, and `build` turns it into what the engine takes. See docs/reference/team-file.md.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from engine.core.fact import JsonValue
from engine.core.options import Balance
from engine.core.spec import Aggregation, RunIn
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
    default_agent: Annotated[Name | None, Field(description="Who takes a request that nobody matches.")] = None
    max_parallel: Annotated[Slots, Field(description="Attempts its agents may run at once.")] = 10
    max_agents: Annotated[Members, Field(description="The most agents it may have.")] = 50
    max_total: Annotated[
        Members | None, Field(description="Attempts that may be at work in it and everything under it.")
    ] = None
    processes: Annotated[
        Slots | None, Field(description="Attempts in processes that may be at work in it and everything under it.")
    ] = None
    lead: Annotated[Name | None, Field(description="The agent that gets the whole request under delegate.")] = None
    settings: Annotated[dict[str, JsonValue], Field(default_factory=dict, description="What its strategy asks for.")]
    on_failure: Annotated[
        list[Policy],
        Field(default_factory=list, max_length=10, description="For agents that say nothing themselves, in order."),
    ]
    balance: Annotated[Balance | None, Field(description="Which of several able agents gets a task.")] = None
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
