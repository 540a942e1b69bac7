"""The kinds of agents that a model plays, and their `options`."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from engine.core.records.records import JsonValue
from engine.core.specs.management import AgentManagementTools
from engine.core.specs.spec import MODEL_TYPES, AgentSpec
from engine.platform.field_docstrings import describe_keys
from engine.runtimes.kinds import AgentKind, Place, SpecBlock
from engine.runtimes.options import options_in

TOOL_NAMES = (
    "delegate",
    "forward_message",
    "list_workers",
    "create_agent",
    *AgentManagementTools,
    "create_plan",
    "ask_human",
    "remember",
    "recall",
    "read_result",
)
"""Built-in tools, which `tool_names` may rename."""
ToolName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
MemberName = Annotated[str, Field(min_length=1, max_length=200)]


class ModelOptions(BaseModel):
    """Options of every model agent."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, defer_build=True, json_schema_extra=describe_keys
    )
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    """How much answers vary; None is the provider's default."""
    max_tokens: Annotated[int, Field(ge=1, le=10**7)] | None = None
    """Longest answer, in tokens."""
    turns: Annotated[int, Field(ge=1, le=10_000)] = 50
    """Most turns of one task."""
    tools_at_once: Annotated[int, Field(ge=1, le=1_000)] = 8
    """Concurrent calls of one turn; delegations are all made at once, and wait for slots."""
    compact_at: Annotated[float, Field(ge=0.05, le=1)] = 0.8
    """Share of the model's context from which on the conversation is compacted."""
    result_chars: Annotated[int, Field(ge=200, le=10**7)] = 20_000
    """Characters of a result that the model is shown; it reads on from there with `read_result`."""
    tool_names: dict[str, ToolName] = Field(default_factory=dict)
    """Other names for the engine's own tools."""
    params: dict[str, JsonValue] = Field(default_factory=dict)
    """Other provider parameters, passed through unchanged."""

    @model_validator(mode="after")
    def _names_fit(self) -> "ModelOptions":
        unknown = next((name for name in self.tool_names if name not in TOOL_NAMES), None)
        if unknown is not None:
            raise ValueError(f"tool_names: no tool {unknown!r} of the engine; there are {', '.join(TOOL_NAMES)}")
        names = [self.name_of(tool) for tool in TOOL_NAMES]
        duplicate = next((name for name in names if names.count(name) > 1), None)
        if duplicate is not None:
            raise ValueError(f"tool_names: two tools would have the name {duplicate!r}")
        return self

    def name_of(self, tool: str) -> str:
        """Return the model's name for a built-in tool."""
        return self.tool_names.get(tool, tool)

    @property
    def request_params(self) -> dict[str, JsonValue]:
        """Parameters of each request to the provider."""
        named: dict[str, JsonValue] = {"temperature": self.temperature, "max_tokens": self.max_tokens}
        return {**{name: value for name, value in named.items() if value is not None}, **self.params}


class TeamOptions(ModelOptions):
    """Options of a `MultiAgent`."""

    team: Annotated[list[MemberName], Field(min_length=1, max_length=100)]
    """Names of its members, in order."""
    mode: Literal["sequential", "parallel"] = "sequential"
    """One after the other, each with the results before it; or all at once."""


class TalkOptions(ModelOptions):
    """Options of a `ConversationAgent`."""

    speakers: Annotated[list[MemberName], Field(min_length=2, max_length=100)]
    """Names of the speaking members, in order."""
    moderator: MemberName | None = None
    """The member that chooses the next speaker and the end; otherwise its own model, otherwise they take turns."""
    end: Annotated[str, Field(min_length=1, max_length=100)] = "END"
    """The word with which a speaker ends the conversation."""


_OF_TYPES: Mapping[str, type[ModelOptions]] = {"MultiAgent": TeamOptions, "ConversationAgent": TalkOptions}


def options_class(agent_type: str) -> type[ModelOptions]:
    """Return the class of the options of an agent type."""
    return _OF_TYPES.get(agent_type, ModelOptions)


def options_of(spec: AgentSpec) -> ModelOptions:
    """Return the options of a model agent.

    Raises:
        Unusable: If they are invalid.
    """
    return options_in(spec, options_class(spec.agent_type or ""))


def uses_tools(spec: AgentSpec) -> bool:
    """Return whether an agent calls tools in a loop; an agent of type `llm` does if its spec gives it any."""
    if spec.agent_type == "llm":
        return bool(spec.tools or spec.mcp or spec.may or spec.approve)
    return spec.agent_type != "SimpleAgent"


def _unused_by_members(agent_type: str, keys: SpecBlock) -> Iterator[tuple[Place, str]]:
    """Yield keys for the agent's own model, if the agent is composed of others and its own model is not used."""
    if keys.model and keys.options.get("moderator") is not None:
        yield ("model",), "does nothing beside a moderator; leave one of them out"
    elif keys.instructions and not keys.model:
        yield ("instructions",), f"is for the model of a {agent_type}, and this one has none; name it with 'model'"


_TOOLS = ("tools", "mcp", "may", "approve")
_UNUSED: Mapping[str, tuple[str, ...]] = {
    "SimpleAgent": ("run_in", *_TOOLS),
    "MultiAgent": ("run_in", *_TOOLS),
    "ConversationAgent": ("run_in", *_TOOLS, "output"),
}
KINDS: Mapping[str, AgentKind] = {
    agent_type: AgentKind(
        words=f"an agent of type {agent_type}",
        factory="engine.runtimes.model.runtime:model_runtime",
        options=options_class(agent_type),
        unused=_UNUSED.get(agent_type, ("run_in",)),
        hints=dict.fromkeys(_TOOLS, "make it a ReactAgent") if agent_type == "SimpleAgent" else {},
        unused_by_others=partial(_unused_by_members, agent_type) if agent_type in _OF_TYPES else None,
    )
    for agent_type in MODEL_TYPES
}
