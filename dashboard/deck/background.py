"""Work in threads: reading the file of the team, and whatever else would hold the screen up."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from dashboard.deck.messages import Messages
from dashboard.reading.feed import Feed
from engine.core.errors import CoreError
from engine.core.state import State
from store import Reader, StoreError

T = TypeVar("T")


def do_nothing() -> None:
    """Do nothing."""


class BackgroundReading(Messages):
    """An app that reads its file in threads."""

    def __init__(self, db: Path, feed: Feed, clock: Callable[[], int]) -> None:
        super().__init__(clock)
        self.path, self.feed = db, feed

    def read(
        self, work: Callable[[Reader], T], receive: Callable[[T], None], *, failed: Callable[[], None] = do_nothing
    ) -> None:
        """Read the file in a thread, then go on here with what was found; if it cannot be read, call `failed`."""

        def reading() -> T:
            with Reader(self.path) as reader:
                self.feed.check_same_file()
                return work(reader)

        # What the feed has said stands in the banner: pages that read again need not repeat it.
        self.run_in_thread(
            reading, receive, (StoreError, CoreError), failed=failed, is_said=lambda: self.feed.trouble is not None
        )

    def read_state(
        self, seq: int, receive: Callable[[State], None], *, failed: Callable[[], None] = do_nothing
    ) -> None:
        """Fold the team as it was after an event, as `read` reads."""
        from engine.reading.folding import fold_from  # only who looks back needs it

        self.read(lambda reader: fold_from(reader, seq), receive, failed=failed)

    def run_in_thread(
        self,
        work: Callable[[], T],
        receive: Callable[[T], None],
        errors: tuple[type[Exception], ...],
        prefix: str = "",
        *,
        failed: Callable[[], None] = do_nothing,
        is_said: Callable[[], bool] = lambda: False,
    ) -> None:
        """Work in a thread, then go on here; an error is a line that begins with `prefix`, unless it `is_said` already.

        `failed` is called in either case.
        """

        def work_in_thread() -> None:
            try:
                with self._context():  # else a page that was left meanwhile would not know its app
                    result = work()
            except errors as error:
                if not is_said():
                    self.call_from_thread(self.say, f"{prefix}{error}", "error")
                self.call_from_thread(failed)
            else:
                self.call_from_thread(receive, result)

        self.run_worker(work_in_thread, thread=True, exit_on_error=True)
