"""What the operator is looking at, for the tour."""

from dashboard import dialogs
from dashboard.deck.deck import Deck
from dashboard.frame.frame import Frame
from dashboard.views.words.tour import TourContext
from dashboard.widgets.prompt import Prompt


def observe(app: Deck, last: TourContext) -> TourContext:
    """Return what the operator is looking at; under a dialog, the last observation."""
    screen = app.screen
    if isinstance(screen, dialogs.dialog.HelpScreen):
        return last._replace(help=True)
    if not isinstance(screen, Frame) or not screen.is_there:
        return last
    prompt = screen.query_one(Prompt)
    return TourContext(
        screen.PLACE,
        not screen.PLACE,
        screen.id_at_cursor(),
        app.past.is_shown,
        prompt.is_open and prompt.purpose == "filter",
    )
