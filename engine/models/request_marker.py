"""Marks in shared memory which request the provider process is working on, readable after it has died.

If the process hangs or is killed, only that request is blamed; the others are sent again.
"""

import mmap
from collections.abc import Awaitable, Generator
from typing import Any, Generic, TypeVar

T = TypeVar("T")
BYTES = 8
"""Size of the shared memory."""


class CurrentRequest:
    """The id of a request, in memory that two processes share.

    Args:
        descriptor: Descriptor of a file of `BYTES`; -1 for private memory.
    """

    def __init__(self, descriptor: int) -> None:
        self._memory = mmap.mmap(descriptor, BYTES)

    @property
    def id(self) -> int:
        """Id of the present request; 0 if there is none."""
        return int.from_bytes(self._memory[:], "big")

    @id.setter
    def id(self, id: int) -> None:
        self._memory[:] = id.to_bytes(BYTES, "big")


class RequestMarker(Generic[T]):
    """Awaits `work`, and marks a request during each of its steps between two waits."""

    def __init__(self, current_request: CurrentRequest, id: int, work: Awaitable[T]) -> None:
        self._current_request = current_request
        self._id = id
        self._work = work

    def __await__(self) -> Generator[Any, Any, T]:
        steps = self._work.__await__()
        error: BaseException | None = None
        while True:
            self._current_request.id = self._id
            try:
                waited = next(steps) if error is None else steps.throw(error)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            finally:
                self._current_request.id = 0
            error = None
            try:
                yield waited
            except BaseException as thrown:  # such as a cancellation: passed on to `work`
                error = thrown
