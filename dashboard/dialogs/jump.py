"""Jump mode: a label at each row, pane and tab; typing a label goes there, any other key ends the mode."""

from collections.abc import Sequence

from textual import events
from textual.app import ComposeResult
from textual.screen import ModalScreen
from textual.widgets import Static

from dashboard.deck.live_screen import LiveScreen
from dashboard.views.drawing.jumping import labels
from dashboard.widgets.spots import Spot


class JumpScreen(LiveScreen, ModalScreen[Spot | None]):
    """Shows labels over the frozen screen; returns the chosen spot."""

    holds = True
    DEFAULT_CSS = """
    JumpScreen {
        background: transparent;
        & > Static {
            position: absolute;
            width: auto;
            height: 1;
            color: $tone-badge;
            background: $ground-badge;
            text-style: bold;
        }
    }
    """

    def __init__(self, spots: Sequence[Spot]) -> None:
        super().__init__()
        free = iter(labels(sum(not spot.letter for spot in spots)))
        self.spots = {spot.letter or next(free): spot for spot in spots}
        """Spots by label."""
        self._pressed = ""

    def compose(self) -> ComposeResult:
        for letters, spot in self.spots.items():
            label = Static(letters, markup=False)
            label.styles.offset = (spot.x, spot.y)
            yield label

    def on_mount(self) -> None:
        self._opened_at = self.app.size

    def on_resize(self) -> None:
        """End the mode when the window is resized, because the labels are misplaced then."""
        if self.app.size != self._opened_at:
            self.dismiss(None)

    def on_key(self, event: events.Key) -> None:
        """Add a letter; one that matches no label ends the mode."""
        event.stop()
        pressed = self._pressed + (event.character or "") if event.is_printable else ""
        if pressed in self.spots:
            self.dismiss(self.spots[pressed])
        elif pressed and any(label.startswith(pressed) for label in self.spots):
            self._pressed = pressed
        else:
            self.dismiss(None)

    def on_click(self, event: events.Click) -> None:
        at = event.screen_offset
        matching_spots = (
            spot for key, spot in self.spots.items() if spot.y == at.y and spot.x <= at.x < spot.x + len(key)
        )
        self.dismiss(next(matching_spots, None))
