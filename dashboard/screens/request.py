"""A new request for the team."""

from collections.abc import Iterable

from textual.widget import Widget
from textual.widgets import Input

from dashboard.screens.dialog import Answer, Dialog, Told
from dashboard.views.rows import Cell
from engine.core.commands import Submit


class RequestDialog(Dialog):
    """Ask for a request."""

    CSS_PATH = "request.tcss"
    DOES = "Ask"

    def __init__(self, supervisor_id: str | None) -> None:
        super().__init__()
        self._supervisor_id = supervisor_id

    def title_line(self) -> str:
        supervisor = self.deck.glimpse.state.supervisors.get(self._supervisor_id or "")
        return f"A request for {supervisor.name}" if supervisor is not None else "A request for the team"

    def inside(self) -> Iterable[Widget]:
        yield Input(placeholder="what is to be done?", id="request")
        yield Told(id="told")

    def begin(self) -> None:
        supervisor = self.deck.glimpse.state.supervisors.get(self._supervisor_id or "")
        how = f"{supervisor.name} coordinates it: {supervisor.mode}" if supervisor is not None else ""
        self.query_one(Told).show([Cell(how, "muted"), Cell("its output stands under Runs when it has ended", "muted")])
        self.query_one(Input).focus()

    def answer(self) -> Answer:
        request = self.query_one(Input).value.strip()
        if not request:
            self.problem("write what is to be done")
            return None
        return Submit(request=request, supervisor=self._supervisor_id)
