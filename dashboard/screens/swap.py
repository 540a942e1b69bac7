"""Giving an agent another spec: both specs side by side, and what happens to its work."""

from collections.abc import Iterable
from pathlib import Path

from textual import on
from textual.widget import Widget
from textual.widgets import OptionList

from dashboard.screens.dialog import Answer, Choices, Dialog, Told
from dashboard.views.glimpse import Glimpse
from dashboard.views.rows import Cell
from dashboard.views.specs import candidate_line, candidates, changes, its_work
from engine.core.commands import SwapAgent
from engine.core.spec import AgentSpec

_FILE = "file:"


class SwapDialog(Dialog):
    """Choose another spec for an agent; its id, its history and its queue stay."""

    CSS_PATH = "swap.tcss"
    DOES = "Swap"

    def __init__(self, agent_id: str, choice: str | None = None) -> None:
        super().__init__()
        self._agent_id = agent_id
        self._choice = choice
        self._of_file: AgentSpec | None = None
        self._references: list[str] = []

    def title_line(self) -> str:
        agent = self.deck.glimpse.state.agents[self._agent_id]
        return f"Swap {agent.name} (g{agent.generation} → g{agent.generation + 1})"

    def inside(self) -> Iterable[Widget]:
        yield Choices(id="choices")
        yield Told(id="changes")
        yield Told(id="work")

    def begin(self) -> None:
        choices = self.query_one(Choices)
        state = self.deck.glimpse.state
        if self._choice is not None and self._choice not in state.registry:
            self._read_file(Path(self._choice).expanduser())
        self._offer()
        choices.focus()
        self.look(self.deck.glimpse)

    def _offer(self) -> None:
        state = self.deck.glimpse.state
        agent = state.agents[self._agent_id]
        offered = [(name, name, candidate_line(state, agent, name)) for name in candidates(state, agent)]
        if self._of_file is not None:
            offered.insert(0, (_FILE, self._of_file.name, f"from {self._choice}"))
        self.query_one(Choices).offer(offered, _FILE if self._of_file is not None else self._choice)
        if not offered:
            self.problem(f"the registry has no other spec; give a file:  : swap {agent.name} --with FILE")

    def _read_file(self, path: Path) -> None:
        from dashboard.cli.specfile import read_spec_file
        from engine.teamfile import TeamFileError

        try:
            found = read_spec_file(path)
        except TeamFileError as error:
            self.problem(str(error).split("\n", 1)[0])
            return
        if len(found.agents) != 1:
            self.problem(f"{path} has {len(found.agents)} agents; a swap takes a file with one")
            return
        self._of_file, self._references = found.agents[0], found.references

    @on(OptionList.OptionHighlighted)
    def _chosen(self) -> None:
        self.look(self.deck.glimpse)

    def look(self, glimpse: Glimpse) -> None:
        agent = glimpse.state.agents.get(self._agent_id)
        if agent is None:
            self.problem("this agent has left the team")
            return
        new = self._spec()
        if new is not None:
            self.query_one("#changes", Told).show(changes(glimpse.state.spec_of(agent), new))
        lines = [
            Cell(its_work(agent, glimpse.state), "", "its work    "),
            Cell("what is under way ends on the old spec, the rest is for the new", "", "drain       "),
        ]
        if self._references and new is self._of_file:
            lines.append(Cell(f"runs {', '.join(self._references)}; swapping trusts it", "draining", "code        "))
        if new is not None:
            using = self._choice if new is self._of_file else new.name
            shell = f"quarterdeck swap {agent.name} --with {using} --mode drain"
            lines.append(Cell(shell, "muted", "in a shell  "))
        self.query_one("#work", Told).show(lines)

    def _spec(self) -> AgentSpec | None:
        chosen, state = self.query_one(Choices).chosen, self.deck.glimpse.state
        if chosen == _FILE:
            return self._of_file
        return state.specs[state.registry[chosen]] if chosen in state.registry else None

    def answer(self) -> Answer:
        new = self._spec()
        if new is None:
            self.problem("choose a spec first")
            return None
        if new is self._of_file:
            return SwapAgent(agent=self._agent_id, spec=new, trusted=self._references)
        return SwapAgent(agent=self._agent_id, registered=new.name)
