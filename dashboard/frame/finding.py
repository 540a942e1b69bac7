"""What `/` does on a screen: it shows only matching rows, or finds words on a page."""

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from textual.screen import Screen

from dashboard.deck.deck import deck_of
from dashboard.views.drawing.rows import Cell
from dashboard.views.words.filter_words import HINT, suggestions
from dashboard.views.words.filters import last_token, parse_partial_filter

NEXT = "/ and enter: the next place"


class RowFilter:
    """Shows only rows that match.

    Args:
        filtered: Called when the filter was applied, with whether it is another one.
    """

    LABEL = Cell("/ filter", "faint")
    """Label of the key `/`, beside the tabs."""

    def __init__(self, screen: Screen[Any], filtered: Callable[[bool], None]) -> None:
        self._screen, self._filtered = screen, filtered
        self.needle = ""
        self.is_typing = False
        """Whether the screen is being redrawn because of a letter typed into the line."""

    def seek(self, needle: str) -> None:
        """Apply a filter."""
        is_new, self.needle = needle != self.needle, needle
        self._filtered(is_new)

    def seek_typed(self, needle: str) -> None:
        """Apply an unfinished line: redraw rows and their number at once, the rest after the frame of the key."""
        self.is_typing = True
        try:
            self.seek(needle)
        finally:
            self.is_typing = False

    def confirm(self, text: str) -> None:
        """Apply the line that was finished with enter."""
        self.seek(text)

    def initial_text(self) -> str:
        """Return the text with which the line opens."""
        return self.needle

    def suggest(self, line: str) -> list[str]:
        """Return complete lines that begin with `line`."""
        return suggestions(line, deck_of(self._screen).view.state)

    def advise(self, text: str) -> Cell:
        """Return the error of an unfinished line, else its completions."""
        if fault := parse_partial_filter(text.strip()).fault:
            return Cell(fault, "warn")
        ways = "  ".join(last_token(way) for way in self.suggest(text)[:12])
        return Cell(ways or ("" if text else HINT), "muted")

    def highlight(self) -> None:
        """Highlight what was found; called before the body is redrawn."""


@runtime_checkable
class Searched(Protocol):
    """A pane in which words can be found."""

    @property
    def is_on_screen(self) -> bool: ...

    def seek(self, words: str) -> int: ...

    def show_hit(self, number: int) -> None: ...


class WordSearch(RowFilter):
    """Finds words in all panes of a page in turn, in the text as it is drawn: rendered, cut and folded.

    Matching lines are highlighted, and each enter shows the next one.
    """

    LABEL = Cell("/ find", "faint")

    def __init__(self, screen: Screen[Any], filtered: Callable[[bool], None]) -> None:
        super().__init__(screen, filtered)
        self._hit, self._hits = 0, 0
        """Index of the match that is shown, and the number of matches."""
        self._is_typed = False
        """Whether the words have just been typed: the enter after them stays at the first match."""

    def seek(self, needle: str) -> None:
        """Show the first match of new words, or the next match of the same words."""
        if needle != self.needle:
            self._hit = 0
        elif not self._is_typed:
            self._hit += 1
        self._is_typed = False
        self._show_words(needle)
        deck_of(self._screen).messages.say(self._hits_text() if needle else "", "muted")

    def seek_typed(self, needle: str) -> None:
        """Show the first match of words that are being typed."""
        self._is_typed, self._hit = True, 0
        self._show_words(needle)

    def confirm(self, text: str) -> None:
        """Go on with the previous words if the line is empty."""
        self.seek(text if text.strip() else self.needle)

    def initial_text(self) -> str:
        return ""

    def suggest(self, line: str) -> list[str]:
        return []

    def advise(self, text: str) -> Cell:
        return Cell(self._hits_text() if text.strip() else "words to find on this page", "muted")

    def highlight(self) -> None:
        if self.needle:
            self._find()

    def _show_words(self, needle: str) -> None:
        is_new, self.needle = needle != self.needle, needle
        places = self._find()
        if places:
            self._hit %= len(places)
            pane, number = places[self._hit]
            pane.show_hit(number)
        self._filtered(is_new)

    def _find(self) -> list[tuple[Searched, int]]:
        """Highlight matching lines; return each as its pane and its index there."""
        words = self.needle.strip().strip('"').casefold()
        panes = [pane for pane in self._screen.query("*") if isinstance(pane, Searched) and pane.is_on_screen]
        places: list[tuple[Searched, int]] = [(pane, number) for pane in panes for number in range(pane.seek(words))]
        self._hits = len(places)
        return places

    def _hits_text(self) -> str:
        return (
            f"{min(self._hit + 1, self._hits):,} of {self._hits:,} · {NEXT}" if self._hits else "nowhere on this page"
        )
