"""Facts about the engine and the file that are not in the state."""

from collections.abc import Sequence
from dataclasses import dataclass

from store.journals.records import EngineInfo, StandbyInfo


@dataclass(frozen=True, slots=True)
class Situation:
    """The engine, its standbys, and the condition of the file."""

    db: str
    engine: EngineInfo | None
    now_ms: int
    """Time of the engine's clock, which stamps events, in UTC milliseconds."""
    events_per_s: float
    behind: int = 0
    """Events in the file that are not folded yet."""
    opening: bool = False
    """True until the state has caught up with the file as of its opening."""
    trouble: str | None = None
    """Why the file cannot be read any more, in one line."""
    readonly: bool = False
    in_browser: bool = False
    """Whether the operator uses a browser, which cannot start an engine."""
    is_loaded: bool = True
    """False until the engine was read from the file."""
    standbys: Sequence[StandbyInfo] = ()
    """Engines that stand by."""
    wall_ms: int = 0
    """Time of this computer's clock, also in the past, for throttling; UTC milliseconds."""
