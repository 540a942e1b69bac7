"""Commands about who is in the team."""

from typing import Annotated, Literal, TypeAlias, Union

from msgspec import field

from engine.core.options import SupervisorOptions
from engine.core.records import fact
from engine.core.spec import AgentSpec, Aggregation
from engine.core.validation.bounds import Attempts, Label, Matches, Members, Name, Participants, Seconds, Slots
from engine.core.validation.records import Written
from engine.core.validation.rules import Within


class SupervisorSpec(Written, kw_only=True, tag_field="type", tag="supervisor"):
    """A supervisor and everything under it, as a team file or a program describes it.

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
    """Agents and sub-supervisors in declared order."""


Target: TypeAlias = str
"""An id, a name, or `supervisor/name` where a name alone is not unique."""


Winner: TypeAlias = Literal["declared", "current"]
"""Who wins where a member was changed since it was declared last: what is declared now, or how it is."""


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
    on_conflict: Winner = "declared"
    prune: bool = False
    """Remove members that were declared and are not in the file any more, once their work is done."""


@fact
class Declare:
    """Make a member that is there like a program declares it when it starts again; add it where it is not."""

    type: Literal["declare"] = "declare"
    parent: Target | None
    """The supervisor under which it is declared; None is for a root."""
    member: AgentSpec | SupervisorSpec
    on_conflict: Winner = "declared"
    settings: bool = True
    """Supervisors that are there get the settings of the description; else they keep theirs."""


@fact
class AddSupervisor:
    """Add a supervisor with everything under it."""

    type: Literal["add_supervisor"] = "add_supervisor"
    parent: Target | None
    """None makes a root."""
    team: SupervisorSpec
    forming: bool = False
    """A program describes it in any order: members that it names may be added later, before the first request."""
    declared: bool = False
    """A program declares it, and will declare it again when it starts again."""


@fact
class AddAgent:
    """Add an agent to a supervisor."""

    type: Literal["add_agent"] = "add_agent"
    supervisor: Target | None = None
    """None is the first root."""
    spec: AgentSpec | None = None
    registered: Name | None = None
    """Name of a spec in the registry, instead of `spec`."""
    name: Name | None = None
    """Name of the agent; None takes the spec's."""
    evict: bool = False
    """Where the supervisor is full: let the agent go that has been idle for longest; never one at work."""
    declared: bool = False
    """A program declares it, and will declare it again when it starts again."""


@fact
class RegisterSpec:
    """Put a spec into the registry."""

    type: Literal["register_spec"] = "register_spec"
    spec: AgentSpec


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
    registered: Name | None = None
    """Name of a spec in the registry, instead of `spec`."""
    mode: str = "drain"
    """`drain`: attempts at work end on the old. `migrate`: they go on with the new from their next step. `abort`: they
    are stopped and begin again on the new."""
    deadline_s: Seconds | None = None
    """With `drain`: a person is asked when attempts are still at work after so many seconds."""
    rollback_failures: Attempts | None = None
    """Roll back by itself when so many of the first `rollback_tasks` tasks of the new generation fail."""
    rollback_tasks: Attempts = 10


@fact
class SwapAgents:
    """Swap several agents as one change: all of them, or none."""

    type: Literal["swap_agents"] = "swap_agents"
    swaps: list[SwapAgent]


@fact
class Rollback:
    """Give an agent the spec of the generation before."""

    type: Literal["rollback"] = "rollback"
    agent: Target
    mode: str = "drain"
    generation: int | None = None
    """Refused where the agent has another generation by now; None takes any."""


@fact
class RollbackAgents:
    """Roll several agents back as one change: all of them, or none."""

    type: Literal["rollback_agents"] = "rollback_agents"
    rollbacks: list[Rollback]


@fact
class ChangeCapabilities:
    """Add or take away specialties of a live agent; what it runs stays."""

    type: Literal["change_capabilities"] = "change_capabilities"
    agent: Target
    add: list[Label] = field(default_factory=list)
    remove: list[Label] = field(default_factory=list)


@fact
class Move:
    """Put an agent, or a supervisor with everything under it, under another supervisor."""

    type: Literal["move"] = "move"
    target: Target
    parent: Target
    place: Annotated[int, Within(ge=0)] | None = None
    """How many members stand before it there; None puts it last."""


@fact
class ReplaceTeam:
    """Make what is under a supervisor like a description of it: swap what differs, add what is new, remove the rest."""

    type: Literal["replace_team"] = "replace_team"
    supervisor: Target
    team: SupervisorSpec
    mode: str = "drain"
    """Of the swaps and removals."""


@fact
class ChangeSupervisor:
    """Change settings of a supervisor; what is None stays."""

    type: Literal["change_supervisor"] = "change_supervisor"
    supervisor: Target
    options: SupervisorOptions | None = None
    max_parallel: Slots | None = None
    max_agents: Members | None = None
    exactly: bool = False
    """Take the options as they are given, also those that are None or empty."""


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
