"""A future for one waiter: a value or an error, set once."""

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Pending(Generic[T]):
    """Set once, by any task of the loop; a second value is ignored.

    Args:
        on_done: Called once, when it is set or given up.
    """

    __slots__ = ("_future", "_on_done", "done")

    def __init__(self, on_done: Callable[[], None] | None = None) -> None:
        self._future: asyncio.Future[tuple[T | None, BaseException | None]] = asyncio.get_running_loop().create_future()
        self._on_done = on_done
        self.done = False
        """True once it is set or given up."""

    def put(self, value: T) -> None:
        """Set the value."""
        self._fill(value, None)

    def fail(self, error: BaseException) -> None:
        """Set the error."""
        self._fill(None, error)

    async def wait(self) -> T:
        """Return the value or raise the error; cancelling the wait gives it up."""
        try:
            value, error = await self._future
        finally:
            self._finish()
        if error is not None:
            raise error
        return value  # type: ignore[return-value]  # None is a value of T where None was put

    def close(self) -> None:
        """Give it up if `wait` was never called."""
        self._finish()

    def _fill(self, value: T | None, error: BaseException | None) -> None:
        if not self.done:
            self._finish()
            if not self._future.done():  # cancelled: the waiter notices only in a later iteration of the loop
                self._future.set_result((value, error))

    def _finish(self) -> None:
        if not self.done:
            self.done = True
            if self._on_done is not None:
                self._on_done()
