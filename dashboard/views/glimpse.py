"""Everything that one look at the team needs, gathered once and handed to every widget."""

from collections.abc import Mapping
from dataclasses import dataclass

from dashboard.views.digest import Digest
from dashboard.views.header import Situation
from dashboard.views.names import Names
from engine.core.state import State


@dataclass(frozen=True, slots=True)
class Glimpse:
    """The state as of now, with its sums and what stands outside of it."""

    state: State
    counts: Digest
    live: Mapping[str, str]
    situation: Situation
    names: Names

    @property
    def now_ms(self) -> int:
        """The moment of the look, UTC milliseconds."""
        return self.situation.now_ms

    @property
    def working(self) -> bool:
        """False once it is known that no engine holds the file; what is open stands still then."""
        return self.counts.working
