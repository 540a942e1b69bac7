"""What is known of the engine and the file beside the state: who leads, who stands by, what cannot be read."""

from collections.abc import Sequence
from dataclasses import dataclass

from store.journals.records import EngineInfo, StandbyInfo


@dataclass(frozen=True, slots=True)
class Situation:
    """What the header is made from, beside the state."""

    db: str
    engine: EngineInfo | None
    now_ms: int
    """The engine's time: what is journaled is stamped with that."""
    events_per_s: float
    behind: int = 0
    """Events in the file that are not folded yet."""
    opening: bool = False
    """True while the file is being opened: the state is still behind it."""
    trouble: str | None = None
    """Why the file cannot be read on, in one line."""
    readonly: bool = False
    in_browser: bool = False
    """True if the reader uses a browser, from which no engine can be started."""
    is_loaded: bool = True
    """False until the file was asked for its engine."""
    standbys: Sequence[StandbyInfo] = ()
    """Engines that stand by."""
    wall_ms: int = 0
    """This computer's clock, for throttling redraws and reads; also in the past."""
