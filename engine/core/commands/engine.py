"""Commands about the engine itself."""

from typing import Annotated

from engine.core.commands.base import CommandBase
from engine.core.records.records import fact
from engine.core.validation.rules import Within


@fact
class StopEngine(CommandBase):
    """Stop the engine cleanly; open runs are suspended until the next one starts."""

    token: int | None = None
    """Lease token of the engine to stop, so that a delayed command does not stop a later one; None is any engine."""


@fact
class HandOver(CommandBase):
    """Stop the engine and pass the team to a standby engine; refused if there is none."""

    token: int | None = None
    """As in `StopEngine`."""
    grace_s: Annotated[float, Within(ge=0, le=600)] = 2.0
    """How long attempts may run to the end of their step, in seconds; the next engine repeats steps cut off."""


@fact
class Undo(CommandBase):
    """Undo a command, if nothing that it changed has changed since."""

    command_id: str | None = None
    """Its id, or the beginning of it; None is the last command that can be undone."""


@fact
class Ping(CommandBase):
    """Check that the engine answers."""


@fact
class ImportState(CommandBase):
    """Import a whole state from an archive on this machine."""

    path: str
    sha256: str
    """Hash of the archive file, so that exactly the file shown by a dry run is imported."""
    paused: bool = True
