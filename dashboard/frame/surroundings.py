"""What stands around the body of every screen: header, health strip, tabs, tip, card of the tour, keys."""

from collections.abc import Sequence
from functools import partial

from dashboard.deck.places import SHORT, tabs
from dashboard.views.drawing.lines import Span, cell_width, spread
from dashboard.views.drawing.rows import Cell
from dashboard.views.header import path_cells, team_of
from dashboard.views.measures.strip import strip
from dashboard.views.view_state import ViewState
from dashboard.views.words.tips import DISMISS
from dashboard.views.words.tour import Tour
from dashboard.widgets.bar import Bar
from dashboard.widgets.lines import Lines
from dashboard.widgets.spots import Spot

PADDED_TABS_MIN_WIDTH = 110
"""Screen width from which each tab has a blank on both sides."""
STRIP_EVERY_MS = 500
"""Shortest time between two redraws of the health strip, in milliseconds."""


class Header(Bar):
    """The team on the left, on a page with the path to it; the situation on the right."""

    def __init__(self) -> None:
        super().__init__(id="header")
        self._path: list[Cell] = []

    def update_view(self, view: ViewState, pages: Sequence[str], *, brief: bool) -> None:
        """Redraw.

        Args:
            pages: Titles of the pages in the order in which they were opened; empty for a screen that is none.
            brief: Whether the health strip shows what else would be said here.
        """
        width = self.screen.size.width
        left, right = view.header(brief=brief, room=Bar.room(width - 2))
        if pages:
            team = team_of(view.state, view.situation)
            left = self._path = path_cells(team, pages, self.room_beside(right, width))
        self.show(left, right)

    def pages_above(self, index: int, pages: int) -> int:
        """Return how many of the open pages are above a cell of the path; all of them if the cell is the team."""
        return len(self._path) - 1 - index if self._path[index].text.startswith("▸") else pages


class HealthStrip(Lines):
    """A line about the health of the team, on screens that have room for it."""

    def __init__(self) -> None:
        super().__init__(id="strip")
        self._cache_key: tuple[object, ...] = ()
        self._due_ms = 0

    def update_view(self, view: ViewState) -> None:
        """Redraw if it is due."""
        width = self.screen.size.width
        cache_key = (width, view.past, view.situation.opening)
        if self.display and (cache_key != self._cache_key or view.is_due(self._due_ms)):
            self._cache_key, self._due_ms = cache_key, view.wall_ms + STRIP_EVERY_MS
            self.show([strip(view.state, view.counts, view.activity, now_ms=view.now_ms, width=width)])


class Tabs(Bar):
    """The tabs of all screens on the left, facts about the rows of this screen on the right."""

    LEFT_FIRST = True

    def show_place(self, place: str, facts: Sequence[Cell], needs: int) -> None:
        """Highlight a tab; on a narrow screen the last of the others are only numbers.

        Args:
            place: The place of the tab.
            facts: Shown on the right.
            needs: How much waits in the inbox.
        """
        width = self.screen.size.width
        names = {name: name for name in tabs()}
        over = sum(len(name) + 3 for name in names) - width
        if over > 0:
            names |= SHORT
            over = sum(len(name) + 3 for name in names.values()) - width
        for name in reversed(tabs()):
            if over > 0 and name != place:
                over -= len(names[name]) + 1
                names[name] = ""
        count = f" ⚑{needs:,}" if needs else ""
        names["inbox"] += count if over + len(count) <= 0 else ""
        airy, last = width >= PADDED_TABS_MIN_WIDTH, [*names][-1]
        self.show(
            [
                _tab(names[name], number, own=name == place, airy=airy, last=name == last)
                for name, number in tabs().items()
            ],
            facts,
        )

    def spots(self) -> list[Spot]:
        numbers = [*tabs().values()]
        return [
            Spot(start, 0, partial(self.post_message, self.Clicked(self, self._left[index], index)), numbers[index])
            for index, start, _ in self.places()
        ]


def _tab(name: str, number: str, *, own: bool, airy: bool, last: bool) -> Cell:
    name = name.capitalize()
    text = f" {number} {name} " if airy else (f"{number} {name}" if name else number)
    text += "" if airy or last else " "
    at = text.index(number) + 1
    tones = ("tab accent", "tab") if own and airy else ("accent", "strong") if own else ("faint", "muted")
    return Cell(text, spans=(Span(text[:at], tones[0]), Span(text[at:], tones[1])))


class TipLine(Lines):
    """The current tip; an empty one keeps its line, so that the rows do not move."""

    def show_tip(self, tip: Cell | None) -> None:
        """Show a tip; hide the line without one."""
        self.display = tip is not None
        if tip is not None:
            width = self.screen.size.width
            spans = [Span(f" {tip.lead}", "accent"), Span(tip.text, tip.tone)] if tip.text else []
            # A tip that leaves no room for the key is shown whole instead.
            ends = [Span(f"{DISMISS} dismisses it ", "faint")] if spans else []
            self.show([spread(spans, ends if cell_width([*spans, *ends]) < width else [], width)])


class TourCard(Lines):
    """The card of the tour, which highlights the part of the screen that its step is about."""

    def show_tour(self, tour: Tour | None) -> None:
        """Show the step of a tour; hide the card without one."""
        screen = self.screen
        step = tour.step if tour is not None else None
        if tour is None or step is None:
            if screen.has_class("-touring"):
                screen.set_class(False, "-touring")
                screen.query(".-pointed").remove_class("-pointed")
            return
        screen.set_class(True, "-touring")
        for name in ("tabs", "time", "keys"):
            screen.query_one(f"#{name}").set_class(step.widget_id == name, "-pointed")
        self.show(tour.lines(screen.size.width))


class Keys(Bar):
    """The keys of a screen, each in front of its label."""

    LEAD_TONE = "accent"
