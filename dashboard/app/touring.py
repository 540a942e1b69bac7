"""The tour for newcomers: offers it once, and checks whether its current step has been done.

Steps and their conditions are in `views/words/tour`. Nothing here acts on the team.
"""

from collections.abc import Callable
from pathlib import Path

from textual.binding import Binding
from textual.widgets import Input

from dashboard import dialogs
from dashboard.deck.deck import Deck
from dashboard.frame.frame import Frame
from dashboard.reading.feed import Feed
from dashboard.user.habits import Habits
from dashboard.views.words.tour import OFFER, TOUR_ENDED, Tour, TourContext
from dashboard.widgets.prompt import Prompt

OFFERED_MS = 20_000
"""How long the tour is offered, in milliseconds: in a small window the offer covers the time bar."""


class Touring(Deck):
    """An app that offers a tour."""

    BINDINGS = [
        Binding("space,right", "go_on_touring", "next step", show=False, priority=True),
        Binding("escape", "leave_tour", "leave the tour", show=False, priority=True),
    ]

    def __init__(
        self, db: Path, *, readonly: bool, feed: Feed, clock: Callable[[], int], habits: Habits | None = None
    ) -> None:
        super().__init__(db, readonly=readonly, feed=feed, clock=clock)
        self.habits = habits or Habits()
        self._offered_ms: int | None = None
        self._observation = TourContext()

    def begin_tour(self) -> None:
        self.offer, self._offered_ms = None, 0
        if not self.habits.toured:
            self.habits.remember_offer()
        self.action_go("network")
        self._observation = TourContext("network")
        self.tour = Tour()
        self.call_after_refresh(self.follow_tour)

    def follow_tour(self) -> None:
        """Offer the tour to new users, and advance it when its current step has been done."""
        now_ms = self._clock()
        now = self.view.situation
        is_seen = now.is_loaded and not now.opening and self.view.banner is None  # which stands before it
        if self._offered_ms is None and not self.habits.toured and is_seen:
            self.offer, self._offered_ms = OFFER, now_ms
            self.habits.remember_offer()
        elif self.offer is not None and abs(now_ms - (self._offered_ms or now_ms)) > OFFERED_MS:
            self.offer = None
        if self.tour is not None:
            self._observation = self._observe()
            if self.tour.update(self._observation):
                self._show_step()

    def _observe(self) -> TourContext:
        """Return what the operator is looking at; under a dialog, the screen below it."""
        screen = self.screen
        if isinstance(screen, dialogs.dialog.HelpScreen):
            return self._observation._replace(help=True)
        if not isinstance(screen, Frame) or not screen.is_there:
            return self._observation
        from dashboard.frame.page_screen import PageScreen  # no first frame waits for what draws pages

        prompt = screen.query_one(Prompt)
        return TourContext(
            screen.PLACE,
            isinstance(screen, PageScreen),
            screen.id_at_cursor(),
            self.in_past,
            prompt.is_open and prompt.purpose == "filter",
            screen.needle,
        )

    def _show_step(self) -> None:
        if self.tour is not None and self.tour.step is None:
            self.tour = None
            self.say(TOUR_ENDED, "accent")
        else:
            self.show()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave keys to the screen without a tour, if the step needs them, and in input fields."""
        if action in ("go_on_touring", "leave_tour"):
            step = self.tour.step if self.tour is not None else None
            free = isinstance(self.screen, Frame) and not isinstance(self.focused, Input)
            return step is not None and free and not (action == "leave_tour" and "escape" in step.takes)
        return super().check_action(action, parameters)

    def action_go_on_touring(self) -> None:
        if self.tour is not None:
            self.tour.advance(self._observe())
            self._show_step()

    def action_leave_tour(self) -> None:
        self.tour = None
        self.say(TOUR_ENDED, "muted")
