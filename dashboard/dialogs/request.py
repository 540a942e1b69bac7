"""A new request for the team: what is to be done, and where it matters how urgent, by when, and for how much."""

from collections.abc import Iterable

from textual import on
from textual.widget import Widget
from textual.widgets import Input

from dashboard.dialogs.dialog import Dialog, Told
from dashboard.views.header import Glimpse
from dashboard.views.members import categories, how_it_goes, priorities
from dashboard.views.rows import Cell
from dashboard.views.typed import Mistyped, length_s, limits_of
from dashboard.widgets.fields import Field, Picker
from engine.core.commands import Submit
from engine.core.options import DEFAULT_PRIORITY
from engine.core.queries.targets import at


class RequestDialog(Dialog):
    """Ask for a request; enter sends it as it stands."""

    DOES = "Send"

    def __init__(self, supervisor_id: str | None) -> None:
        super().__init__()
        self._supervisor_id = supervisor_id

    def title_line(self) -> str:
        supervisor = self.state.supervisors.get(self._supervisor_id or "")
        return f"A request for {supervisor.name}" if supervisor is not None else "A request for the team"

    def inside(self) -> Iterable[Widget]:
        yield Input(placeholder="what should be done?", id="request")
        priority = Picker("priority", id="priority")
        priority.add_class("-first")
        yield priority
        yield Picker("category", id="category")
        yield Field("deadline", id="deadline", placeholder="none; 90s, 5m, 2h from now on")
        yield Field("limits", id="limits", placeholder="none; tokens=20000 cost_usd=0.5 time_s=60 attempts=9 then=ask")
        yield Field("after", id="after", placeholder="at once; or the runs that must be done before: r3 r4")
        yield Told(id="told")

    def begin(self) -> None:
        state = self.state
        self.query_one("#priority", Picker).offer(priorities(), str(DEFAULT_PRIORITY))
        found = categories(state, self._supervisor_id)
        self.query_one("#category", Picker).offer(found)
        self.query_one("#category", Picker).display = len(found) > 1
        self.query_one("#after-field").display = bool(state.runs)
        self.query_one("#request", Input).focus()
        self.look(self.deck.glimpse)

    @on(Input.Changed)
    def _typed(self) -> None:
        self.problem("")

    def look(self, glimpse: Glimpse) -> None:
        told = how_it_goes(glimpse.state, self._supervisor_id, self.query_one("#category", Picker).chosen)
        self.told("told").show([*told, Cell("its output appears under Runs when it has ended", "muted")])

    def meant(self) -> Submit:
        request = self.query_one("#request", Input).value.strip()
        if not request:
            self.query_one("#request", Input).focus()
            raise Mistyped("write what should be done")
        priority = int(self.query_one("#priority", Picker).chosen or DEFAULT_PRIORITY)
        deadline = self.query_one("#deadline", Input).value.strip()
        return Submit(
            request=request,
            supervisor=at(self._supervisor_id) if self._supervisor_id is not None else None,
            priority=priority if priority != DEFAULT_PRIORITY else None,
            deadline_s=length_s(deadline) if deadline else None,
            limits=limits_of(self.query_one("#limits", Input).value),
            category=self.query_one("#category", Picker).chosen or None,
            after=self.query_one("#after", Input).value.replace(",", " ").split(),
        )
