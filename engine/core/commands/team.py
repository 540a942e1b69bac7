"""Commands about who is in the team."""

from dataclasses import field
from typing import Literal, TypeAlias, Union

from engine.core.fact import fact
from engine.core.spec import AgentSpec, Aggregation


@fact
class SupervisorSpec:
    """A supervisor and everything under it, as a team file or a program describes it."""

    name: str
    mode: str = "sequential"
    aggregation: Aggregation = "concat"
    aggregator: str | None = None
    participants: list[str] | None = None
    auto_discover: bool = False
    max_matches: int = 5
    default_agent: str | None = None
    max_parallel: int = 10
    max_agents: int = 50
    members: list[Union[AgentSpec, "SupervisorSpec"]] = field(default_factory=list)
    """Agents and sub-supervisors in declared order."""


Target: TypeAlias = str
"""An id, a name, or `supervisor/name` where a name alone is not unique."""


@fact
class LoadTeam:
    """Make the team of a file: all of it in an empty database, else what is new or changed in it."""

    type: Literal["load_team"] = "load_team"
    path: str
    folder: str
    text: str
    sha256: str
    team: SupervisorSpec
    registry: list[AgentSpec] = field(default_factory=list)
    """Specs that are known without an agent of their own."""
    trusted: list[str] = field(default_factory=list)
    """References of the file that the operator allowed."""


@fact
class AddSupervisor:
    """Add a supervisor with everything under it."""

    type: Literal["add_supervisor"] = "add_supervisor"
    parent: Target | None
    """None makes a root."""
    team: SupervisorSpec
    trusted: list[str] = field(default_factory=list)


@fact
class AddAgent:
    """Add an agent to a supervisor."""

    type: Literal["add_agent"] = "add_agent"
    supervisor: Target | None = None
    """None is the first root."""
    spec: AgentSpec | None = None
    registered: str | None = None
    """Name of a spec in the registry, instead of `spec`."""
    name: str | None = None
    """Name of the agent; None takes the spec's."""
    trusted: list[str] = field(default_factory=list)


@fact
class RegisterSpec:
    """Put a spec into the registry."""

    type: Literal["register_spec"] = "register_spec"
    spec: AgentSpec
    trusted: list[str] = field(default_factory=list)


@fact
class UnregisterSpec:
    """Take a name out of the registry."""

    type: Literal["unregister_spec"] = "unregister_spec"
    name: str


@fact
class RemoveMember:
    """Remove an agent, or a supervisor that has nothing under it."""

    type: Literal["remove_member"] = "remove_member"
    target: Target
    mode: Literal["drain", "requeue", "abort"] | None = None
    """What happens to the work of an agent that is busy; None is refused while it is."""


@fact
class SwapAgent:
    """Give an agent another spec while it works."""

    type: Literal["swap_agent"] = "swap_agent"
    agent: Target
    spec: AgentSpec | None = None
    registered: str | None = None
    """Name of a spec in the registry, instead of `spec`."""
    mode: str = "drain"
    trusted: list[str] = field(default_factory=list)


@fact
class Pause:
    """Let an agent, a supervisor or a run start nothing new."""

    type: Literal["pause"] = "pause"
    target: Target


@fact
class Resume:
    """Let a paused agent, supervisor or run go on."""

    type: Literal["resume"] = "resume"
    target: Target


@fact
class TrustReferences:
    """Allow references to be imported and called."""

    type: Literal["trust_references"] = "trust_references"
    references: list[str]
