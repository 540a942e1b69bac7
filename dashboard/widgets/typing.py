"""Input lines and text areas that show only printable text, whatever was pasted into them.

Rule: their values stay unchanged (joiners belong to some languages); only what is drawn is replaced, cell by cell.
Rule: keys act in the order of their arrival, even if many arrive at once, as over a slow link.
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
    """A key that is not text has bubbled from where it was typed up to the app."""

    def __init__(self, typed_in: "InOrder", *, is_behind: bool = False) -> None:
        super().__init__()
        self.typed_in = typed_in
        self.is_behind = is_behind
        """Whether it was posted by the widget that had the focus before, behind the last key sent there."""


class EnterPassed(Message):
    """Reaches the app behind all messages that `enter` made a widget post to its screen."""


class InOrder(_Base):
    """Mixed into a widget for typing: handles keys one at a time.

    Textual inserts text at once, but runs the action of a bound key only when the key has bubbled up to the app: `a`,
    `backspace`, `b` in one burst would leave `a`, and text after `enter` would go into the line. So bound keys act here
    at once, and later keys wait until the bound one has bubbled up; the app then calls `let_go`.
    """

    _waiting: list[events.Key] | None = None
    _ahead: tuple[events.Key, ...] = ()
    """Waiting keys that were sent to the widget that had the focus before; older than `_waiting`."""
    _under_way = 0
    """Number of `KeyPassed` that have not arrived yet."""
    _is_behind = False
    """Whether one of them was posted by the widget that had the focus before."""
    _passed: events.Key | None = None
    cursor_blink: bool

    def on_mount(self) -> None:
        if self.app.animation_level == "none":
            self.cursor_blink = False

    @property
    def is_waiting(self) -> bool:
        """Whether a key is still bubbling, so that new keys wait."""
        return self._waiting is not None

    async def on_key(self, event: events.Key) -> None:
        """Handle a key; let it wait while an earlier one is still bubbling."""
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
        """Stop bubbling: the app forwards pastes that were made elsewhere."""
        event.stop()

    async def take(self, event: events.Key) -> bool:
        """Handle a key that was sent to the previous focus; return False if it has no effect here."""
        if self._under_way > self._is_behind:
            self._ahead = (*self._ahead, event)
            return True
        if self._insert(event):
            return True
        self._waiting = self._waiting or []
        return await self._pass(event)

    async def _pass(self, event: events.Key) -> bool:
        """Run the action of a key, and let later keys wait until it has bubbled up."""
        is_done = await self._perform(event.key)
        self._under_way += 1
        self.post_message(KeyPassed(self))
        return is_done

    def _is_text(self, event: events.Key) -> bool:
        return event.is_printable

    async def _perform(self, key: str) -> bool:
        """Run the action that a key is bound to here; return False if there is none."""
        for binding in bindings_of(self, key):
            if await self.app.run_action(binding.action, self):
                return True
        return False

    def wait_behind(self, before: "Widget | None") -> None:
        """Let keys wait until those that are still at `before`, the previous focus, have bubbled up to the app."""
        if before is not None and before is not self:
            self._waiting, self._is_behind = [], True
            self._under_way += 1
            self.app.call_later(lambda: before.post_message(KeyPassed(self, is_behind=True)))

    def has_seen(self, event: events.Key) -> bool:
        """Return whether a key that reached the app was typed here, not at the previous focus."""
        return event is self._passed

    def note_passed(self, message: KeyPassed) -> None:
        """Note that a key has bubbled up; after the last one, release the waiting keys."""
        self._under_way = max(0, self._under_way - 1)
        self._is_behind = self._is_behind and not message.is_behind
        if not self._under_way:
            self.let_go()

    def let_go(self) -> None:
        """Insert the waiting letters, and post the other waiting keys to the app."""
        waiting, self._waiting, self._ahead = [*self._ahead, *(self._waiting or [])], None, ()
        place = 0
        # At once while it has the focus: through the app, newer keys would overtake them.
        is_here = self.is_attached and self.screen.focused is self
        while is_here and place < len(waiting) and self._insert(waiting[place]):
            place += 1
        for event in waiting[place:]:
            self.app.post_message(events.Key(event.key, event.character))

    def _insert(self, event: events.Key) -> bool:
        """Insert a letter; return False if the key is no letter."""
        return False

    def on_unmount(self) -> None:
        self._under_way, self._is_behind = 0, False
        self.let_go()


class LineInput(InOrder, Input):
    """A line for typing."""

    def _insert(self, event: events.Key) -> bool:
        if not event.is_printable or event.character is None:
            return False
        self.replace(event.character, *self.selection)
        return True

    @property
    def cursor_screen_offset(self) -> Offset:
        """Position of the cursor: Textual is off by one cell behind the last character."""
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
    # Characters that a joiner had combined are separate now, and wider.
    return printable_strip.adjust_cell_length(strip.cell_length)


def _printable(text: str) -> str:
    """Return a text with as many dots in place of a character as Textual counts cells for it, which may be none."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(character if safe else HIDDEN * cell_len(character) for character, safe in literal(text))
