"""Drives a coroutine of user code, and abandons it if it ignores cancellation.

Cancellation is thrown into a coroutine until it ends. One that swallows every throw would keep its task alive forever;
once it is abandoned, it is not resumed any more.
"""

import types
from collections.abc import Callable, Coroutine, Generator
from typing import Any, TypeVar

T = TypeVar("T")


@types.coroutine
def drive(coroutine: Coroutine[Any, Any, T], is_given_up: Callable[[], bool]) -> Generator[Any, Any, T]:
    """Run `coroutine` to its end; exceptions thrown after it was abandoned are raised here, not in it.

    Args:
        is_given_up: Checked whenever an exception is thrown into it.
    """
    error: BaseException | None = None
    value: Any = None
    while True:
        try:
            awaited = coroutine.send(value) if error is None else coroutine.throw(error)
        except StopIteration as end:
            result: T = end.value
            return result
        except GeneratorExit as raised:
            if isinstance(error, GeneratorExit):
                raise
            # Passed on, it would look as if this coroutine were being closed, and end the engine.
            raise RuntimeError("the code raised GeneratorExit") from raised
        try:
            value, error = (yield awaited), None
        except BaseException as thrown:  # handed on to the coroutine, whatever it is
            if is_given_up():
                _abandon(coroutine)
                raise
            value, error = None, thrown


def _abandon(coroutine: Coroutine[Any, Any, Any]) -> None:
    try:
        coroutine.close()
    except BaseException:  # it refuses to end, or fails in its clean-up; it is not driven again
        return
