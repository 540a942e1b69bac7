"""Which request the process of litellm works at: it writes that into shared memory, where it is read after its end too.

A process that had to be ended, or was by the system, ended because of one request; the others are sent again.
"""

import mmap
from collections.abc import Awaitable, Generator
from typing import Any, Generic, TypeVar

T = TypeVar("T")
BYTES = 8


class AtWork:
    """The number of a request, or 0, in memory that two processes share.

    Args:
        descriptor: Of a file of `BYTES`; -1 shares with nobody.
    """

    def __init__(self, descriptor: int) -> None:
        self._memory = mmap.mmap(descriptor, BYTES)

    @property
    def id(self) -> int:
        """The request; 0 means none."""
        return int.from_bytes(self._memory[:], "big")

    @id.setter
    def id(self, id: int) -> None:
        self._memory[:] = id.to_bytes(BYTES, "big")


class RequestMarker(Generic[T]):
    """Awaits something, and writes down a request during each step of that between two waits."""

    def __init__(self, at_work: AtWork, id: int, work: Awaitable[T]) -> None:
        self._at_work = at_work
        self._id = id
        self._work = work

    def __await__(self) -> Generator[Any, Any, T]:
        steps = self._work.__await__()
        error: BaseException | None = None
        while True:
            self._at_work.id = self._id
            try:
                waited = next(steps) if error is None else steps.throw(error)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            finally:
                self._at_work.id = 0
            error = None
            try:
                yield waited
            except BaseException as thrown:  # The wait was cancelled: that is for what waits.
                error = thrown
