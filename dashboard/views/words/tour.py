"""The tour for newcomers: a few steps of two lines, each of which waits until the operator has done it.

The tour never acts. No step changes the team, so that it works in the past and read-only, too.
"""

from collections.abc import Callable
from typing import NamedTuple

from dashboard.views.drawing.lines import Line, Span, fold, hairline
from dashboard.views.drawing.rows import Cell
from dashboard.views.words.keyed import fill_keys

ROWS = 3
"""Height of the card: a hairline with the title, and two lines of text."""
OFFER = Cell("new here?  f2  shows the dashboard in a minute, step by step · offered once", "accent")
TOUR_ENDED = "that was the tour; f2 or :tour shows it again"


class TourContext(NamedTuple):
    """What the operator sees."""

    place: str = ""
    """The place on top; empty on a page."""
    page: bool = False
    """Whether a page is on top, not a place."""
    cursor: str = ""
    past: bool = False
    typing: bool = False
    """Whether a filter is being typed."""
    help: bool = False


class TourStep(NamedTuple):
    """One step."""

    text: str
    key: str
    """Its key, for `fill_keys`."""
    is_done: Callable[[TourContext, TourContext], bool]
    """Returns whether the step is done, from the context at its begin and the present one."""
    widget_id: str
    """The widget of the frame that it points at."""
    own_keys: frozenset[str] = frozenset()
    """Keys that the step itself asks for, which otherwise continue or leave the tour."""


STEPS = (
    TourStep(
        "This is the team: supervisors with the agents under them, what each does now, and how much is done and has "
        "failed. ▌ is the cursor.",
        "↓", lambda before, now: now.cursor != before.cursor, "body",
    ),
    TourStep(
        "Enter opens what is under the cursor: a supervisor, an agent, from there a task, and each of its events.",
        "enter", lambda before, now: now.page, "body",
    ),
    TourStep(
        "A page says all about one object: steps, output, cost, what came before. Esc goes back, here and everywhere.",
        "esc", lambda before, now: not now.page, "body", frozenset({"escape"}),
    ),
    TourStep(
        "The numbers go to the other screens: Graph, Timeline, Metrics, Tasks, Events, … Look at the tasks.",
        "<tasks:5>", lambda before, now: now.place not in ("", before.place), "tabs",
    ),
    TourStep(
        "Every list has the same filter, live while you type: words, agent:NAME, status:failed, >5s. Enter keeps it, "
        "esc takes it off.",
        "/", lambda before, now: before.typing and not now.typing, "body",
    ),
    TourStep(
        "This bar is the whole history. Go back to the mark before, or click on it: every screen shows the team as it "
        "was then.",
        "<mark before:[>", lambda before, now: now.past, "time",
    ),
    TourStep(
        "PAST: nothing can be changed here. <minute before:{> <next minute:}> go by minutes, <play:p> plays, "
        "<fork:F> makes a new team of this moment. Back:",
        "<live:L>", lambda before, now: not now.past, "time",
    ),
    TourStep(
        "To change something, put the cursor on it: <swap:h> swaps, <pause or resume:z> pauses, <run:n> asks for work; "
        "each first shows what it will do. All keys of a screen:",
        "<help:?>", lambda before, now: now.help, "keys",
    ),
)  # fmt: skip


class Tour:
    """The user's position in the tour."""

    def __init__(self) -> None:
        self.index = -1
        self._before = TourContext()

    @property
    def step(self) -> TourStep | None:
        """The step that is shown; None before and after the tour."""
        return STEPS[self.index] if 0 <= self.index < len(STEPS) else None

    def update(self, now: TourContext) -> bool:
        """Advance if the step is done; return whether the step has changed."""
        if self.index < 0:
            self.advance(now)
            return True
        step = self.step
        if step is None:
            return False
        if step.is_done(self._before, now):
            self.advance(now)
            return True
        if now.typing and not self._before.typing:
            self._before = self._before._replace(typing=True)
        return False

    def advance(self, now: TourContext) -> None:
        """Show the next step that is not done already."""
        self.index += 1
        self._before = now
        while (step := self.step) is not None and step.is_done(now, now):
            self.index += 1

    def lines(self, width: int) -> list[Line]:
        """Return the card: a title and the instruction."""
        step = self.step
        if step is None:
            return []
        leaves = "" if "escape" in step.own_keys else " · esc leaves"
        title = hairline(f"TOUR {self.index + 1} of {len(STEPS)}", width, right=f"space goes on{leaves}")
        mark = {"body": "▲ ", "tabs": "▲ ", "time": "▼ ", "keys": "▼ "}[step.widget_id]
        key = fill_keys(step.key)
        rows = fold(fill_keys(step.text), max(10, width - 6 - len(key)))
        first = Line((Span(" "), Span(mark, "accent"), Span(rows[0])))
        rest = Line((Span("   "), *((Span(rows[1] + " "),) if len(rows) > 1 else ()), Span(f" {key} ", "badge")))
        return [title, first, rest]
