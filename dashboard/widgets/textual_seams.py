"""What the dashboard uses of Textual that is private: the one file to read before Textual is updated.

Rule: no other file names a private attribute of Textual, or overrides one; a contract test checks it. Each seam says
what it replaces, why, and which issue of Textualize/textual would end it. Those of textual-serve, whose server does not
load Textual, are in `dashboard/web/serve_seams.py`.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from textual import events
from textual.app import App
from textual.binding import Binding
from textual.command import CommandPalette
from textual.css.query import NoMatches
from textual.driver import Driver
from textual.screen import Screen
from textual.widget import Widget
from textual.worker import WorkerFailed

if TYPE_CHECKING:
    from functools import partial

    from textual.drivers.web_driver import WebDriver
    from textual.widgets.markdown import MarkdownBlock


class DefectApp(App[int]):
    """An app that decides itself how a bug of its own is reported, and keeps quiet about those of its end.

    Why: `App` prints a traceback of pages for whatever its widgets raise, also for what misses its widgets because they
    are being removed. Upstream: #5325 "Exit without tracebacks" is open; #2818 asked for a hook and was closed.
    """

    @property
    def bug(self) -> BaseException | None:
        """The first bug that ended the app; None without one."""
        error = self._exception
        return error.error if isinstance(error, WorkerFailed) else error

    def report_bug(self) -> None:
        """End the app and print the traceback; override to print something else."""
        super()._fatal_error()

    def _handle_exception(self, error: Exception) -> None:
        """Pass over what misses its widgets at the end: Textual removes them before what opens or searches."""
        bug = error.error if isinstance(error, WorkerFailed) else error
        if not (self._exit and isinstance(bug, NoMatches)):
            super()._handle_exception(error)

    def _fatal_error(self) -> None:
        self.report_bug()


@contextmanager
def active_in_thread(app: App[Any]) -> Iterator[None]:
    """Make an app the active one of this thread.

    Why: what a thread makes may ask for its app; a copy of the whole context would tell anyio that a loop runs in this
    thread. Upstream: none found.
    """
    with app._context():
        yield


class QuietPalette(CommandPalette):
    """Textual's palette, without what fails where it is closed before it has opened or found anything.

    Why: it takes the screen below it when it mounts, and looks for its list when a search begins or ends, although a
    key that was on its way may have closed it. Upstream: none found; #5544 mended another crash of it.
    """

    def _on_mount(self, event: events.Mount) -> None:
        if self not in self.app.screen_stack:
            event.prevent_default()

    async def _watch__show_busy(self) -> None:
        with suppress(NoMatches):
            await super()._watch__show_busy()

    def _gather_commands(self, search_value: str) -> None:  # type: ignore[override]  # the worker is not used
        if self.app.screen_stack[-1:] == [self]:
            super()._gather_commands(search_value)


def paint_now(screen: Screen[Any], may_paint: Callable[[], bool]) -> bool:
    """Paint at once what has changed on a screen, if anything has and `may_paint`; return whether it was painted.

    Why: Textual paints by a timer of 60 Hz that ticks up to two of its periods after a frame. Without this the letter
    of a filter takes 26 ms at p95 and 1,000 events/s, with it 13. Upstream: none found; `TEXTUAL_FPS` (public) at 250
    does not help.
    """
    # Each widget would post a message first, which would split the effect of one key into two frames.
    changed = [widget for widget in screen._compositor.visible_widgets if widget._repaint_required]
    is_due = changed or screen._dirty_widgets or screen._layout_required or screen._scroll_required
    if not (is_due or screen._repaint_required) or not may_paint():
        return False
    for widget in changed:
        widget._repaint_required = False
    screen._dirty_widgets.update(changed)
    screen._on_timer_update()
    return True


def is_repaint_due(widget: Widget) -> bool:
    """Return whether a widget has asked to be painted again.

    Why: whether a redraw has changed anything decides how long a part of a screen rests. Upstream: none found.
    """
    return widget._repaint_required


def bindings_of(widget: Widget, key: str) -> Sequence[Binding]:
    """Return what a key is bound to at a widget itself, whether it has the focus or not.

    Why: Textual performs what is bound to a key only once the key has come up to the app, and text that was typed
    behind it overtakes it. Upstream: #6605, for which #6631 is open; it would end all of `InOrder`.
    """
    return widget._bindings.key_to_bindings.get(key, ())


def driver_of(app: App[Any]) -> Driver | None:
    """Return what an app draws by; None before it runs.

    Why: the page of a browser is told more than what is drawn. Upstream: none found.
    """
    return app._driver


def write_to_terminal(app: App[Any], text: str) -> None:
    """Write a control sequence to the terminal, in order with what is drawn; do nothing before the app runs.

    Why: the title of the window, and a notice that something needs a person. Upstream: #1782 for the title, open.
    """
    if app._driver is not None:
        app._driver.write(text)


def is_output_waiting(app: App[Any]) -> bool:
    """Return whether the terminal has not received all frames yet, as over a slow link.

    Why: Textual queues thirty writes, which would all be sent before the answer to the next key.
    Upstream: none found.
    """
    writer = getattr(app._driver, "_writer_thread", None)
    return writer is not None and not writer._queue.empty()


def write_packets_by(driver: "WebDriver", write: "partial[int]") -> None:
    """Let a driver write its packets by `write`, which returns how many bytes it wrote.

    Why: Textual writes each packet by one `os.write`, which a full pipe cuts, and from two threads. Upstream: none
    found.
    """
    driver._write = write


def blocks_in(block: "MarkdownBlock") -> "list[MarkdownBlock]":
    """Return the blocks that the parser has put into one of markdown, before they are composed; clear it to drop them.

    Why: Textual mounts a widget for each cell of a table, 290 ms for 40 rows; drawn by one widget it takes 40.
    Upstream: none found.
    """
    return block._blocks


def token_style(block: "MarkdownBlock") -> str:
    """Return the CSS that the parser gave the token of a block, such as `text-align:right` of a cell.

    Why and upstream: as of `blocks_in`.
    """
    return str(block._token.attrs.get("style", ""))
