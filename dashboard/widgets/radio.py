"""One of a few: each choice with what it would do, in as many lines as that takes."""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.binding import Binding
from textual.message import Message
from textual.strip import Strip

from dashboard.clean import clean
from dashboard.views.choices import Choice
from dashboard.views.rows import Cell
from dashboard.widgets.pane import Pane
from dashboard.widgets.tones import tone_css


class Radio(Pane, can_focus=True):
    """Show choices, the chosen one with a dot; post `Changed` when another is chosen, `Settled` at enter."""

    DEFAULT_CSS = """
    Radio {
        height: auto;
    }
    """ + tone_css("Radio")
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
        style = self.get_component_rich_style("row--selected", partial=True)
        return Strip([Segment(part.text, (part.style or self.rich_style) + style) for part in strip])

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()


def _mark(chosen: bool) -> str:
    return "(•)" if chosen else "( )"
