"""Rendered markdown that agents wrote; updated only when it changes, and text at its end is appended."""

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Markdown

from dashboard.views.markdown import parser
from dashboard.widgets.spots import Spot


class Report(VerticalScroll, can_focus=True):
    """Show markdown; it can be scrolled, and nothing in it can be clicked."""

    DEFAULT_CSS = """
    Report {
        height: 1fr;
        width: 1fr;
        scrollbar-size-vertical: 1;
        background: $background;
        Markdown {
            max-width: 94;
            padding: 0 1;
            background: $background;
        }
        MarkdownH1 { content-align: left middle; color: $tone-strong; text-style: bold; margin: 0 0 1 0; }
        MarkdownH2, MarkdownH3, MarkdownH4, MarkdownH5, MarkdownH6 {
            color: $accent; text-style: bold; margin: 1 0;
        }
        MarkdownBlockQuote { background: $surface; border-left: outer $tone-line; margin: 0 0 1 0; }
        MarkdownFence { max-height: 40; background: $surface; color: $foreground; margin: 0 0 1 0; }
        MarkdownTableContent { keyline: thin $tone-line; }
        MarkdownTableContent > .header { color: $tone-muted; }
        MarkdownBlock > .code_inline { color: $tone-tool; background: $background; }
        MarkdownBullet { color: $tone-guide; }
    }
    """

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._wanted = ""
        self._shown = ""
        self._setting = False
        self.follows = False
        """Whether it stays at its end while it grows."""

    def compose(self) -> ComposeResult:
        yield Markdown(open_links=False, parser_factory=parser)

    def spots(self) -> list[Spot]:
        """Return the pane itself."""
        return [Spot(0, 0, self.focus)]

    @property
    def text(self) -> str:
        """The markdown that it shows, as far as it was set."""
        return self._shown

    def show(self, text: str) -> None:
        """Show a text; the place in it stays where it was."""
        if text == self._wanted:
            return
        self._wanted = text
        if not self._setting:
            self._setting = True
            self.run_worker(self._set())

    async def _set(self) -> None:
        """Bring what is drawn up to what is wanted, which may change meanwhile."""
        document = self.query_one(Markdown)
        try:
            while self._shown != self._wanted and self.is_attached:
                wanted = self._wanted
                if self._shown and wanted.startswith(self._shown):
                    await document.append(wanted[len(self._shown) :])
                else:
                    await document.update(wanted)
                self._shown = wanted
                if self.follows:
                    self.scroll_end(animate=False)
        finally:
            self._setting = False
