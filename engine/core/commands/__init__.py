"""Everything that can be asked of a supervisor: the closed union of commands, one file per subject."""

from dataclasses import fields
from typing import TypeAlias, get_args

from engine.core.commands.engine import ImportState, Ping, StopEngine
from engine.core.commands.run import Cancel, RetryWork, Submit, SwitchStrategy
from engine.core.commands.team import (
    AddAgent,
    AddSupervisor,
    LoadTeam,
    Pause,
    RegisterSpec,
    RemoveMember,
    Resume,
    SupervisorSpec,
    SwapAgent,
    Target,
    TrustReferences,
    UnregisterSpec,
)
from engine.core.fact import fact

Command: TypeAlias = (
    Submit
    | Cancel
    | RetryWork
    | SwitchStrategy
    | LoadTeam
    | AddSupervisor
    | AddAgent
    | RegisterSpec
    | UnregisterSpec
    | RemoveMember
    | SwapAgent
    | Pause
    | Resume
    | TrustReferences
    | StopEngine
    | Ping
    | ImportState
)
COMMANDS: tuple[type[Command], ...] = get_args(Command)
"""Every class of command."""
COMMAND_KINDS: dict[str, type[Command]] = {str(fields(cls)[0].default): cls for cls in COMMANDS}
"""Every class of command by its type."""


@fact
class Order:
    """A command with who sends it. The id makes it exactly-once; the role is a claim, for the audit."""

    id: str
    command: Command
    sender: str = ""
    role: str = "operator"


__all__ = [
    "COMMANDS",
    "COMMAND_KINDS",
    "AddAgent",
    "AddSupervisor",
    "Cancel",
    "Command",
    "ImportState",
    "LoadTeam",
    "Order",
    "Pause",
    "Ping",
    "RegisterSpec",
    "RemoveMember",
    "Resume",
    "RetryWork",
    "StopEngine",
    "Submit",
    "SupervisorSpec",
    "SwapAgent",
    "SwitchStrategy",
    "Target",
    "TrustReferences",
    "UnregisterSpec",
]
