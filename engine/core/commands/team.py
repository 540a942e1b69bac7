"""Commands about the team: members, specs, swaps and settings."""

from typing import Annotated, Literal, TypeAlias, Union

from msgspec import field

from engine.core.options import SupervisorOptions
from engine.core.records import fact
from engine.core.spec import AgentSpec, Aggregation
from engine.core.validation.bounds import Attempts, Label, Matches, Members, Name, Participants, Seconds, Slots
from engine.core.validation.records import Written
from engine.core.validation.rules import Within


class SupervisorSpec(Written, kw_only=True, tag_field="type", tag="supervisor"):
    """A supervisor with everything under it, as a team file or a program describes it.

    Raises:
        BadValue: If a field cannot be right.
    """

    whose = "supervisor"
    name: Name
    mode: Label = "sequential"
    aggregation: Aggregation = "concat"
    aggregator: Name | None = None
    participants: Participants | None = None
    auto_discover: bool = False
    max_matches: Matches = 5
    default_agent: Name | None = None
    max_parallel: Slots = 10
    max_agents: Members = 50
    options: SupervisorOptions = field(default_factory=SupervisorOptions)
    members: list[Union[AgentSpec, "SupervisorSpec"]] = field(default_factory=list)
    """Agents and sub-supervisors, in order."""


Target: TypeAlias = str
"""An id, a name, or `supervisor/name` where a name alone is not unique."""


Winner: TypeAlias = Literal["declared", "current"]
"""Which values win for a member that was changed after its last declaration: the newly declared or the current."""


@fact
class LoadTeam:
    """Load the team of a file: all of it into an empty database, else what is new or changed."""

    type: Literal["load_team"] = "load_team"
    path: str
    folder: str
    text: str
    sha256: str
    team: SupervisorSpec
    registry: list[AgentSpec] = field(default_factory=list)
    """Specs for the registry, without agents of their own."""
    on_conflict: Winner = "declared"
    prune: bool = False
    """Remove members that are no longer declared in the file, once their work is done."""


@fact
class Declare:
    """Adapt a member to its declaration by a restarted program, or add it if it is missing."""

    type: Literal["declare"] = "declare"
    parent: Target | None
    """Its supervisor; None makes a root."""
    member: AgentSpec | SupervisorSpec
    on_conflict: Winner = "declared"
    settings: bool = True
    """Apply the declared settings to existing supervisors; False keeps their present settings."""


@fact
class AddSupervisor:
    """Add a supervisor with all its members."""

    type: Literal["add_supervisor"] = "add_supervisor"
    parent: Target | None
    """None makes a root."""
    team: SupervisorSpec
    forming: bool = False
    """A program declares members in any order: names that are unknown yet are checked at the first request."""
    declared: bool = False
    """A program declares it, and declares it again when it restarts."""


@fact
class AddAgent:
    """Add an agent to a supervisor, or several as one change: all or none."""

    type: Literal["add_agent"] = "add_agent"
    supervisor: Target | None = None
    """None is the first root supervisor."""
    spec: AgentSpec | None = None
    registered: Name | None = None
    """Name of a spec in the registry, instead of `spec`."""
    name: Name | None = None
    """Name of the agent; None takes the name of the spec."""
    also: list[AgentSpec] = field(default_factory=list)
    """Specs of further agents for the same supervisor, each named as its spec."""
    evict: bool = False
    """If the supervisor is full, remove the agent that has been idle for longest; never one at work."""
    declared: bool = False
    """A program declares it, and declares it again when it restarts."""


@fact
class RegisterSpec:
    """Put a spec into the registry."""

    type: Literal["register_spec"] = "register_spec"
    spec: AgentSpec


@fact
class UnregisterSpec:
    """Remove a spec from the registry."""

    type: Literal["unregister_spec"] = "unregister_spec"
    name: str


@fact
class RemoveMember:
    """Remove an agent or a supervisor."""

    type: Literal["remove_member"] = "remove_member"
    target: Target
    mode: Literal["drain", "requeue", "abort"] | None = None
    """What happens to its open work; None refuses the command while there is any."""


@fact
class SwapAgent:
    """Give an agent another spec, also while it works."""

    type: Literal["swap_agent"] = "swap_agent"
    agent: Target
    spec: AgentSpec | None = None
    registered: Name | None = None
    """Name of a spec in the registry, instead of `spec`."""
    mode: str = "drain"
    """`drain`: attempts at work finish on the old spec. `migrate`: they continue on the new one at their next step.
    `abort`: they are stopped and start over on the new one."""
    deadline_s: Seconds | None = None
    """With `drain`: ask a person if attempts still run on the old spec after so many seconds."""
    rollback_failures: Attempts | None = None
    """Roll back automatically if so many of the first `rollback_tasks` tasks of the new generation fail."""
    rollback_tasks: Attempts = 10
    generation: int | None = None
    """The expected generation; the command is refused if the agent has another by now. None accepts any."""


@fact
class SwapAgents:
    """Swap several agents as one change: all or none."""

    type: Literal["swap_agents"] = "swap_agents"
    swaps: list[SwapAgent]


@fact
class Rollback:
    """Give an agent the spec of its previous generation."""

    type: Literal["rollback"] = "rollback"
    agent: Target
    mode: str = "drain"
    generation: int | None = None
    """The expected generation; the command is refused if the agent has another by now. None accepts any."""


@fact
class RollbackAgents:
    """Roll several agents back as one change: all or none."""

    type: Literal["rollback_agents"] = "rollback_agents"
    rollbacks: list[Rollback]


@fact
class ChangeCapabilities:
    """Add or remove specialties of a live agent; its code stays."""

    type: Literal["change_capabilities"] = "change_capabilities"
    agent: Target
    add: list[Label] = field(default_factory=list)
    remove: list[Label] = field(default_factory=list)


@fact
class Move:
    """Move an agent, or a supervisor with everything under it, to another supervisor."""

    type: Literal["move"] = "move"
    target: Target
    parent: Target
    place: Annotated[int, Within(ge=0)] | None = None
    """Its index among the members there; None puts it last."""


@fact
class ReplaceTeam:
    """Make a supervisor equal a description: swap members that differ, add new ones, remove the rest."""

    type: Literal["replace_team"] = "replace_team"
    supervisor: Target
    team: SupervisorSpec
    mode: str = "drain"
    """Mode of the swaps and removals."""


@fact
class ChangeSupervisor:
    """Change settings of a supervisor; None leaves a setting as it is."""

    type: Literal["change_supervisor"] = "change_supervisor"
    supervisor: Target
    options: SupervisorOptions | None = None
    max_parallel: Slots | None = None
    max_agents: Members | None = None
    exactly: bool = False
    """Apply the options exactly, also those that are None or empty."""


@fact
class Pause:
    """Pause an agent, a supervisor or a run: it starts nothing new."""

    type: Literal["pause"] = "pause"
    target: Target


@fact
class Resume:
    """Resume a paused agent, supervisor or run."""

    type: Literal["resume"] = "resume"
    target: Target
