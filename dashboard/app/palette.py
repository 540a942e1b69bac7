"""The command palette (`ctrl+p`): all actions, and every agent, supervisor and open run by name."""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.command import CommandInput, CommandList, DiscoveryHit, Hit, Hits, Provider, SearchIcon
from textual.strip import Strip

from dashboard.actions import ACTIONS, key_of
from dashboard.actions.action import CommandLine
from dashboard.clean import clean
from dashboard.deck.live_screen import LiveScreen
from dashboard.frame.frame import Frame
from dashboard.user.key_labels import label_of
from dashboard.widgets.fields import Paged
from dashboard.widgets.textual_seams import QuietPalette
from dashboard.widgets.typing import make_printable

MAX_SHOWN = 60
"""Largest number of rows before anything is typed."""
SIGN = "›"
"""Sign before the line; that of Textual is an emoji, which many terminals lack."""


class _Entry(NamedTuple):
    title: str
    help: str
    action: partial[None]


class CommandProvider(Provider):
    """Provides actions first, then the objects of the team."""

    async def discover(self) -> Hits:
        for way in list(self._entries())[:MAX_SHOWN]:
            yield DiscoveryHit(Text(way.title), way.action, text=way.title, help=way.help)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for way in self._entries():
            score = matcher.match(f"{way.title} {way.help}")
            if score > 0:
                yield Hit(score, Text(way.title), way.action, text=way.title, help=way.help)

    def _entries(self) -> Iterator[_Entry]:
        screen = self.screen
        if not isinstance(screen, Frame):
            return
        for action in ACTIONS:
            if not (action.writes and screen.deck.access.readonly):
                key = label_of(key_of(action))
                name = action.name + (f"  ({key})" if key else "")
                yield _Entry(name, action.about or action.key_help, partial(action.call, screen, CommandLine()))
        state, deck = screen.state, screen.deck
        for supervisor in state.supervisors.values():
            go = partial(deck.action_go, "network", selected=supervisor.id)
            yield _Entry(f"supervisor {clean(supervisor.name)}", "show it in the network", go)
        for agent in state.agents.values():
            yield _Entry(f"agent {clean(agent.name)}", "open it", partial(deck.open, "agent", agent.id))
        for run in state.runs.values():
            yield _Entry(f"run {clean(run.id)} {clean(run.title)[:60]}", "open it", partial(deck.open, "run", run.id))


class _Line(CommandInput):
    """Draws pasted text as printable text, as `widgets.typing.TextLine` does."""

    def render_line(self, y: int) -> Strip:
        return make_printable(super().render_line(y))


class _List(Paged, CommandList):
    """The list of the palette; ignores a click on a row that is gone by now, on which Textual would fail."""

    def on_click(self, event: events.Click) -> None:
        if event.style.meta.get("option", -1) >= self.option_count:
            event.prevent_default()


class Palette(LiveScreen, QuietPalette):
    """Textual's palette with a line and a list of our own."""

    DEFAULT_CSS = """
    Palette SearchIcon { color: $accent; }
    """

    def __init__(self) -> None:
        super().__init__([CommandProvider])

    def compose(self) -> ComposeResult:
        for widget in super().compose():
            if isinstance(widget, CommandInput):
                yield _Line(placeholder=widget.placeholder, select_on_focus=False)
            elif isinstance(widget, CommandList):
                yield _List()
            else:
                if isinstance(widget, SearchIcon):
                    widget.icon = SIGN
                yield widget
