"""Commands about the engine itself."""

from typing import Annotated, Literal

from engine.core.records import fact
from engine.core.validation.rules import Within


@fact
class StopEngine:
    """End the engine cleanly; open runs are suspended until the next one."""

    type: Literal["stop_engine"] = "stop_engine"
    token: int | None = None
    """The lease token of the engine that is meant, so that a command which waited too long ends no later one."""


@fact
class HandOver:
    """End the engine cleanly and leave the team to one that stands by; refused where none does."""

    type: Literal["hand_over"] = "hand_over"
    token: int | None = None
    """The lease token of the engine that is meant."""
    grace_s: Annotated[float, Within(ge=0, le=600)] = 2.0
    """How long attempts may go on to the end of their step, in seconds; what is cut off is done again by the next."""


@fact
class Undo:
    """Take a command back, where nothing that it changed has changed since."""

    type: Literal["undo"] = "undo"
    command_id: str | None = None
    """None is the last one that can be taken back."""


@fact
class Ping:
    """Ask whether the engine answers."""

    type: Literal["ping"] = "ping"


@fact
class ImportState:
    """Take in a whole state from an archive on this machine."""

    type: Literal["import_state"] = "import_state"
    path: str
    sha256: str
    """Of the archive file, so that what was shown in a dry run is what is imported."""
    paused: bool = True
