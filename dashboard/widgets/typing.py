"""Lines and areas for typing that show nothing but text, whatever was pasted into them or begins in them.

Rule: what they hold stays as it is (joiners belong to some languages); only what is drawn changes, cell by cell.
Rule: keys count in the order in which they came, however many came at once, as they do over a slow link.
"""

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.geometry import Offset
from textual.message import Message
from textual.strip import Strip
from textual.widgets import Input, TextArea

from dashboard.clean import literal
from dashboard.widgets.textual_seams import bindings_of

HIDDEN = "·"

if TYPE_CHECKING:
    from textual.widget import Widget

    _Base = Widget
else:
    _Base = object  # Textual takes the CSS of the first base that is a widget, so that this may not be one


class KeyPassed(Message):
    """A key that is not text has been seen by everybody from where it was typed up to the app."""

    def __init__(self, typed_in: "InOrder", *, is_behind: bool = False) -> None:
        super().__init__()
        self.typed_in = typed_in
        self.is_behind = is_behind
        """Whether it comes from where the focus was before, with the last of the keys that went there."""


class EnterPassed(Message):
    """Comes up to the app behind all that `enter` made a widget tell its screen."""


class InOrder(_Base):
    """Mixed into a widget for typing: takes keys one after the other.

    Textual inserts text at once, but performs what a key is bound to only when the key has come up to the app: of `a`,
    `backspace`, `b` that come together only the `a` would be left, and what follows `enter` would belong to the line.
    So bound keys act here at once, and what follows one waits until all have seen it; the app then calls `let_go`.
    """

    _waiting: list[events.Key] | None = None
    _ahead: tuple[events.Key, ...] = ()
    """Keys that went to where the focus was before, and wait like the others; they are older than those."""
    _under_way = 0
    """How many `KeyPassed` are still to come."""
    _is_behind = False
    """Whether one of them comes from where the focus was before."""
    _passed: events.Key | None = None
    cursor_blink: bool

    def on_mount(self) -> None:
        if self.app.animation_level == "none":
            self.cursor_blink = False

    @property
    def is_waiting(self) -> bool:
        """Whether a key is still on its way, and those that come now are kept."""
        return self._waiting is not None

    async def on_key(self, event: events.Key) -> None:
        """Act on a key; keep it where one before it is still on its way."""
        if self._waiting is not None:
            self._waiting.append(event)
        elif self._is_text(event):
            return
        else:
            self._waiting, self._passed = [], event
            if not await self._pass(event):
                return
        event.stop()
        event.prevent_default()

    def on_paste(self, event: events.Paste) -> None:
        """Keep from the app, which passes on what was pasted elsewhere, what was pasted here."""
        event.stop()

    async def take(self, event: events.Key) -> bool:
        """Act on a key that went to where the focus was before; False where it means nothing here."""
        if self._under_way > self._is_behind:
            self._ahead = (*self._ahead, event)
            return True
        if self._insert(event):
            return True
        self._waiting = self._waiting or []
        return await self._pass(event)

    async def _pass(self, event: events.Key) -> bool:
        """Do what a key is bound to here, and keep those that follow until all have seen it."""
        is_done = await self._perform(event.key)
        self._under_way += 1
        self.post_message(KeyPassed(self))
        return is_done

    def _is_text(self, event: events.Key) -> bool:
        """Tell whether a key is inserted as it is."""
        return event.is_printable

    async def _perform(self, key: str) -> bool:
        """Do what a key is bound to here; False where that is nothing."""
        for binding in bindings_of(self, key):
            if await self.app.run_action(binding.action, self):
                return True
        return False

    def wait_behind(self, before: "Widget | None") -> None:
        """Keep keys until those have come up to the app that `before`, which had the focus, has still to pass on."""
        if before is not None and before is not self:
            self._waiting, self._is_behind = [], True
            self._under_way += 1
            self.app.call_later(lambda: before.post_message(KeyPassed(self, is_behind=True)))

    def has_seen(self, event: events.Key) -> bool:
        """Tell whether a key that came up to the app was typed here, not where the focus was before."""
        return event is self._passed

    def passed(self, message: KeyPassed) -> None:
        """Hear that a key was seen by everybody; after the last one those go on that waited."""
        self._under_way = max(0, self._under_way - 1)
        self._is_behind = self._is_behind and not message.is_behind
        if not self._under_way:
            self.let_go()

    def let_go(self) -> None:
        """Take the letters that waited, and give the rest to whom it is for now."""
        waiting, self._waiting, self._ahead = [*self._ahead, *(self._waiting or [])], None, ()
        place = 0
        # At once, where they are for this one: by way of the app younger keys would overtake them.
        is_here = self.is_attached and self.screen.focused is self
        while is_here and place < len(waiting) and self._insert(waiting[place]):
            place += 1
        for event in waiting[place:]:
            self.app.post_message(events.Key(event.key, event.character))

    def _insert(self, event: events.Key) -> bool:
        """Insert a letter; False where that needs more than the letter."""
        return False

    def on_unmount(self) -> None:
        self._under_way, self._is_behind = 0, False
        self.let_go()


class TextLine(InOrder, Input):
    """A line for typing."""

    def _insert(self, event: events.Key) -> bool:
        if not event.is_printable or event.character is None:
            return False
        self.replace(event.character, *self.selection)
        return True

    @property
    def cursor_screen_offset(self) -> Offset:
        """Where the cursor is drawn: Textual counts a cell too many behind the last character."""
        offset = super().cursor_screen_offset
        return offset - (1, 0) if self.cursor_at_end else offset

    def render_line(self, y: int) -> Strip:
        return make_printable(super().render_line(y))


class TextBox(InOrder, TextArea):
    """Several lines for typing."""

    def _is_text(self, event: events.Key) -> bool:
        inserts = {"enter"} if self.tab_behavior == "focus" else {"enter", "tab", "escape"}
        return not self.read_only and (event.is_printable or event.key in inserts)

    def render_line(self, y: int) -> Strip:
        return make_printable(super().render_line(y))


def make_printable(strip: Strip) -> Strip:
    """Return a strip of the same width in which every character is drawn as what it is, or as a dot."""
    segments = [*strip]
    texts = [_printable(segment.text) for segment in segments]
    if all(text == segment.text for text, segment in zip(texts, segments, strict=True)):
        return strip
    printable_strip = Strip(
        segment if segment.control else Segment(text, segment.style)
        for text, segment in zip(texts, segments, strict=True)
    )
    # Signs that a joiner had made one are several now, and wider.
    return printable_strip.adjust_cell_length(strip.cell_length)


def _printable(text: str) -> str:
    """Return a text with as many dots in place of a character as Textual counts cells for it, which may be none."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(character if safe else HIDDEN * cell_len(character) for character, safe in literal(text))
