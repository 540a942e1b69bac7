"""Reads the texts that a view misses from the journal, in a thread, and has the view drawn again."""

from collections.abc import Callable

from dashboard.deck.background import Background
from dashboard.views.words.names import JournalTexts
from store import Reader


class TextReading:
    """The texts of one screen.

    Args:
        redraw: Called once texts have come, if anybody still looks.
    """

    def __init__(self, redraw: Callable[[], None]) -> None:
        self.texts = JournalTexts()
        self._redraw, self._is_reading = redraw, False

    def read_missing(self, background: Background) -> None:
        """Read what the last redraw missed, unless a thread is reading."""
        refs_by_seq = {ref.seq: ref for ref in self.texts.missing}
        if self._is_reading or not refs_by_seq:
            return
        self._is_reading = True

        def read(reader: Reader) -> dict[int, bytes]:
            return reader.bodies(set(refs_by_seq))

        def receive(bodies: dict[int, bytes]) -> None:
            self._is_reading = False
            for seq, ref in refs_by_seq.items():
                self.texts.add(ref, bodies.get(seq))
            self._redraw()

        def handle_failure() -> None:
            self._is_reading = False

        background.read(read, receive, on_failure=handle_failure)
