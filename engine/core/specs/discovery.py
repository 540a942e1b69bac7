"""Where a supervisor with `auto_discover` finds agents, and when it may add them: docs/semantics/discovery.md."""

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from typing_extensions import override

from engine.core.errors import BadValue
from engine.core.records.records import field_names
from engine.core.validation.bounds import DocumentPattern, Label, Matches, Name, Share
from engine.core.validation.records import ValidatedRecord
from engine.core.validation.rules import Within

DEFAULT_MATCHES = 5


class AgentDiscoveryMode(StrEnum):
    """One place where agents are found."""

    REGISTRY = "registry"
    """The team; where another mode is given too, also the specs of its registry."""
    CATALOGUE = "catalogue"
    """Approved entries of the catalogue of the user who runs the engine."""
    COMPONENT = "component"
    """Of these entries, those of installed packages."""
    MCP = "mcp"
    """The tool servers of the team: an agent is made for one whose tools match."""
    RAG = "rag"
    """Documents in the folder of the team whose front matter describes an agent."""
    DYNAMIC = "dynamic"
    """An agent made for the need, from a template or by a model."""
    HYBRID = "hybrid"
    """All of them; `dynamic` only where nothing else is found, and never unasked."""


if TYPE_CHECKING:  # what a program may write; records hold members
    Modes: TypeAlias = Sequence[
        AgentDiscoveryMode | Literal["registry", "catalogue", "component", "mcp", "rag", "dynamic", "hybrid"]
    ]
else:
    Modes = Annotated[tuple[AgentDiscoveryMode, ...], Within(min_length=1)]


class DiscoveryConfig(ValidatedRecord, kw_only=True):
    """How a supervisor with `auto_discover` finds agents for a request.

    Raises:
        BadValue: If a field is invalid, or nothing is given to make agents from.
    """

    whose = "discovery"
    modes: Modes = (AgentDiscoveryMode.REGISTRY,)
    """Where agents are found: `registry` (the team), `catalogue`, `component`, `mcp`, `rag`, `dynamic`, or `hybrid`."""
    max_matches: Matches = DEFAULT_MATCHES
    """Most agents for one request."""
    min_score: Share = 0.35
    """The score, 0 to 1, from which an agent that is found may join the team."""
    max_new: Annotated[int, Within(ge=0, le=50)] = 3
    """Most agents that one run may bring into its teams."""
    evict: bool = False
    """Where the supervisor has all the agents that it may have: an idle one that was found in this way makes room."""
    approve: Literal["ask", "granted"] = "ask"
    """`granted`: agents join without a question where they need no code, program or address that is not trusted yet."""
    template: Name | None = None
    """Name of a spec of the registry that agents made by `dynamic` follow, but for their name and subject."""
    model: Label | None = None
    """The model that describes such agents, and that they and those of `mcp` use."""
    documents: Annotated[tuple[DocumentPattern, ...], Within(max_length=100)] = ()
    """Patterns of files for `rag`, such as `agents/*.md`, in the folder of the team."""

    @override
    def __post_init__(self) -> None:
        """Refuse a mode without what it needs."""
        super().__post_init__()
        modes = self.modes
        if AgentDiscoveryMode.DYNAMIC in modes and self.template is None and self.model is None:
            raise BadValue("discovery", ("modes",), "need a template or a model for dynamic")
        if AgentDiscoveryMode.RAG in modes and not self.documents:
            raise BadValue("discovery", ("modes",), "need documents for rag")

    def uses(self, mode: AgentDiscoveryMode) -> bool:
        """Return whether a place is searched; `hybrid` searches each for which it has what it needs."""
        if AgentDiscoveryMode.HYBRID not in self.modes:
            return mode in self.modes
        if mode is AgentDiscoveryMode.DYNAMIC:
            return self.template is not None or self.model is not None
        return mode is not AgentDiscoveryMode.RAG or bool(self.documents)

    @property
    def searches(self) -> bool:
        """Return whether agents outside the team are looked for."""
        return any(mode is not AgentDiscoveryMode.REGISTRY for mode in self.modes) and self.max_new > 0


class DiscoveryChange(ValidatedRecord, kw_only=True):
    """Fields of a `DiscoveryConfig` that change; None leaves one as it is.

    Raises:
        BadValue: If a field is invalid.
    """

    whose = "discovery"
    modes: Annotated[list[AgentDiscoveryMode], Within(min_length=1)] | None = None
    """Where agents are found: `registry` (the team), `catalogue`, `component`, `mcp`, `rag`, `dynamic`, or `hybrid`."""
    documents: Annotated[list[DocumentPattern], Within(max_length=100)] | None = None
    """Patterns of files for `rag`, such as `agents/*.md`, in the folder of the team."""
    approve: Literal["ask", "granted"] | None = None
    """`granted`: agents join without a question where they need no code, program or address that is not trusted yet."""
    max_new: Annotated[int, Within(ge=0, le=50)] | None = None
    """Most agents that one run may bring into its teams."""
    evict: bool | None = None
    """Where the supervisor has all the agents that it may have: an idle one that was found in this way makes room."""

    def applied_to(self, config: DiscoveryConfig) -> DiscoveryConfig:
        """Return a config with these changes; raises BadValue if it is invalid then."""
        before = {name: getattr(config, name) for name in field_names(DiscoveryConfig)}
        changes = {name: getattr(self, name) for name in field_names(DiscoveryChange)}
        return DiscoveryConfig(**before | {name: value for name, value in changes.items() if value is not None})
