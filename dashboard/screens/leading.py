"""Who leads: the engine at work, since when, who stands by; and handing over to one of those."""

from collections.abc import Iterable

from textual.widget import Widget
from textual.widgets import Button, Input

from dashboard.screens.dialog import Answer, Dialog, Told
from dashboard.views.glimpse import Glimpse
from dashboard.views.leading import can_hand_over, leading_lines
from dashboard.views.typed import Mistyped, length_s
from dashboard.widgets.field import Field
from engine.core.commands import HandOver

GRACE_S = 2.0


class LeadingDialog(Dialog):
    """Show who leads; with a standby the first button hands over."""

    CSS_PATH = "engine.tcss"
    DOES = "Hand over"

    def __init__(self, grace: str | None = None, *, hands_over: bool = False) -> None:
        super().__init__()
        self._grace, self._hands_over = grace, hands_over

    def title_line(self) -> str:
        return "Hand over to the engine that stands by" if self._hands_over else "Who leads"

    def inside(self) -> Iterable[Widget]:
        yield Told(id="told")
        field = Field("grace", id="grace", text=self._grace or f"{GRACE_S:g}s", placeholder="2s")
        field.add_class("-first")
        yield field

    def begin(self) -> None:
        able = can_hand_over(self.deck.glimpse.situation) and not self.deck.readonly
        self.query_one("#grace-field").display = able
        self.query_one("#confirm", Button).display = able or self._hands_over
        self.query_one("#confirm" if self._hands_over and able else "#decline", Button).focus()
        self.look(self.deck.glimpse)

    def look(self, glimpse: Glimpse) -> None:
        self.query_one("#told", Told).show(leading_lines(glimpse.state, glimpse.situation))

    def answer(self) -> Answer:
        info = self.deck.glimpse.situation.engine
        if info is None or not can_hand_over(self.deck.glimpse.situation):
            self.problem("no engine stands by; start one: quarterdeck engine --standby")
            return None
        try:
            grace_s = length_s(self.query_one("#grace", Input).value or f"{GRACE_S:g}")
        except Mistyped as error:
            self.problem(str(error))
            return None
        return HandOver(token=info.token, grace_s=GRACE_S if grace_s is None else min(600.0, grace_s))
