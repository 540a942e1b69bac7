"""The format of a team file: the records of its blocks, and the keys that are not in a record.

Types, bounds, defaults and descriptions come from the records (`blocks`). Checks across keys (name clashes, missing
members) are in `meaning`; `build` converts the blocks to specs. See docs/reference/team-file.md.
"""

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from engine.core.commands import SupervisorSpec
from engine.core.records.records import JsonValue, field_names
from engine.core.specs.failure_policies import FailurePolicy
from engine.core.specs.limits import Limits
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec, Pool
from engine.core.validation.bounds import Label, Participants, Text
from engine.runtimes.catalogue import built_in, kinds
from engine.teamfile.blocks import FILE_TYPES, Block, as_record, block_of, keys_of
from engine.teamfile.policies import POLICY

LATER_KEYS = frozenset({"enable_auto_evolution", "memory"})
"""Keys of later versions, refused by name so that they are not silently ignored."""
_RANGE = re.compile(r"\s*(\d{1,9})\s*\.\.\s*(\d{1,9})\s*")


def _range_in_full(value: Any) -> Any:
    """Return the block of a pool for a range such as `1..8`."""
    if not isinstance(value, str):
        return value
    bounds = _RANGE.fullmatch(value)
    if bounds is None:
        raise PydanticCustomError("pool", "must be a range such as 1..8, or {min: 1, max: 8}")
    return {"min": int(bounds[1]), "max": int(bounds[2])}


FILE_TYPES[FailurePolicy] = POLICY
FILE_TYPES[Pool] = Annotated[
    as_record(Pool), BeforeValidator(_range_in_full, json_schema_input_type=str | block_of(Pool))
]


@keys_of(Limits, leave=("run_s", "depth"))
class AmountsBlock(Block):
    """A budget: each amount that is left out is without limit."""


class AgentLimitsBlock(AmountsBlock):
    """What an agent may spend in all, and on each task."""

    task: AmountsBlock | None = None
    """The budget of each task."""


@keys_of(Limits)
class LimitsBlock(AmountsBlock):
    """What a supervisor and everything under it may spend in all, and on each run, task and agent."""

    run: AmountsBlock | None = None
    """The budget of each run."""
    task: AmountsBlock | None = None
    """The budget of each task."""
    agent: AmountsBlock | None = None
    """The budget of each agent."""


@keys_of(
    AgentSpec,
    leave=("agent_type", "task_limits"),
    first=("name", "type", "description", "specialties", "tools", "run", "run_in", "script"),
)
class AgentBlock(Block):
    """One agent: what it is, can do and may use."""

    type: Label | None = None
    """The runtime; `function` where `run` is given, `scripted` where `script` is, `llm` where a model is."""
    script: JsonValue = None
    """The script of a scripted agent, instead of `run`."""
    limits: AgentLimitsBlock | None = None
    """Its budget, and with `task` that of each of its tasks."""


_TEAM_KEYS = ("strategies", "models", "mcp")
"""Options of a supervisor that a file has beside the `supervisor` block, with the limits."""
_LIMIT_FIELDS = ("limits", "run_limits", "task_limits", "agent_limits")


@keys_of(
    SupervisorSpec,
    SupervisorOptions,
    leave=("mode", "options", "members", "optimize", *_TEAM_KEYS, *_LIMIT_FIELDS),
    first=("name", "strategy", "settings", "order", "model", "instructions"),
)
class SupervisorBlock(Block):
    """One supervisor: who receives requests and how it hands them on."""

    strategy: Label = "sequential"
    """How a request becomes tasks: `sequential`, `parallel`, and others."""
    order: Participants | None = None
    """The order of agents and teams; the others follow as they are declared."""
    model: Label | list[Label] | None = None
    """The model that leads, or several to fail over along."""
    instructions: Text = ""
    """What the model that leads is told it is."""


@keys_of(
    SupervisorOptions,
    leave=set(field_names(SupervisorOptions)) - set(_TEAM_KEYS),
    first=("supervisor", "agents", "limits"),
)
class TeamBlock(Block):
    """A supervisor with its agents and the teams under it."""

    supervisor: SupervisorBlock
    """Who gets the requests."""
    agents: list[AgentBlock] = Field(default_factory=list)
    """Its agents, in the order in which they take part."""
    limits: LimitsBlock | None = None
    """Budgets and deadlines."""
    teams: list["TeamBlock"] = Field(default_factory=list)
    """Supervisors under it, each with `agents`, `teams`, `limits`, `models`, `mcp` and `strategies` of its own."""


class TeamDocument(TeamBlock):
    """A team of agents for Quarterdeck."""

    version: Literal[1]
    """The version of this format."""
    registry: list[AgentBlock] = Field(default_factory=list)
    """Specs without an agent, to swap in or add while the team runs."""


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a team file, for editors; an agent's options are described for its type."""
    schema = TeamDocument.model_json_schema()
    rules = schema["$defs"]["AgentBlock"]["allOf"] = []
    for agent_type in built_in():
        if (options := kinds()[agent_type].options) is not None:
            block = options.model_json_schema()
            schema["$defs"] |= {**block.pop("$defs", {}), options.__name__: block}
            is_type = {"properties": {"type": {"const": agent_type}, "run": False}, "required": ["type"]}
            rules.append({"if": is_type, "then": {"properties": {"options": {"$ref": f"#/$defs/{options.__name__}"}}}})
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "Quarterdeck team file"}
