"""One value, or one error, that one task waits for."""

from collections.abc import Callable
from typing import Generic, TypeVar

import anyio

T = TypeVar("T")


class Slot(Generic[T]):
    """Put once, by anybody in the loop; a second value is ignored.

    Args:
        on_done: Called when it is filled or given up, once.
    """

    __slots__ = ("_error", "_filled", "_on_done", "_value", "done")

    def __init__(self, on_done: Callable[[], None] | None = None) -> None:
        self._filled = anyio.Event()
        self._value: T | None = None
        self._error: BaseException | None = None
        self._on_done = on_done
        self.done = False
        """True once it is filled or given up."""

    def put(self, value: T) -> None:
        """Give the value to who waits."""
        if not self.done:
            self._value = value
            self._finish()
            self._filled.set()

    def fail(self, error: BaseException) -> None:
        """Raise `error` in who waits."""
        if not self.done:
            self._error = error
            self._finish()
            self._filled.set()

    async def wait(self) -> T:
        """Return the value, or raise the error; given up when cancelled."""
        try:
            await self._filled.wait()
        finally:
            if not self.done:
                self._finish()
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]  # None is a value of T where None was put

    def _finish(self) -> None:
        self.done = True
        if self._on_done is not None:
            self._on_done()
