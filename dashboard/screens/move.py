"""Putting a member under another supervisor: choose which; what that would do is said below."""

from collections.abc import Iterable

from textual import on
from textual.widget import Widget
from textual.widgets import OptionList

from dashboard.screens.dialog import Answer, Choices, Dialog, Told
from dashboard.views.glimpse import Glimpse
from dashboard.views.members import parents, what_moves
from dashboard.views.rehearsal import rehearsed
from dashboard.views.rows import Cell
from dashboard.views.targets import looked_up, target_of
from engine.core.commands import Move
from engine.core.queries.targets import at, find_supervisor, word_for


class MoveDialog(Dialog):
    """Choose the supervisor above it."""

    CSS_PATH = "move.tcss"
    DOES = "Move"

    def __init__(self, member_id: str, parent: str | None = None) -> None:
        super().__init__()
        self._member_id, self._under = member_id, parent

    def title_line(self) -> str:
        target = target_of(self.deck.glimpse.state, self._member_id)
        return f"Move {target.said if target is not None else self._member_id} under another supervisor"

    def inside(self) -> Iterable[Widget]:
        yield Told(id="told")
        yield Choices(id="choices")
        yield Told(id="would")

    def begin(self) -> None:
        state = self.deck.glimpse.state
        choices = self.query_one(Choices)
        wanted, problem = looked_up(find_supervisor, state, self._under)
        choices.offer(parents(state, self._member_id), wanted)
        choices.focus()
        self.look(self.deck.glimpse)
        if problem:
            self.problem(problem)

    @on(OptionList.OptionHighlighted)
    def _chosen(self) -> None:
        self.look(self.deck.glimpse)

    def look(self, glimpse: Glimpse) -> None:
        state = glimpse.state
        self.query_one("#told", Told).show(what_moves(state, self._member_id))
        parent_id = self.query_one(Choices).chosen
        if parent_id is None or parent_id not in state.supervisors:
            self.problem("there is no other supervisor to move it under")
            return
        found = rehearsed(state, Move(target=at(self._member_id), parent=at(parent_id)), glimpse.now_ms)
        self.problem(f"would be refused: {found.refusal}" if found.refusal else "")
        shell = f"quarterdeck move {word_for(state, self._member_id)} {word_for(state, parent_id)}"
        lines = [Cell(found.summary, "busy", "would say   ")] if found.summary else []
        self.query_one("#would", Told).show([*lines, Cell(shell, "muted", "in a shell  ")])

    def answer(self) -> Answer:
        parent_id = self.query_one(Choices).chosen
        return Move(target=at(self._member_id), parent=at(parent_id)) if parent_id is not None else None
