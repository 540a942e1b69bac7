"""Events of the engine, of commands, and of loaded and imported teams."""

from msgspec import Raw, field

from engine.core.events.base import Event
from engine.core.records.records import JsonValue, fact


@fact
class EngineStarted(Event):
    """A process acquired the lease and starts to decide."""

    pid: int
    token: int
    version: str
    away: list[str] | None = None
    """Agents whose code is bound to a program other than this one; None leaves the set unchanged."""
    lost: int = 0
    """Number of acknowledged events that are missing before this one; their seqs are used again."""
    processes: int | None = None
    """Default limit on concurrent attempts in child processes; None means no limit."""
    last_ms: int | None = None
    """The last sign of life of the engine before: its last event or, if it was killed, a later heartbeat; UTC
    milliseconds. None in journals of earlier versions, and for the first engine."""


@fact
class EngineStopped(Event):
    """The engine stopped cleanly; open runs are suspended until the next one starts."""

    reason: str
    final: bool = False
    """The whole team stops, not only this process: standby engines do not take over."""


@fact
class EngineSlept(Event):
    """The computer was suspended while the engine ran, or its clock was set ahead; that time is no time at work."""

    slept_ms: int


@fact
class TeamLoaded(Event):
    """A team file was read; its text is stored, so that the database does not depend on the file."""

    path: str
    folder: str
    sha256: str
    text: str


@fact
class ReferencesTrusted(Event):
    """The user who runs the engine allowed these references to be imported and called."""

    references: dict[str, str]
    """Each with the hash of the files that it imports from the team's folder; empty for installed code."""


@fact
class CommandApplied(Event):
    """A command was applied; what it did are the events around this one, which follow each other in the journal."""

    command_id: str
    command: str
    """Type of the command."""
    sender: str
    role: str
    """The role that the sender claims; for the audit only."""
    summary: str
    """What the command did, in a few words."""
    result: dict[str, JsonValue] = field(default_factory=dict)
    args: dict[str, JsonValue] = field(default_factory=dict)
    """Its arguments that differ from the defaults, shortened and without secrets (`excerpts.args_of`)."""
    inverse: JsonValue = None
    """The command that undoes it; None if it cannot be undone."""
    before: int = 0
    """Number of the events right before this one that carried it out."""
    after: int = 0
    """Number of the events right after this one that followed from it in the same step."""


@fact
class CommandUndone(Event):
    """A command was undone."""

    command_id: str
    command: str
    """Type of the command."""
    summary: str = ""
    """What the command had done, in a few words."""


@fact
class CommandRefused(Event):
    """A command was refused, and nothing changed."""

    command_id: str
    command: str
    sender: str
    role: str
    code: str
    """The kind of refusal, such as `unknown_agent`."""
    reason: str
    """What, why, and what to do, in one line."""


@fact
class SignalDropped(Event):
    """A signal could not be decided because of a defect in the engine; everything else continues."""

    signal: str
    error: str
    task_id: str | None = None


@fact
class ImportBegan(Event):
    """The import of a checked archive begins; nothing of it is part of the team before its last part."""

    command_id: str
    path: str
    sha256: str
    above: dict[str, int]
    """Offset added to the archive's ids, by their letter; empty if they are kept."""
    last: dict[str, int]
    """The highest id number in the archive, by letter."""


@fact
class PartImported(Event):
    """Entities or texts of the archive that is being imported."""

    state: Raw
    """Part of the state document, with the offset already added to its ids; references count the texts of all parts."""
    texts: list[JsonValue]


@fact
class SummariesImported(Event):
    """Finished runs of the archive that is being imported."""

    state: Raw
    """Part of the state document that contains only finished runs."""
    texts: list[JsonValue]
    """Texts that only these runs refer to."""


@fact
class StateImported(Event):
    """An import is complete: the state is this event's part and all parts before it."""

    path: str
    sha256: str
    paused: bool
    state: Raw
    """The state document; its references to texts are indices into `texts`."""
    texts: list[JsonValue]
