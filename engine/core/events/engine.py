"""Facts about the engine itself, about commands, and about what was loaded or imported."""

from typing import Literal

from msgspec import Raw, field

from engine.core.events.base import EventBase
from engine.core.records import JsonValue, fact


@fact
class EngineStarted(EventBase):
    """A process took the lease and begins to decide."""

    type: Literal["engine_started"] = "engine_started"
    pid: int
    token: int
    version: str
    away: list[str] | None = None
    """Agents whose code is bound to a program that this engine is not part of; None leaves those that were."""
    lost: int = 0
    """How many acknowledged events are missing before this one, whose seqs are given anew."""
    processes: int | None = None
    """Attempts in processes that may be at work where nothing is set; None is no limit."""


@fact
class EngineStopped(EventBase):
    """The engine ended on purpose; open runs are suspended until the next one."""

    type: Literal["engine_stopped"] = "engine_stopped"
    reason: str
    final: bool = False
    """The team was to stop, not this process alone: engines that stand by do not take over."""


@fact
class TeamLoaded(EventBase):
    """A team file was read; with its text, so that the database needs nothing else."""

    type: Literal["team_loaded"] = "team_loaded"
    path: str
    folder: str
    sha256: str
    text: str


@fact
class ReferencesTrusted(EventBase):
    """The user who runs the engine allowed these references to be imported and called."""

    type: Literal["references_trusted"] = "references_trusted"
    references: dict[str, str]
    """Each with the hash of its code: of the files that it imports from the team's folder; empty for installed code."""


@fact
class CommandApplied(EventBase):
    """A command was carried out; what it did are the events since the one before it."""

    type: Literal["command_applied"] = "command_applied"
    command_id: str
    command: str
    """The command's type."""
    sender: str
    role: str
    """What the sender claims to be; for the audit."""
    summary: str
    """What it did, in a few words."""
    result: dict[str, JsonValue] = field(default_factory=dict)
    args: dict[str, JsonValue] = field(default_factory=dict)
    """What the command said, where that was not the default: short, and without secrets (`shown.args_of`)."""
    inverse: JsonValue = None
    """The command that takes it back, where there is one."""


@fact
class CommandUndone(EventBase):
    """What a command did was taken back."""

    type: Literal["command_undone"] = "command_undone"
    command_id: str
    command: str
    """Its type."""


@fact
class CommandRefused(EventBase):
    """A command was not carried out, and nothing changed."""

    type: Literal["command_refused"] = "command_refused"
    command_id: str
    command: str
    sender: str
    role: str
    code: str
    """The kind of refusal, such as `unknown_agent`."""
    reason: str
    """What, why, and what to do, in one line."""


@fact
class SignalDropped(EventBase):
    """A signal could not be decided because of a defect; the rest of the team goes on."""

    type: Literal["signal_dropped"] = "signal_dropped"
    signal: str
    error: str
    task_id: str | None = None


@fact
class ImportBegan(EventBase):
    """An archive was read and checked; its parts follow, and nothing of it is there before the last one."""

    type: Literal["import_began"] = "import_began"
    command_id: str
    path: str
    sha256: str
    above: dict[str, int]
    """The ids of the archive are raised by so much, by their letter; empty where they are kept."""
    last: dict[str, int]
    """The highest number of an id in the archive, by its letter."""


@fact
class PartImported(EventBase):
    """Entities, or texts, of the archive that is being taken in."""

    type: Literal["part_imported"] = "part_imported"
    state: Raw
    """A piece of the state document, its ids raised already; its references count the texts of all parts."""
    texts: list[JsonValue]


@fact
class SummariesImported(EventBase):
    """Finished runs of the archive that is being taken in."""

    type: Literal["summaries_imported"] = "summaries_imported"
    state: Raw
    """A piece of the state document with nothing but them."""
    texts: list[JsonValue]
    """Those that they refer to, and no others do."""


@fact
class StateImported(EventBase):
    """A whole state has come in from an archive: what this event carries, and all parts before it."""

    type: Literal["state_imported"] = "state_imported"
    path: str
    sha256: str
    paused: bool
    state: Raw
    """The state document; its references to texts are places in `texts`."""
    texts: list[JsonValue]
