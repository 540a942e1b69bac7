"""Runs blocking work, such as reads of the team's file, in threads."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from textual.app import App

from dashboard.deck.messages import Messages
from dashboard.reading.feed import Feed
from dashboard.widgets.textual_seams import active_in_thread
from engine.core.errors import CoreError
from engine.core.state import State
from engine.reading.folding import fold_from
from store import Reader, StoreError

T = TypeVar("T")


def do_nothing() -> None:
    """Do nothing."""


class Background:
    """Threads of an app, which read the file of its team or do other blocking work."""

    def __init__(self, app: App[Any], path: Path, feed: Feed, messages: Messages) -> None:
        self._app, self._path, self._feed, self._messages = app, path, feed, messages

    def read(
        self, work: Callable[[Reader], T], receive: Callable[[T], None], *, on_failure: Callable[[], None] = do_nothing
    ) -> None:
        """Read the file in a thread, then call `receive` with the result; if it cannot be read, call `on_failure`."""

        def reading() -> T:
            with Reader(self._path) as reader:
                self._feed.check_same_file()
                return work(reader)

        # The banner shows the feed's trouble; pages that read again need not repeat it.
        self.run_in_thread(
            reading,
            receive,
            (StoreError, CoreError),
            on_failure=on_failure,
            is_said=lambda: self._feed.trouble is not None,
        )

    def read_state(
        self, seq: int, receive: Callable[[State], None], *, on_failure: Callable[[], None] = do_nothing
    ) -> None:
        """Fold the state after an event in a thread; otherwise as `read`."""
        self.read(lambda reader: fold_from(reader, seq), receive, on_failure=on_failure)

    def run_in_thread(
        self,
        work: Callable[[], T],
        receive: Callable[[T], None],
        errors: tuple[type[Exception], ...],
        prefix: str = "",
        *,
        on_failure: Callable[[], None] = do_nothing,
        is_said: Callable[[], bool] = lambda: False,
    ) -> None:
        """Run `work` in a thread, then call `receive` with its result in the drawing thread.

        Args:
            errors: Exceptions that are shown as a message; then `on_failure` is called.
            prefix: Start of the message.
            on_failure: Called after an error, in a thread-safe way.
            is_said: Whether the error is visible already, so that no message is needed.
        """

        def work_in_thread() -> None:
            try:
                with active_in_thread(self._app):  # a page that was closed meanwhile would not know its app
                    result = work()
            except errors as error:
                if not is_said():
                    self._app.call_from_thread(self._messages.say, f"{prefix}{error}", "error")
                self._app.call_from_thread(on_failure)
            else:
                self._app.call_from_thread(receive, result)

        self._app.run_worker(work_in_thread, thread=True, exit_on_error=True)
