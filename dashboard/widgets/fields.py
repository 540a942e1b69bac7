"""Input fields of dialogs: a labelled line, and choices in one line or in several."""

from collections.abc import Callable, Sequence

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import OptionList, Static

from dashboard.clean import clean
from dashboard.views.drawing.lines import cut
from dashboard.views.drawing.rows import Cell, Choice
from dashboard.widgets.pane import Pane
from dashboard.widgets.tones import Toned, fit
from dashboard.widgets.typing import LineInput


class Paged:
    """Mixed into a list: page keys do nothing while it has no size, when Textual fails for want of lines."""

    def action_page_up(self) -> None:
        self._page(OptionList.action_page_up)

    def action_page_down(self) -> None:
        self._page(OptionList.action_page_down)

    def _page(self, move: Callable[[OptionList], None]) -> None:
        assert isinstance(self, OptionList)
        if self.scrollable_content_region:
            move(self)


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
        yield LineInput(self._begins, placeholder=self._placeholder, id=self._input, select_on_focus=False)


class OneOf(Toned):
    """Mixed into a widget that chooses one of a few values; posts `Changed` on a new choice, `Settled` on enter."""

    AROUND = False
    """Whether the choice wraps around from the last to the first."""
    _choices: tuple[Choice, ...] = ()
    _place = 0

    class Changed(Message):
        """Another value is chosen."""

    class Settled(Message):
        """Enter was pressed on it."""

    def offer(self, choices: Sequence[Choice], chosen: str | None = None) -> None:
        """Offer these choices; the current choice stays if it is among them."""
        chosen_id, ids = chosen if chosen is not None else self.chosen, [choice.id for choice in choices]
        self._choices, self._place = tuple(choices), ids.index(chosen_id) if chosen_id in ids else 0
        self.draw()

    @property
    def chosen(self) -> str | None:
        """Id of the current choice; None without choices."""
        return self._choices[self._place].id if self._choices else None

    def draw(self) -> None:
        self.refresh()

    def action_choose(self, by: int) -> None:
        last = len(self._choices) - 1
        place = (self._place + by) % (last + 1) if self.AROUND and last > 0 else max(0, min(last, self._place + by))
        if place != self._place:
            self._place = place
            self.draw()
            self.post_message(self.Changed())

    def action_settle(self) -> None:
        self.post_message(self.Settled())


class Picker(OneOf, Widget, can_focus=True):
    """Show a label and the chosen value in one line."""

    DEFAULT_CSS = """
    Picker {
        height: 1;
        width: 100%;
    }
    """
    BINDINGS = [
        Binding("left,h", "choose(-1)", "before", show=False),
        Binding("right,l,space", "choose(1)", "after", show=False),
        Binding("enter", "settle", "do it", show=False),
    ]
    LABEL, AROUND = 13, True

    def __init__(self, label: str, *, id: str) -> None:
        super().__init__(id=id)
        self._label = label

    @property
    def _value(self) -> Choice:
        return self._choices[self._place] if self._choices else Choice("", "–")

    @property
    def text(self) -> str:
        return f"{self._label} {self._value.name} {self._value.about}".rstrip()

    def on_click(self, event: events.Click) -> None:
        if self.has_focus:
            self.action_choose(1)

    def render_line(self, y: int) -> Strip:
        style, value = self.rich_style, self._value
        picked = style + self.tone("selected") if self.has_focus else style
        name = f"‹ {clean(value.name)} ›" if len(self._choices) > 1 else clean(value.name)
        segments = [
            Segment(" ", style),
            Segment(fit(self._label, self.LABEL - 1) + " ", style + self.tone("muted")),
            Segment(name, picked + self.tone("strong")),
        ]
        about_width = self.size.width - sum(cell_len(segment.text) for segment in segments) - 2
        segments.append(Segment("  " + cut(value.about, about_width), style + self.tone("muted")))
        return Strip(segments).adjust_cell_length(self.size.width, style)


class Radio(OneOf, Pane, can_focus=True):
    """Show choices in lines, the chosen one with a dot."""

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

    def draw(self) -> None:
        names = [clean(choice.name) for choice in self._choices]
        widest = max(map(cell_len, names), default=0)
        marks = ["(•)" if place == self._place else "( )" for place in range(len(names))]
        self.show(
            [
                Cell(choice.about, choice.tone, f"{mark} {name:<{widest}}   ")
                for choice, mark, name in zip(self._choices, marks, names, strict=True)
            ]
        )
        self.refresh(layout=True)

    def on_click(self, event: events.Click) -> None:
        place = self.cell_at(event.y + self.scroll_offset.y)
        if place is not None:
            self.action_choose(place - self._place)

    def render_line(self, y: int) -> Strip:
        place = self.cell_at(y + self.scroll_offset.y)
        strip = super().render_line(y)
        if place is None or place != self._place or not self.has_focus:
            return strip
        style = self.tone("selected")
        return Strip([Segment(part.text, (part.style or self.rich_style) + style) for part in strip])
