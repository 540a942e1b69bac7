"""Markdown as lines of a pane, for texts that change ten times a second.

Only the last paragraph of a growing text is parsed again, and only changed lines are painted: a word appended to 6,000
characters costs 0.2 ms. Textual's `Markdown` lays out all its widgets again, which takes 125 ms, so it is used only for
static texts.
"""

from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from rich.cells import cell_len, chop_cells

from dashboard.clean import clean_lines
from dashboard.views.drawing.lines import BLANK, Line, Span, fit_spans, join_spans, pad
from dashboard.views.drawing.markdown import make_parser
from dashboard.views.words.keyed import fill_keys

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MAX_CHARACTERS = 8_000
"""Characters of a text that are shown, counted from its end."""
MAX_WIDTH = 92
MAX_BRACKETS = 500
"""A paragraph with more brackets is parsed without links: the search for each closing one is quadratic."""
CURSOR = Span(" ▍", "accent")
_BRIGHT_LINES = 3
"""Lines at the end of a growing text that are brighter."""
_BULLETS = "•▪‣◦"


def prose(text: str, width: int, *, max_characters: int = MAX_CHARACTERS) -> list[Line]:
    """Return the last `max_characters` of a markdown text as lines of at most `width` cells."""
    text_width = max(8, min(width, MAX_WIDTH))
    lines: list[Line] = []
    for part in _parts(_end_of(text, max_characters)):
        lines += [*([BLANK] if lines else []), *_render(part, text_width)]
    return lines


def _parts(text: str) -> Iterator[str]:
    """Split a text at blank lines into blocks that can be parsed alone, but not in code or before indented lines."""
    blocks: list[str] = []
    fenced = False
    for block in text.replace("\r\n", "\n").split("\n\n"):
        if blocks and not fenced and not block.startswith((" ", "\t")):
            yield "\n\n".join(blocks)
            blocks = []
        blocks.append(block)
        fenced ^= block.count("```") % 2 == 1
    if any(part.strip() for part in blocks):
        yield "\n\n".join(blocks)


@lru_cache(1_024)
def _render(part: str, width: int) -> tuple[Line, ...]:
    writer = _Writer(width)
    for token in _parser(links=part.count("[") <= MAX_BRACKETS).parse("\n".join(clean_lines(part))):
        writer.take(token)
    while writer.lines and not writer.lines[-1].spans:
        writer.lines.pop()
    return tuple(writer.lines)


@cache
def _parser(*, links: bool) -> "MarkdownIt":
    return make_parser() if links else make_parser().disable(["link", "image"])


def growing_prose(text: str, width: int) -> list[Line]:
    """Return a text that is being written, with brighter last lines and a cursor at its end."""
    lines = prose(text, width - 2) or [BLANK]
    bright = [
        line._replace(spans=tuple(span._replace(tone=span.tone or "heat-5") for span in line.spans))
        for line in lines[-_BRIGHT_LINES:]
    ]
    bright[-1] = bright[-1]._replace(spans=(*bright[-1].spans, CURSOR))
    return [*lines[:-_BRIGHT_LINES], *bright]


def _end_of(text: str, max_characters: int) -> str:
    """Return the end of a long text, from the start of a paragraph if possible."""
    if len(text) <= max_characters:
        return text
    tail = text[-max_characters:]
    start = tail.find("\n\n", 0, max_characters // 2)
    return "…\n\n" + tail[start + 2 if start >= 0 else 0 :]


class _Writer:
    """Turns the tokens of a text into lines."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.lines: list[Line] = []
        self._indent: list[tuple[str, str]] = []
        """By level, the prefix of the first line of the next block, and the prefix of its other lines."""
        self._lists: list[int | None] = []
        """The number of the next item by level; None for a list without numbers."""
        self._tone = ""
        self._rows: list[list[str]] = []

    def take(self, token: "Token") -> None:
        """Process a token."""
        kind = token.type
        if kind == "inline":
            self._inline(token)
        elif kind == "heading_open":
            self._gap()
            self._tone = "strong" if token.tag == "h1" else "accent"
        elif kind in ("heading_close", "paragraph_close"):
            self._tone = ""
            if not (token.hidden or self._rows):
                self._gap()
        elif kind in ("bullet_list_open", "ordered_list_open"):
            self._lists.append(int(token.attrs.get("start", 1)) if kind.startswith("ordered") else None)
        elif kind in ("bullet_list_close", "ordered_list_close"):
            self._lists.pop()
            self._gap()
        elif kind == "list_item_open":
            self._item()
        elif kind == "blockquote_open":
            self._indent.append(("│ ", "│ "))
        elif kind in ("list_item_close", "blockquote_close"):
            self._indent.pop()
        elif kind in ("fence", "code_block"):
            self._code(token.content)
        elif kind == "hr":
            self.lines += [Line((Span("─" * self.width, "line"),)), BLANK]
        elif kind == "tr_open":
            self._rows.append([])
        elif kind == "table_close":
            self._table()

    def _gap(self) -> None:
        if self.lines and self.lines[-1].spans:
            self.lines.append(BLANK)

    def _item(self) -> None:
        number = self._lists[-1] if self._lists else None
        depth = sum(next_number is None for next_number in self._lists) - 1
        mark = f"{_BULLETS[depth % len(_BULLETS)]} " if number is None else f"{number}. "
        if number is not None:
            self._lists[-1] = number + 1
        self._indent.append((mark, " " * len(mark)))

    def _lead(self) -> Span:
        """Return the prefix of the next line; the mark of an item is used once."""
        before = "".join(first for first, _ in self._indent)
        self._indent = [(later, later) for _, later in self._indent]
        return Span(before, "guide")

    def _inline(self, token: "Token") -> None:
        if self._rows:
            self._rows[-1].append("".join(span.text for span in _spans(token.children or (), "")))
            return
        text_width = max(8, self.width - sum(len(later) for _, later in self._indent))
        for spans in wrap_spans(list(_spans(token.children or (), self._tone)), text_width):
            self.lines.append(Line((self._lead(), *spans)))

    def _code(self, content: str) -> None:
        text_width = max(8, self.width - 2 - sum(len(later) for _, later in self._indent))
        for line in content.rstrip("\n").split("\n"):
            self.lines += [
                Line((self._lead(), Span("  "), Span(piece, "tool"))) for piece in chop_cells(line, text_width) or [""]
            ]
        self._gap()

    def _table(self) -> None:
        rows, self._rows = self._rows, []
        columns = max((len(row) for row in rows), default=0)
        if not columns:
            return
        max_width = max(columns * 3, self.width - 3 * (columns - 1))
        widths = [max((cell_len(row[at]) for row in rows if at < len(row)), default=1) for at in range(columns)]
        while sum(widths) > max_width:
            widths[widths.index(max(widths))] -= 1
        for index, row in enumerate(rows):
            texts = [pad(row[at] if at < len(row) else "", widths[at]) for at in range(columns)]
            spans: list[Span] = [self._lead()]
            for at, text in enumerate(texts):
                spans += [*([Span(" │ ", "line")] if at else []), Span(text, "muted" if not index else "")]
            self.lines.append(Line(fit_spans(spans, self.width)))
            if not index:
                rule = "─┼─".join("─" * width for width in widths)
                self.lines.append(Line((Span(rule[: self.width], "line"),)))
        self._gap()


def _spans(children: "Sequence[Token]", tone: str) -> Iterator[Span]:
    bold = 0
    for child in children:
        if child.type in ("strong_open", "em_open"):
            bold += child.type == "strong_open"
        elif child.type in ("strong_close", "em_close"):
            bold -= child.type == "strong_close"
        elif child.type == "code_inline":
            yield Span(child.content, "tool")
        elif child.type == "softbreak":
            yield Span(" ", tone)
        elif child.type == "hardbreak":
            yield Span("\n", tone)
        elif child.content:
            yield Span(child.content, f"{tone} bold".strip() if bold else tone)


def wrap_spans(spans: Sequence[Span], width: int) -> list[tuple[Span, ...]]:
    """Wrap spans to lines of at most `width` cells, between words if possible."""
    lines: list[list[Span]] = [[]]
    left = width
    for text, tone in spans:
        for index, part in enumerate(text.split("\n")):
            if index:
                lines.append([])
                left = width
            for word in _words(part):
                word_width = cell_len(word.rstrip(" "))
                if word_width > left and left < width:
                    lines.append([])
                    left, word = width, word.lstrip(" ")
                    word_width = cell_len(word.rstrip(" "))
                pieces = chop_cells(word, width) if word_width > width else [word]
                for at, piece in enumerate(pieces):
                    if at:
                        lines.append([])
                        left = width
                    piece = piece[: len(piece) - max(0, cell_len(piece) - left)] if cell_len(piece) > left else piece
                    lines[-1].append(Span(piece, tone))
                    left -= cell_len(piece)
    return [join_spans(line) for line in lines]


def _words(text: str) -> Iterator[str]:
    """Yield words, each with the blanks after it."""
    start = 0
    while start < len(text):
        end = text.find(" ", start)
        if end < 0:
            yield text[start:]
            return
        while end < len(text) and text[end] == " ":
            end += 1
        yield text[start:end]
        start = end


def paragraph(text: str, width: int, *, tone: str = "", max_lines: int = 1_000) -> list[Line]:
    """Return plain text, cleaned and wrapped, as at most `max_lines` lines; the last one says if there are more."""
    lines: list[Line] = []
    text_width = max(8, width)
    for raw in clean_lines(text[: text_width * max_lines * 2]):
        lines += [Line(spans) for spans in wrap_spans([Span(raw, tone)], text_width)]
        if len(lines) > max_lines:
            break
    if len(lines) <= max_lines and len(text) <= text_width * max_lines * 2:
        return lines
    return [*lines[: max_lines - 1], Line((Span(fill_keys("… more; <raw:y> shows it whole"), "muted"),))]
