"""Rendered markdown of agents, drawn section by section, so that a long one starts to appear at once."""

from textual.containers import VerticalScroll
from textual.widgets import Markdown
from textual.widgets.markdown import MarkdownBlock

from dashboard.views.drawing.markdown import make_parser, sections
from dashboard.widgets.report_table import ReportTable
from dashboard.widgets.spots import Spot


class ReportSection(Markdown):
    """A section of a report."""

    BLOCKS = {**Markdown.BLOCKS, "table_open": ReportTable}


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
        Markdown.-continued > MarkdownBlock:last-child { margin-bottom: 0; }
        MarkdownH1 { content-align: left middle; color: $tone-strong; text-style: bold; margin: 0 0 1 0; }
        MarkdownH2, MarkdownH3, MarkdownH4, MarkdownH5, MarkdownH6 {
            color: $accent; text-style: bold; margin: 1 0;
        }
        MarkdownBlockQuote { background: $surface; border-left: outer $tone-line; margin: 0 0 1 0; }
        MarkdownFence { max-height: 40; background: $surface; color: $foreground; margin: 0 0 1 0; }
        Markdown MarkdownBlock:dark > .code_inline { color: $tone-tool; background: $background; }
        Markdown MarkdownBlock:light > .code_inline { color: $tone-tool; background: $background; }
        MarkdownBullet { color: $tone-guide; }
        MarkdownBlock.-hit { background: $selected-away; }
    }
    """

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._target_text = ""
        self._sections: list[str] = []
        self._setting = False

    def watch_has_focus(self, _has_focus: bool) -> None:
        """Skip the update of styles: none depends on the focus, and a long report has hundreds of widgets."""

    def spots(self) -> list[Spot]:
        return [Spot(0, 0, self.focus)]

    @property
    def text(self) -> str:
        """The markdown that has been drawn so far."""
        return "".join(self._sections)

    @property
    def has_text(self) -> bool:
        return bool(self._target_text)

    def seek(self, words: str) -> int:
        """Highlight paragraphs with these words, and return their number."""
        hits = self._hits(words)
        for block in self.query(MarkdownBlock):
            block.set_class(block in hits, "-hit")
        return len(hits)

    def _hits(self, words: str) -> list[MarkdownBlock]:
        inmost = (block for block in self.query(MarkdownBlock) if not block.query(MarkdownBlock))
        return [block for block in inmost if words and words in (block.source or "").casefold()]

    def show_hit(self, number: int) -> None:
        """Scroll to one of the highlighted paragraphs."""
        self.scroll_to_widget([*self.query(".-hit")][number], animate=False, center=True)

    def show(self, text: str) -> None:
        """Show a text without scrolling."""
        if text == self._target_text:
            return
        self._target_text = text
        if not self._setting:
            self._setting = True
            self.run_worker(self._draw_sections())

    async def _draw_sections(self) -> None:
        """Draw the target text section by section; the target may change meanwhile."""
        try:
            while self.text != self._target_text and self.is_attached:
                new_sections = sections(self._target_text)
                widgets = list(self.query_children(Markdown))
                same = _count_common(self._sections, new_sections)
                if same < len(widgets):
                    del self._sections[same:]
                    await self.remove_children(widgets[same:])
                if same < len(new_sections) and not await self._add(
                    new_sections[same], is_last=same + 1 == len(new_sections)
                ):
                    return
        finally:
            self._setting = False

    async def _add(self, section: str, *, is_last: bool) -> bool:
        """Append a section; return False if the page has been removed."""
        document = ReportSection(open_links=False, parser_factory=make_parser)
        document.set_class(not is_last, "-continued")
        await self.mount(document)
        if not document.is_attached:  # the page is being removed, and nothing is mounted in it any more
            return False
        await document.update(section)
        self._sections.append(section)
        return True


def _count_common(some: list[str], others: list[str]) -> int:
    """Return the length of the common prefix of two lists."""
    pairs = zip(some, others, strict=False)
    return next((at for at, (first, other) in enumerate(pairs) if first != other), min(len(some), len(others)))
