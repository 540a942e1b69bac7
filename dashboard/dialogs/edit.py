"""Dialogs that edit a spec as YAML: for an agent at work, and for a new agent."""

from collections.abc import Iterable

from rich.text import Text
from textual import on
from textual.binding import Binding
from textual.widget import Widget
from textual.widgets import Button

from dashboard.dialogs.dialog import Answer
from dashboard.dialogs.spec_editor import SpecEditor
from dashboard.user.spec_text import Draft, fields_lost_in_text, text_of_agent, text_of_new
from dashboard.views.changes.swaps import attempt_lines, mode_lines
from dashboard.views.changes.targets import describe_work
from dashboard.views.drawing.rows import Cell, Choice, labelled_cell
from dashboard.views.facts.spec_fields import spec_changes
from dashboard.views.view_state import ViewState
from dashboard.views.words.keyed import fill_keys
from dashboard.views.words.parsers import Mistyped
from dashboard.widgets.fields import Picker
from engine.core.commands import AddAgent, SwapAgent
from engine.core.queries.targets import id_target, shortest_target
from engine.core.specs.spec import AgentSpec
from engine.core.state import Agent

GONE = "this agent has left the team; copy the text, and <new-agent:N> begins a new agent"


class EditDialog(SpecEditor):
    """Edit the spec of an existing agent: a swap."""

    BUTTON_LABEL = "Swap"

    def __init__(self, agent_id: str, supervisor_id: str) -> None:
        super().__init__(supervisor_id)
        self._agent_id = agent_id
        self._generation = self._opened_on = 0
        self._begins = ""

    @property
    def draft_key(self) -> str:
        return f"edit {self._agent_id}"

    @property
    def _agent(self) -> Agent | None:
        return self.state.agents.get(self._agent_id)

    def title_line(self) -> str:
        agent = self._agent
        return f"Edit {agent.name} (g{agent.generation} → g{agent.generation + 1})" if agent is not None else "Edit"

    def initial_text(self) -> str:
        agent = self._agent
        if agent is not None and agent.generation != self._generation:
            self._generation, self._begins = agent.generation, text_of_agent(self.state, agent)
        return self._begins

    def action_begin_again(self) -> None:
        super().action_begin_again()
        self._opened_on = self._generation

    def save_draft(self) -> None:
        super().save_draft()
        self.deck.begun_on[self.draft_key] = self._opened_on

    def notes(self) -> list[Cell]:
        agent = self._agent
        self._opened_on = agent.generation if agent is not None else 0
        if self.draft_key in self.deck.drafts:
            self._opened_on = self.deck.begun_on.get(self.draft_key, self._opened_on)
        lost = fields_lost_in_text(self.state, agent) if agent is not None else []
        return [Cell(f"YAML cannot express its {', '.join(lost)}: a swap would lose it", "warn")] if lost else []

    def own_references(self) -> list[str]:
        agent = self._agent
        own = Draft(self.state.spec_of(agent)).references if agent is not None else []
        return [*own, *super().own_references()]

    def command_of(self, spec: AgentSpec) -> Answer:
        mode = self.query_one("#mode", Picker).chosen or "drain"
        return SwapAgent(agent=id_target(self._agent_id), spec=spec, mode=mode, generation=self._opened_on)

    def preview(self, view: ViewState, spec: AgentSpec) -> list[Cell]:
        state, agent = view.state, view.state.agents.get(self._agent_id)
        picker = self.query_one("#mode", Picker)
        picker.display = agent is not None
        if agent is None:
            return []
        ids = [agent.id]
        meaning = dict(mode_lines(state, ids))
        picker.offer([Choice(name, name) for name in meaning])
        mode = picker.chosen or "drain"
        warning = f"it got another spec meanwhile, g{agent.generation}; ctrl+r starts over with it"
        cells = [Cell(warning, "warn")] if agent.generation != self._opened_on else []
        cells += spec_changes(state.spec_of(agent), spec) if not self.is_unchanged(spec) else []
        if spec.name != state.spec_of(agent).name:
            cells.append(Cell(f"the agent stays {agent.name}; {spec.name} is the name of its spec", "muted"))
        cells += [labelled_cell("its work", describe_work(agent, state)), labelled_cell(mode, meaning[mode])]
        cells += attempt_lines(state, ids, mode)
        shell = f"quarterdeck swap {shortest_target(state, agent.id)} --with FILE --mode {mode}"
        return [*cells, labelled_cell("in a shell", shell, "muted")]

    def update_view(self, view: ViewState) -> None:
        super().update_view(view)
        if self._agent is None:
            self.text_of("would").show_any([])
            self.show_problem(fill_keys(GONE))

    def is_unchanged(self, spec: AgentSpec) -> bool:
        agent = self._agent
        return agent is not None and spec == self.state.spec_of(agent)

    def build_command(self) -> Answer:
        if self._agent is None:
            raise Mistyped(fill_keys(GONE))
        if self._draft.spec is not None and self.is_unchanged(self._draft.spec):
            raise Mistyped("nothing is changed yet")
        return super().build_command()


class NewAgentDialog(SpecEditor):
    """Write the spec of a new agent, or choose one of the catalogue."""

    BUTTON_LABEL = "Add"
    BINDINGS = [Binding("ctrl+l", "catalogue", "catalogue", show=False)]

    def __init__(self, supervisor_id: str) -> None:
        super().__init__(supervisor_id)
        self._begins = ""

    @property
    def draft_key(self) -> str:
        return f"new {self._supervisor_id}"

    def title_line(self) -> str:
        supervisor = self.state.supervisors.get(self._supervisor_id)
        return f"A new agent under {supervisor.name}" if supervisor is not None else "A new agent"

    def buttons(self) -> Iterable[Widget]:
        yield from super().buttons()
        if not self.deck.access.in_browser:
            yield Button(Text("Catalogue  ctrl+l"), id="catalogue", compact=True)

    @on(Button.Pressed, "#catalogue")
    def action_catalogue(self) -> None:
        """Go to the catalogue, where enter adds an entry; the text is kept."""
        if not self.deck.access.in_browser:
            deck = self.deck
            self.dismiss(None)
            self.app.call_later(deck.action_go, "catalogue")

    def initial_text(self) -> str:
        self._begins = self._begins or text_of_new(self.state, self._supervisor_id)
        return self._begins

    def command_of(self, spec: AgentSpec) -> Answer:
        return AddAgent(supervisor=id_target(self._supervisor_id), spec=spec)

    def preview(self, view: ViewState, spec: AgentSpec) -> list[Cell]:
        word = shortest_target(view.state, self._supervisor_id)
        return [labelled_cell("in a shell", f"quarterdeck add FILE --under {word}", "muted")]
