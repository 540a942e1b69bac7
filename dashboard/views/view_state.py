"""`ViewState`: the team at one moment, from which every screen, page and dialog draws."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from dashboard.views.drawing.rows import Cell
from dashboard.views.event_log import Entry
from dashboard.views.header import banner, left_cells, right_cells
from dashboard.views.measures.activity import Activity
from dashboard.views.measures.digest import Digest
from dashboard.views.past import PastMoment, past_header_cells
from dashboard.views.situation import Situation
from dashboard.views.words.names import Names
from engine.core.state import State

MAX_DELAY_MS = 60_000
"""Maximum delay of a redraw, in milliseconds; a longer one means that the clock was set back."""


@dataclass(frozen=True)
class ViewState:
    """The state of the team at one moment, counters, and data beside the state."""

    state: State
    counts: Digest
    live: Mapping[str, str]
    situation: Situation
    names: Names
    activity: Activity
    """Activity of each agent in the minutes before."""
    recent: Sequence[Entry] = ()
    """The last events up to the moment, without gaps."""
    past: PastMoment | None = None
    """The past moment that is shown; None for the newest event."""

    @property
    def now_ms(self) -> int:
        """The time of the moment shown, UTC milliseconds."""
        return self.situation.now_ms

    @property
    def present_ms(self) -> int:
        """The present time of the team, UTC milliseconds, also in the past."""
        return self.now_ms if self.past is None else self.past.now_ms

    @property
    def wall_ms(self) -> int:
        """The time of this computer, UTC milliseconds."""
        return self.situation.wall_ms or self.situation.now_ms

    def is_due(self, next_ms: int) -> bool:
        """Return whether a throttled redraw is due, by this computer's clock; always in the past."""
        return self.past is not None or self.has_passed(next_ms)

    def has_passed(self, next_ms: int) -> bool:
        """Return whether a time of this computer's clock has passed, or the clock was set back."""
        return not 0 < next_ms - self.wall_ms <= MAX_DELAY_MS

    @property
    def can_write(self) -> bool:
        """Whether the team can be changed here: not read-only, and not in the past."""
        return self.past is None and not self.situation.readonly

    @property
    def working(self) -> bool:
        """False once it is known that no engine works on the file."""
        return self.counts.working

    def header(self, *, brief: bool, room: int) -> tuple[list[Cell], list[Cell]]:
        """Return both sides of the header; `brief` as in `right_cells`, `room` is that of the right side."""
        if self.past is not None:
            return left_cells(self.state, self.situation), past_header_cells(self.past)
        right = right_cells(self.state, self.situation, self.counts, brief=brief, room=room)
        return left_cells(self.state, self.situation), right

    @cached_property
    def banner(self) -> Cell | None:
        """The most urgent problem; None in the past."""
        if self.past is not None:
            return None
        return banner(self.state, self.situation, self.live.get("engine.banner"), self.counts)
