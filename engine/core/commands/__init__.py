"""The closed union of commands, one file per subject."""

from collections.abc import Mapping
from typing import TypeAlias, get_args

from msgspec import field

from engine.core.commands.engine import *
from engine.core.commands.memory import *
from engine.core.commands.recipes import *
from engine.core.commands.run import *
from engine.core.commands.team import *
from engine.core.entities.team import Origin
from engine.core.records.records import fact

Command: TypeAlias = (
    Submit
    | Cancel
    | Abort
    | Steer
    | RetryWork
    | SwitchStrategy
    | LoadTeam
    | Declare
    | AddSupervisor
    | AddAgent
    | CreateAgent
    | RetireRecipes
    | RegisterSpec
    | UnregisterSpec
    | RemoveMember
    | SwapAgent
    | SwapAgents
    | Rollback
    | RollbackAgents
    | ChangeCapabilities
    | Move
    | ReplaceTeam
    | ChangeSupervisor
    | SetPriority
    | SetDeadline
    | Reassign
    | Answer
    | RevokeGrant
    | Pause
    | Resume
    | StopEngine
    | HandOver
    | Ping
    | Undo
    | ImportState
    | Remember
    | Forget
)
COMMANDS: tuple[type[Command], ...] = get_args(Command)
"""Every class of command."""
COMMAND_KINDS: dict[str, type[Command]] = {cls.type: cls for cls in COMMANDS}
"""Every class of command by its type."""
URGENT_KINDS = frozenset(
    cls.type
    for cls in (
        Abort,
        Answer,
        Cancel,
        HandOver,
        Pause,
        Resume,
        RevokeGrant,
        SetDeadline,
        SetPriority,
        Steer,
        StopEngine,
    )
)
"""Types of the commands by which people control work: they do not wait behind other queued commands."""


@fact
class Order:
    """A command with its sender. The id makes it exactly-once; the role is the sender's claim, for the audit only."""

    id: str
    command: Command
    sender: str = ""
    role: str = "operator"
    granted: Mapping[str, str] = field(default_factory=dict)
    """References in the command that may be imported here, each with the hash of its code; filled in by the engine,
    never trusted from the sender."""
    run_outcomes: Mapping[str, str] = field(default_factory=dict)
    """Outcomes of runs that the command names, even if the state has forgotten them; filled in by the engine."""
    again: Submit | None = None
    """The request of the finished run that the command names, as it was submitted; filled in by the engine."""
    run_id: str | None = None
    """The run whose agent gives it; filled in by the engine, never trusted from the sender."""
    origin: Origin | None = None
    """Where the engine found the spec that it filled in, if the command names an entry of the catalogue."""
