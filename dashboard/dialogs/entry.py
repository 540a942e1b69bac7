"""The dialog that adds an entry of the catalogue to the team."""

from collections.abc import Iterable

from textual.widget import Widget

from dashboard.dialogs.code_consent import CodeConsent
from dashboard.dialogs.dialog import Answer, ChoiceDialog
from dashboard.reading.catalogue import read_entry as read_entry
from dashboard.views.drawing.rows import Cell, Choice, labelled_cell
from dashboard.views.facts.spec_fields import spec_lines
from dashboard.views.view_state import ViewState
from dashboard.widgets.typing import LineInput
from engine.catalogue.entries import CatalogueEntry
from engine.core.commands import AddAgent
from engine.core.queries.targets import id_target, shortest_target
from engine.core.queries.team.code import references_of


class AddEntryDialog(ChoiceDialog):
    """Choose the supervisor and the name of the new agent; what it runs and reaches is shown in full."""

    BUTTON_LABEL = "Add"

    def __init__(self, entry: CatalogueEntry, supervisor_id: str, name: str = "") -> None:
        super().__init__()
        self._entry, self._supervisor_id, self._agent_name = entry, supervisor_id, name
        self._consent = CodeConsent("enter")

    def title_line(self) -> str:
        return f"Add {self._entry.name} of the pack {self._entry.pack} to the team"

    def compose_body(self) -> Iterable[Widget]:
        text, choices, would = super().compose_body()
        yield from (
            text,
            choices,
            LineInput(self._agent_name, placeholder=f"name; else: {self._entry.name}", id="name"),
            would,
        )

    def begin(self) -> None:
        state = self.state
        supervisors = [
            Choice(supervisor.id, shortest_target(state, supervisor.id), f"{len(supervisor.members)} members")
            for supervisor in state.supervisors.values()
        ]
        self.offer(supervisors, self._supervisor_id)
        self.update_view(self.deck.view)

    def update_view(self, view: ViewState) -> None:
        spec, entry = self._entry.spec, self._entry
        references = [labelled_cell("reference", reference, "warn") for reference in references_of(spec)]
        fields = [labelled_cell(label, str(text)) for label, text in spec_lines(spec)[1:]]
        ids = Cell(f"{entry.id}, revision {entry.revision}, content {entry.hash}", "muted", f"{'entry':<11} ")
        self.text_of("details").show_any([ids, *references, *fields])
        if not entry.is_approved:
            self.show_problem("it is not approved; look at it, then approve it in the catalogue")
            return
        self.rehearse(self._rehearsed_command(), self._shell_line())
        if self._consent.hint:
            self.show_problem(self._consent.hint)

    def _typed_name(self) -> str | None:
        return self.query_one("#name", LineInput).value.strip() or None

    def _rehearsed_command(self) -> AddAgent:
        """Return the command with the spec, which the engine fills in from the catalogue of its own user."""
        return AddAgent(supervisor=id_target(self.chosen or ""), spec=self._entry.spec, name=self._typed_name())

    def _shell_line(self) -> str:
        name, under = self._typed_name(), shortest_target(self.state, self.chosen or "")
        return f"quarterdeck add --catalogue {self._entry.id}{f' --as {name}' if name else ''} --under {under}"

    def build_command(self) -> Answer:
        return self._rehearsed_command()

    def answer(self) -> Answer:
        if not self._entry.is_approved or super().answer() is None:
            return None
        problem = self._consent.require(self.deck, references_of(self._entry.spec))
        if problem is not None:
            self.show_problem(problem)
            return None
        return AddAgent(supervisor=id_target(self.chosen or ""), catalogue=self._entry.id, name=self._typed_name())
