"""The line where a person types: a command after `:`, or a filter after `/`."""

from collections.abc import Callable
from functools import partial
from typing import Literal

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.geometry import Size
from textual.message import Message
from textual.reactive import Reactive
from textual.suggester import Suggester
from textual.widgets import Input, Static

from dashboard.widgets.typing import LineInput

Purpose = Literal["command", "filter"]
_MARKS: dict[Purpose, str] = {"command": ":", "filter": "/"}


class _Completing(Suggester):
    def __init__(self, complete: Callable[[str], list[str]]) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._complete = complete

    async def get_suggestion(self, value: str) -> str | None:
        return self.first(value)

    def first(self, value: str) -> str | None:
        """Return the likeliest complete line."""
        return next(iter(self._complete(value)), None)


class _Line(LineInput):
    virtual_size = Reactive(Size(0, 0))
    """Without `layout=True`: the line is as wide as the screen, so no key needs a layout of the screen."""
    BINDINGS = [
        Binding("tab", "accept", "complete", show=False),
        Binding("escape", "leave", "leave", show=False),
        Binding("up", "recall(-1)", "before", show=False),
        Binding("down", "recall(1)", "after", show=False),
    ]

    def __init__(self, changed: Callable[[str], None]) -> None:
        super().__init__(id="line", select_on_focus=False)
        self._changed = changed

    def watch_value(self, value: str) -> None:
        """Call back at once; a message would arrive after the frame that shows the key."""
        self._changed(value)

    def action_accept(self) -> None:
        """Accept the suggestion, even if it has not been shown yet: tab may follow a letter immediately."""
        whole = self.suggester.first(self.value) if isinstance(self.suggester, _Completing) else None
        if whole is not None:
            self.value = whole
        self.action_end()

    def action_leave(self) -> None:
        self.post_message(Prompt.Left())

    def action_recall(self, by: int) -> None:
        self.post_message(Prompt.Recalled(by))


class Prompt(Horizontal):
    """Ask for one line; call `typed` while it changes, post `Given` at enter, `Left` at escape."""

    DEFAULT_CSS = """
    Prompt {
        height: 1;
        display: none;
        background: $panel;
        &.-open { display: block; }
        & > #mark { width: 2; padding-left: 1; color: $accent; text-style: bold; }
        & > Input { border: none; height: 1; padding: 0; background: $panel; width: 1fr; }
        & > Input:focus { border: none; }
    }
    """

    class Given(Message):
        """The line was finished with enter."""

        def __init__(self, purpose: Purpose, text: str) -> None:
            super().__init__()
            self.purpose = purpose
            self.text = text

    class Left(Message):
        """Escape was pressed."""

    class Recalled(Message):
        """An earlier or later line of the history was requested."""

        def __init__(self, by: int) -> None:
            super().__init__()
            self.by = by

    def __init__(self, complete: Callable[[Purpose, str], list[str]], typed: Callable[[Purpose, str], None]) -> None:
        """Complete lines by `complete`; call `typed` synchronously, so that a key and its effect are one frame."""
        super().__init__(id="prompt")
        self._complete, self._typed = complete, typed
        self._history: list[str] = []
        self._place = 0
        self.purpose: Purpose = "command"

    def compose(self) -> ComposeResult:
        yield Static("", id="mark", markup=False)
        yield _Line(self._report_text)

    def open(self, purpose: Purpose, text: str = "") -> None:
        """Ask for a line that begins with `text`."""
        self.purpose = purpose
        self._place = len(self._history)
        self.query_one("#mark", Static).update(_MARKS[purpose])
        line = self.query_one(_Line)
        line.suggester = _Completing(partial(self._complete, purpose))
        line.value = text
        line.cursor_position = len(text)
        self.add_class("-open")
        self.screen.add_class("-asking")
        before = self.screen.focused
        self.screen.set_focus(line)  # at once: more keys may be waiting in the queue
        line.wait_behind(before)

    def close(self) -> None:
        self.remove_class("-open")
        self.screen.remove_class("-asking")

    def after_key(self, do: Callable[[], None]) -> None:
        """Call `do` as soon as the current key has been inserted into the line."""
        self.query_one(_Line).call_next(do)

    @property
    def text(self) -> str:
        return self.query_one(_Line).value

    @property
    def is_open(self) -> bool:
        return self.has_class("-open")

    def _report_text(self, text: str) -> None:
        if self.is_open:
            self._typed(self.purpose, text)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if self.purpose == "command" and event.value.strip():
            self._history.append(event.value)
        self.screen.post_message(self.Given(self.purpose, event.value))  # before keys typed after enter

    def on_prompt_recalled(self, event: Recalled) -> None:
        event.stop()
        if self.purpose != "command" or not self._history:
            return
        self._place = max(0, min(len(self._history), self._place + event.by))
        line = self.query_one(_Line)
        line.value = self._history[self._place] if self._place < len(self._history) else ""
        line.cursor_position = len(line.value)

    def on_descendant_blur(self, event: events.DescendantBlur) -> None:
        """A click elsewhere leaves the line."""
        if self.is_open and self.app.focused is not None:
            self.post_message(self.Left())
