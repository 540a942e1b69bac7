"""Commands about the team: members, specs, swaps and settings."""

from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias, Union

from msgspec import field
from typing_extensions import override

from engine.core.commands.base import CommandBase
from engine.core.errors import BadValue
from engine.core.records.records import fact
from engine.core.specs.discovery import DEFAULT_MATCHES, DiscoveryChange
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec, Aggregation
from engine.core.validation.bounds import Attempts, Label, Matches, Members, Name, Participants, Seconds, Slots
from engine.core.validation.records import ValidatedRecord
from engine.core.validation.rules import Within


class SupervisorSpec(ValidatedRecord, kw_only=True, tag_field="type", tag="supervisor"):
    """A supervisor with everything under it, as a team file or a program describes it.

    Raises:
        BadValue: If a field cannot be right.
    """

    whose = "supervisor"
    name: Name
    """An ASCII letter, then up to 63 of these, digits, `_` or `-`."""
    mode: Label = "sequential"
    """Its coordination strategy."""
    aggregation: Aggregation = "concat"
    """How results are joined."""
    aggregator: Name | None = None
    """The agent that makes a synthesis."""
    participants: Participants | None = None
    """Who takes part, in this order; by default all members."""
    auto_discover: bool = False
    """Chooses agents by the words of the request."""
    max_matches: Matches = DEFAULT_MATCHES
    """With `auto_discover`: the most agents that a request is given to; another name of `discovery.max_matches`."""
    default_agent: Name | None = None
    """Gets a request that no agent matches; need not be a participant."""
    max_parallel: Slots = 10
    """Attempts that its own agents may run at once."""
    max_agents: Members = 50
    """The most agents it may have."""
    options: SupervisorOptions = field(default_factory=SupervisorOptions)
    """Its settings besides these."""
    members: list[Union[AgentSpec, "SupervisorSpec"]] = field(default_factory=list)
    """Agents and sub-supervisors, in order."""

    @override
    def __post_init__(self) -> None:
        """Refuse two different limits on the agents of a request."""
        super().__post_init__()
        discovery = self.options.discovery
        if discovery is not None and self.max_matches not in (DEFAULT_MATCHES, discovery.max_matches):
            where = f"supervisor {self.name!r}"
            raise BadValue(where, ("max_matches",), f"is {self.max_matches}, and in discovery {discovery.max_matches}")


@dataclass(frozen=True, slots=True)
class NamesObject:
    """In `Annotated`: the text names an object of the team; the law of targets covers each field and parameter."""


Target: TypeAlias = Annotated[str, NamesObject()]
"""`@id`, a name, `supervisor/name` or `/chief/…`, which `engine.core.queries.targets` resolves."""

Winner: TypeAlias = Literal["declared", "current"]
"""Which values win for a member that was changed after its last declaration: the newly declared or the current."""


@fact
class LoadTeam(CommandBase):
    """Load the team of a file: all of it into an empty database, else what is new or changed."""

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
class Declare(CommandBase):
    """Adapt a member to its declaration by a restarted program, or add it if it is missing."""

    parent: Target | None
    """Its supervisor; None makes a root."""
    member: AgentSpec | SupervisorSpec
    on_conflict: Winner = "declared"
    settings: bool = True
    """Apply the declared settings to existing supervisors; False keeps their present settings."""


@fact
class AddSupervisor(CommandBase):
    """Add a supervisor with all its members."""

    parent: Target | None
    """None makes a root."""
    team: SupervisorSpec
    forming: bool = False
    """A program declares members in any order: names that are unknown yet are checked at the first request."""
    declared: bool = False
    """A program declares it, and declares it again when it restarts."""


@fact
class AddAgent(CommandBase):
    """Add an agent to a supervisor, or several as one change: all or none."""

    supervisor: Target | None = None
    """None is the first root supervisor."""
    spec: AgentSpec | None = None
    registered: Name | None = None
    """Name of a spec in the registry, instead of `spec`."""
    catalogue: Label | None = None
    """Id of an approved entry in the catalogue of the engine's user, instead of `spec`; the engine fills in `spec`."""
    name: Name | None = None
    """Name of the agent; None takes the name of the spec."""
    also: list[AgentSpec] = field(default_factory=list)
    """Specs of further agents for the same supervisor, each named as its spec."""
    evict: bool = False
    """If the supervisor is full, remove the agent that has been idle for longest; never one at work."""
    declared: bool = False
    """A program declares it, and declares it again when it restarts."""


@fact
class RegisterSpec(CommandBase):
    """Put a spec into the registry."""

    spec: AgentSpec


@fact
class UnregisterSpec(CommandBase):
    """Remove a spec from the registry."""

    name: str


@fact
class RemoveMember(CommandBase):
    """Remove an agent, or a supervisor without members."""

    target: Target
    mode: Literal["drain", "requeue", "abort"] | None = None
    """What happens to its open work: finish it, give it to another agent, or stop it; by default only an agent without
    open work is removed."""


@fact
class SwapAgent(CommandBase):
    """Give an agent another spec, also while it works."""

    agent: Target
    spec: AgentSpec | None = None
    registered: Name | None = None
    """Name of a spec in the registry, instead of `spec`."""
    model: Label | None = None
    """Another model for its present spec, instead of `spec`: a name of the team's models, or `provider/name`.

    Where the spec has a list of models it comes first, and the others stay for failover.
    """
    mode: str = "drain"
    """`drain`: attempts at work finish on the old spec. `migrate`: they continue on the new one at their next step.
    `abort`: they are stopped and start over on the new one."""
    deadline_s: Seconds | None = None
    """With `drain`: ask a person if attempts still run on the old spec after this time."""
    rollback_failures: Attempts | None = None
    """Roll back automatically if so many of the first `rollback_tasks` tasks of the new generation fail."""
    rollback_tasks: Attempts = 10
    generation: int | None = None
    """The expected generation; the command is refused if the agent has another by now. None accepts any."""


@fact
class SwapAgents(CommandBase):
    """Swap several agents as one change: all or none."""

    swaps: list[SwapAgent]


@fact
class Rollback(CommandBase):
    """Give an agent the spec of its previous generation."""

    agent: Target
    mode: str = "drain"
    generation: int | None = None
    """The expected generation; the command is refused if the agent has another by now. None accepts any."""
    to: str | None = None
    """Content hash of an earlier spec that the team still knows; None is that of the previous generation."""


@fact
class RollbackAgents(CommandBase):
    """Roll several agents back as one change: all or none."""

    rollbacks: list[Rollback]


@fact
class ChangeCapabilities(CommandBase):
    """Add or remove specialties of a live agent; its code stays."""

    agent: Target
    add: list[Label] = field(default_factory=list)
    """Specialties that it gets; each goes before the next one here that the agent has, else last."""
    remove: list[Label] = field(default_factory=list)
    """Specialties that it loses."""


@fact
class Move(CommandBase):
    """Move an agent, or a supervisor with everything under it, to another supervisor."""

    target: Target
    parent: Target
    place: Annotated[int, Within(ge=0)] | None = None
    """Its index among the members there; None puts it last."""


@fact
class ReplaceTeam(CommandBase):
    """Make a supervisor equal a description: swap members that differ, add new ones, remove the rest."""

    supervisor: Target
    team: SupervisorSpec
    mode: str = "drain"
    """Mode of the swaps and removals."""


@fact
class ChangeSupervisor(CommandBase):
    """Change settings of a supervisor; None leaves a setting as it is."""

    supervisor: Target
    options: SupervisorOptions | None = None
    max_parallel: Slots | None = None
    """Attempts that its own agents may run at once."""
    max_agents: Members | None = None
    """The most agents it may have."""
    auto_discover: bool | None = None
    """Chooses agents by the words of the request."""
    discovery: DiscoveryChange | None = None
    """Changes of its discovery, after those of the options."""
    exactly: bool = False
    """Apply the options exactly, also those that are None or empty."""
    fields: list[Label] | None = None
    """With `exactly`: names of the options that are applied; None applies all."""


@fact
class Pause(CommandBase):
    """Pause an agent, a supervisor or a run: it starts nothing new, and its attempts wait at their next step."""

    target: Target
    now: bool = False
    """Set attempts at work aside at once; their recorded steps are kept."""


@fact
class Resume(CommandBase):
    """Resume a paused agent, supervisor or run."""

    target: Target
