"""What a dialog is filled in with: a line behind its label, one of a few values in a line, one of a few in lines."""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input, Static

from dashboard.clean import clean
from dashboard.views.rows import Cell, Choice
from dashboard.widgets.pane import Pane
from dashboard.widgets.tones import Toned, fit


class Field(Horizontal):
    """A label and an `Input`."""

    DEFAULT_CSS = """
    Field {
        height: 1;
        & > Static { width: 14; padding-left: 1; color: $tone-muted; }
        & > Input, & > Input:focus { border: none; height: 1; margin: 0 1 0 0; padding: 0 1; width: 1fr; }
    }
    """

    def __init__(self, label: str, *, id: str, placeholder: str = "", text: str = "") -> None:
        super().__init__(id=f"{id}-field")
        self._named, self._input, self._placeholder, self._begins = label, id, placeholder, text

    def compose(self) -> ComposeResult:
        yield Static(self._named, markup=False)
        yield Input(self._begins, placeholder=self._placeholder, id=self._input, select_on_focus=False)

    @property
    def value(self) -> str:
        """What stands there."""
        return self.query_one(Input).value.strip()


class Picker(Toned, Widget, can_focus=True):
    """Show a label and a value; post `Changed` when another is picked, `Settled` at enter."""

    DEFAULT_CSS = """
    Picker {
        height: 1;
        width: 100%;
    }
    """
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
        at = self.tone("selected") if self.has_focus else None
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


class Radio(Pane, can_focus=True):
    """Show choices, the chosen one with a dot; post `Changed` when another is chosen, `Settled` at enter."""

    DEFAULT_CSS = """
    Radio {
        height: auto;
    }
    """
    BINDINGS = [
        Binding("up,k", "choose(-1)", "before", show=False),
        Binding("down,j", "choose(1)", "after", show=False),
        Binding("home,g", "choose(-99)", "first", show=False),
        Binding("end,G", "choose(99)", "last", show=False),
        Binding("space", "choose(1)", "next", show=False),
        Binding("enter", "settle", "do it", show=False),
    ]

    class Changed(Message):
        """Another is chosen."""

    class Settled(Message):
        """Enter was pressed on it."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._choices: tuple[Choice, ...] = ()
        self._chosen = 0

    def offer(self, choices: Sequence[Choice], chosen: str | None = None) -> None:
        """Offer these; what was chosen before stays so where it is among them."""
        wanted = chosen if chosen is not None else self.chosen
        self._choices = tuple(choices)
        ids = [choice.id for choice in choices]
        self._chosen = ids.index(wanted) if wanted in ids else 0
        self._write()

    @property
    def chosen(self) -> str | None:
        """Id of the chosen one; None where nothing is offered."""
        return self._choices[self._chosen].id if self._choices else None

    def _write(self) -> None:
        widest = max((cell_len(clean(choice.name)) for choice in self._choices), default=0)
        self.show(
            [
                Cell(choice.about, choice.tone, f"{_mark(place == self._chosen)} {clean(choice.name):<{widest}}   ")
                for place, choice in enumerate(self._choices)
            ]
        )
        self.refresh(layout=True)

    def action_choose(self, by: int) -> None:
        """Choose the one before or after."""
        place = max(0, min(len(self._choices) - 1, self._chosen + by))
        if place != self._chosen:
            self._chosen = place
            self._write()
            self.post_message(self.Changed())

    def action_settle(self) -> None:
        """Decide for what is chosen."""
        self.post_message(self.Settled())

    def on_click(self, event: events.Click) -> None:
        """A click chooses."""
        place = self.cell_at(event.y + self.scroll_offset.y)
        if place is not None:
            self.action_choose(place - self._chosen)

    def render_line(self, y: int) -> Strip:
        place = self.cell_at(y + self.scroll_offset.y)
        strip = super().render_line(y)
        if place is None or place != self._chosen or not self.has_focus:
            return strip
        style = self.tone("selected")
        return Strip([Segment(part.text, (part.style or self.rich_style) + style) for part in strip])

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()


def _mark(chosen: bool) -> str:
    return "(•)" if chosen else "( )"
