"""One line with one of a few values, changed by ← and →: for what is seldom changed, beside what a dialog is about."""

from collections.abc import Sequence

from rich.segment import Segment
from textual import events
from textual.binding import Binding
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from dashboard.clean import clean
from dashboard.views.choices import Choice
from dashboard.widgets.tones import TONE_CLASSES, Toned, fit, tone_css


class Picker(Toned, Widget, can_focus=True):
    """Show a label and a value; post `Changed` when another is picked, `Settled` at enter."""

    COMPONENT_CLASSES = TONE_CLASSES
    DEFAULT_CSS = """
    Picker {
        height: 1;
        width: 100%;
    }
    """ + tone_css("Picker")
    BINDINGS = [
        Binding("left,h", "pick(-1)", "before", show=False),
        Binding("right,l,space", "pick(1)", "after", show=False),
        Binding("enter", "settle", "do it", show=False),
    ]
    LABEL = 13

    class Changed(Message):
        """Another value is picked."""

    class Settled(Message):
        """Enter was pressed on it."""

    def __init__(self, label: str, *, id: str) -> None:
        super().__init__(id=id)
        self._label = label
        self._values: tuple[Choice, ...] = ()
        self._place = 0

    def offer(self, values: Sequence[Choice], picked: str | None = None) -> None:
        """Offer these; what was picked before stays so where it is among them."""
        wanted = picked if picked is not None else self.picked
        self._values = tuple(values)
        ids = [value.id for value in values]
        self._place = ids.index(wanted) if wanted in ids else 0
        self.refresh()

    @property
    def picked(self) -> str | None:
        """Id of the value; None where there is none."""
        return self._values[self._place].id if self._values else None

    @property
    def text(self) -> str:
        """What it shows, as plain text."""
        value = self._values[self._place] if self._values else Choice("", "–")
        return f"{self._label} {value.name} {value.about}".rstrip()

    def action_pick(self, by: int) -> None:
        """Pick the one before or after; behind the last comes the first."""
        if len(self._values) > 1:
            self._place = (self._place + by) % len(self._values)
            self.refresh()
            self.post_message(self.Changed())

    def action_settle(self) -> None:
        """Decide for what the dialog shows."""
        self.post_message(self.Settled())

    def on_click(self, event: events.Click) -> None:
        """A click picks the next."""
        if self.has_focus:
            self.action_pick(1)

    def render_line(self, y: int) -> Strip:
        style, width = self.rich_style, self.size.width
        value = self._values[self._place] if self._values else Choice("", "–")
        at = self.get_component_rich_style("row--selected", partial=True) if self.has_focus else None
        picked = style if at is None else style + at
        many = len(self._values) > 1
        name = f"‹ {clean(value.name)} ›" if many else clean(value.name)
        segments = [
            Segment(" ", style),
            Segment(fit(self._label, self.LABEL - 1) + " ", style + self.tone("muted")),
            Segment(name, picked + self.tone("strong")),
            Segment("  " + clean(value.about), style + self.tone("muted")),
        ]
        return Strip(segments).adjust_cell_length(width, style)

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()
