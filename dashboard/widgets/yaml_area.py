"""An editor of YAML: keys and comments in their tones, lines with a fault underlined, indentation kept by enter.

Textual colours a language with tree-sitter, which would be 30 MB more to install.
"""

import re
from collections.abc import Iterable

from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import Binding

from dashboard.widgets.typing import TextBox

_KEY = re.compile(r"^(\s*(?:- )?)([\w-]+)(?=:(?:\s|$))")
_COMMENT = re.compile(r"(?:^|\s)(#.*)$")
_INDENT = re.compile(r"\s*")


class YamlArea(TextBox):
    """A `TextArea` whose lines can be shown as faulty."""

    BINDINGS = [
        Binding("ctrl+home", "edge(-1)", "first line", show=False),
        Binding("ctrl+end", "edge(1)", "last line", show=False),
    ]

    def __init__(self, text: str, *, id: str) -> None:
        super().__init__(text, id=id, tab_behavior="focus", show_line_numbers=True, soft_wrap=True)
        self.indent_width = 2
        self.highlight_cursor_line = False
        self._faulty: frozenset[int] = frozenset()

    def show_faults(self, lines: Iterable[int]) -> None:
        """Underline these lines, numbered from 1."""
        faulty = frozenset(lines)
        if faulty != self._faulty:
            self._faulty = faulty
            self.notify_style_update()  # forgets the lines that were drawn
            self.refresh()

    def put(self, text: str) -> None:
        """Replace the whole text; ctrl+z undoes it."""
        at = self.cursor_location
        self.replace(text, (0, 0), self.document.end, maintain_selection_offset=False)
        self.move_cursor(self.clamp_visitable(at))

    def action_edge(self, towards: int) -> None:
        self.move_cursor(self.document.end if towards > 0 else (0, 0))

    def get_line(self, line_index: int) -> Text:
        """Return a line as it is drawn, of unchanged length, so that the cursor stays aligned."""
        raw = self.document.get_line(line_index)
        line = Text(
            "".join(character if character.isprintable() or character == "\t" else "\ufffd" for character in raw),
            end="",
            no_wrap=True,
        )
        tones = self.app.theme_variables
        if (key := _KEY.match(raw)) is not None:
            line.stylize(Style(color=tones["tone-accent"]), *key.span(2))
        if (comment := _COMMENT.search(raw)) is not None:
            line.stylize(Style(color=tones["tone-muted"]), *comment.span(1))
        if line_index + 1 in self._faulty:
            line.stylize(Style(color=tones["tone-error"], underline=True))
        return line

    async def on_key(self, event: events.Key) -> None:
        if event.key != "enter" or self.read_only or self.is_waiting:
            return
        event.stop()
        event.prevent_default()  # of the base class, which Textual would call too
        row, column = min(self.selection)
        before = self.document.get_line(row)[:column]
        indent = _INDENT.match(before)
        deeper = "  " if before.rstrip().endswith(":") else ""
        line_break = "\n" + (indent[0] if indent is not None else "") + deeper
        self.replace(line_break, *self.selection, maintain_selection_offset=False)
