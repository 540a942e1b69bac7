"""A page on which `/` finds words: matching lines are highlighted, and each enter shows the next one."""

from typing import Protocol, runtime_checkable

from dashboard.frame.page_screen import PageScreen
from dashboard.views.drawing.rows import Cell
from dashboard.views.view_state import ViewState
from dashboard.widgets.prompt import Prompt, Purpose

NEXT = "/ and enter: the next place"


@runtime_checkable
class Searched(Protocol):
    """A pane in which words can be found."""

    @property
    def is_on_screen(self) -> bool: ...

    def seek(self, words: str) -> int: ...

    def show_hit(self, number: int) -> None: ...


class FindingScreen(PageScreen):
    """Finds words in all of its panes in turn, in the text as it is drawn: rendered, cut and folded."""

    ASKS = Cell("/ find", "faint")

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self._hit, self._hits = 0, 0
        """Index of the match that is shown, and the number of matches."""
        self._is_typed = False
        """Whether the words have just been typed: the enter after them stays at the first match."""

    def update_body(self, view: ViewState) -> None:
        if self.needle:
            self._seek()
        super().update_body(view)

    def filter_typed(self, needle: str) -> None:
        """Show the first match of words that are being typed."""
        self._is_typed, self._hit = True, 0
        self._show_words(needle)

    def filter(self, needle: str) -> None:
        """Show the first match of new words, or the next match of the same words."""
        if needle != self.needle:
            self._hit = 0
        elif not self._is_typed:
            self._hit += 1
        self._is_typed = False
        self._show_words(needle)
        self.deck.messages.say(self._hits_text() if needle else "", "muted")

    def action_prompt(self, purpose: Purpose) -> None:
        """Ask for words; an empty line goes on with the previous ones."""
        self.query_one(Prompt).open(purpose, "")

    def on_prompt_given(self, event: Prompt.Given) -> None:
        """Replace an empty line by the previous words; Textual calls the handler of `Frame` afterwards."""
        if event.purpose == "filter" and not event.text.strip():
            event.text = self.needle

    def _show_words(self, needle: str) -> None:
        self.needle = needle
        places = self._seek()
        if places:
            self._hit %= len(places)
            pane, number = places[self._hit]
            pane.show_hit(number)
        self.update_view(self.deck.view)

    def _seek(self) -> list[tuple[Searched, int]]:
        """Highlight matching lines; return each as its pane and its index there."""
        words = self.needle.strip().strip('"').casefold()
        panes = [pane for pane in self.query("*") if isinstance(pane, Searched) and pane.is_on_screen]
        places: list[tuple[Searched, int]] = [(pane, number) for pane in panes for number in range(pane.seek(words))]
        self._hits = len(places)
        return places

    def _suggested(self, line: str) -> list[str]:
        return []

    def _filter_advice(self, text: str) -> Cell:
        return Cell(self._hits_text() if text.strip() else "words to find on this page", "muted")

    def _hits_text(self) -> str:
        return (
            f"{min(self._hit + 1, self._hits):,} of {self._hits:,} · {NEXT}" if self._hits else "nowhere on this page"
        )
