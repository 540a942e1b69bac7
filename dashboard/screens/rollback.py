"""Giving an agent the spec of the generation before."""

from collections.abc import Iterable

from textual import on
from textual.widget import Widget

from dashboard.screens.dialog import Answer, Dialog, Told, show_where_any
from dashboard.views.choices import Choice
from dashboard.views.glimpse import Glimpse
from dashboard.views.rehearsal import rehearsed
from dashboard.views.rows import Cell
from dashboard.views.specs import changes, its_work
from dashboard.views.swaps import attempt_lines, mode_lines
from dashboard.widgets.radio import Radio
from engine.core.commands import Rollback
from engine.core.queries.targets import at, word_for


class RollbackDialog(Dialog):
    """Show what it was, and what going back does to its work."""

    CSS_PATH = "swap.tcss"
    DOES = "Roll back"

    def __init__(self, agent_id: str, mode: str | None = None) -> None:
        super().__init__()
        self._agent_id = agent_id
        self._mode = mode

    def title_line(self) -> str:
        agent = self.deck.glimpse.state.agents[self._agent_id]
        return f"Roll {agent.name} back (g{agent.generation} → g{agent.generation + 1})"

    def inside(self) -> Iterable[Widget]:
        yield Told(id="work")
        yield Radio(id="mode")
        yield Told(id="each")
        yield Told(id="changes")
        yield Told(id="shell")

    def begin(self) -> None:
        self.look(self.deck.glimpse)
        self.query_one(Radio).focus()

    @on(Radio.Changed)
    def _chosen(self) -> None:
        self.look(self.deck.glimpse)

    def look(self, glimpse: Glimpse) -> None:
        state, agent = glimpse.state, glimpse.state.agents.get(self._agent_id)
        if agent is None:
            self.problem("this agent has left the team")
            return
        modes, ids = self.query_one(Radio), [self._agent_id]
        modes.offer([Choice(name, name, about) for name, about in mode_lines(state, ids)], self._mode)
        self._mode = None
        mode = modes.chosen or "drain"
        found = rehearsed(state, Rollback(agent=at(agent.id), mode=mode), glimpse.now_ms)
        self.problem(f"would be refused: {found.refusal}" if found.refusal else "")
        before = state.specs.get(agent.previous or "")
        if before is not None:
            self.query_one("#changes", Told).show(changes(state.spec_of(agent), before))
        self.query_one("#work", Told).show([Cell(its_work(agent, state), "", "its work    ")])
        show_where_any(self.query_one("#each", Told), attempt_lines(state, ids, mode))
        shell = f"quarterdeck rollback {word_for(state, agent.id)} --mode {mode}"
        self.query_one("#shell", Told).show([Cell(shell, "muted", "in a shell  ")])

    def answer(self) -> Answer:
        return Rollback(agent=at(self._agent_id), mode=self.query_one(Radio).chosen or "drain")
