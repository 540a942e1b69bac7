"""Which teams a screen shows as one row: those that the operator folded, or all if they need many screens."""

from collections import Counter

from dashboard.views.network import MAX_IDLE_SHOWN
from engine.core.queries.team.tree import lineage_of, parent_id_of
from engine.core.state import AgentStatus, State

MAX_SCREENS = 2
"""A tree that is longer than this many screens, without most of its idle agents, starts with its teams folded."""


class FoldedTeams:
    """The folded teams of one screen.

    Whether all start folded is decided once, so that rows do not vanish when a member joins or the window changes.
    """

    def __init__(self) -> None:
        self._toggled: set[str] = set()
        """Teams that differ from the default."""
        self._folds: bool | None = None
        """Whether teams are folded by default; None before the first look."""

    def of(self, state: State, room: int) -> frozenset[str]:
        """Return the ids of the folded supervisors.

        Args:
            state: The team.
            room: Lines of the screen for the tree; 0 while they are not known.
        """
        if self._folds is None and state.supervisors and room:
            self._folds = _count_lines(state) > MAX_SCREENS * room
        default = _foldable(state) if self._folds else set()
        return frozenset(default ^ (self._toggled & state.supervisors.keys()))

    def toggle(self, supervisor_id: str) -> None:
        """Fold a team to one row, or unfold it."""
        self._toggled ^= {supervisor_id}

    def toggle_all(self, state: State, room: int) -> bool:
        """Unfold all teams if all are folded, else fold them; return whether they are folded now."""
        self._folds, self._toggled = not _foldable(state) <= self.of(state, room), set()
        return self._folds

    def show_member(self, state: State, member_id: str, room: int) -> None:
        """Unfold the teams above a member."""
        member = state.agents.get(member_id) or state.supervisors.get(member_id)
        parent_id = parent_id_of(member) if member is not None else None
        if parent_id is not None:
            lineage_ids = {supervisor.id for supervisor in lineage_of(state, state.supervisors[parent_id])}
            self._toggled ^= lineage_ids & self.of(state, room)


def _foldable(state: State) -> set[str]:
    """Return the teams that are folded together: all but a single root, which would leave one row."""
    roots = state.roots
    only = roots[0].id if len(roots) == 1 and len(state.supervisors) > 1 else None
    return {supervisor_id for supervisor_id in state.supervisors if supervisor_id != only}


def _count_lines(state: State) -> int:
    """Return the lines of the tree while most idle agents of each team are folded."""
    agents = Counter(agent.supervisor_id for agent in state.agents.values())
    idle = Counter(agent.supervisor_id for agent in state.agents.values() if agent.status is AgentStatus.IDLE)
    return sum(1 + agents[team] - max(0, idle[team] - MAX_IDLE_SHOWN - 1) for team in state.supervisors)
