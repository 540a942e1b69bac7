"""The tour for newcomers: offers it once, and checks whether its current step has been done.

Steps and their conditions are in `views/words/tour`. Nothing here acts on the team.
"""

from collections.abc import Callable

from dashboard.deck.messages import Messages
from dashboard.user.habits import Habits
from dashboard.views.drawing.rows import Cell
from dashboard.views.view_state import ViewState
from dashboard.views.words.tour import OFFER, TOUR_ENDED, Tour, TourContext

OFFERED_MS = 20_000
"""How long the tour is offered, in milliseconds: in a small window the offer covers the time bar."""


class Touring:
    """The tour, while it is shown, and its offer.

    Args:
        observe: Returns what the operator is looking at, given the last observation.
        show: Refreshes every visible screen.
    """

    def __init__(
        self,
        habits: Habits,
        messages: Messages,
        *,
        observe: Callable[[TourContext], TourContext],
        show: Callable[[], None],
    ) -> None:
        self._habits, self._messages, self._observe, self._show = habits, messages, observe, show
        self.current: Tour | None = None
        """The tour, while it is shown."""
        self.offer: Cell | None = None
        """The offer of the tour; it takes precedence over tips."""
        self._offered_ms: int | None = None
        self._observation = TourContext()

    def begin(self, place: str) -> None:
        """Start the tour on a screen."""
        self.offer, self._offered_ms = None, 0
        if not self._habits.toured:
            self._habits.remember_offer()
        self._observation = TourContext(place)
        self.current = Tour()

    def follow(self, view: ViewState, now_ms: int) -> None:
        """Offer the tour to new users, and advance it when its current step has been done."""
        now = view.situation
        is_seen = now.is_loaded and not now.opening and view.banner is None  # which stands before it
        if self._offered_ms is None and not self._habits.toured and is_seen:
            self.offer, self._offered_ms = OFFER, now_ms
            self._habits.remember_offer()
        elif self.offer is not None and abs(now_ms - (self._offered_ms or now_ms)) > OFFERED_MS:
            self.offer = None
        if self.current is not None:
            self._observation = self._observe(self._observation)
            if self.current.update(self._observation):
                self._show_step()

    def takes(self, action: str) -> bool:
        """Return whether the current step lets an action of the tour have its key."""
        step = self.current.step if self.current is not None else None
        return step is not None and not (action == "leave_tour" and "escape" in step.own_keys)

    def go_on(self) -> None:
        """Show the next step."""
        if self.current is not None:
            self.current.advance(self._observe(self._observation))
            self._show_step()

    def leave(self) -> None:
        """End the tour."""
        self.current = None
        self._messages.say(TOUR_ENDED, "muted")

    def _show_step(self) -> None:
        if self.current is not None and self.current.step is None:
            self.current = None
            self._messages.say(TOUR_ENDED, "accent")
        else:
            self._show()
