"""Ctrl-C can interrupt Python between any two instructions; errors that follow from it are not reported as bugs.

Rule: an error caused by a KeyboardInterrupt counts as that KeyboardInterrupt. A half-acquired lock raises `release
unlocked lock`, a half-created class `Error calling __set_name__`.
"""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_interrupt() -> Iterator[None]:
    """Turn errors inside the block that were caused by a KeyboardInterrupt into that KeyboardInterrupt."""
    try:
        yield
    except Exception as error:
        if _led_to(error):
            raise KeyboardInterrupt from error
        raise


def _led_to(error: BaseException) -> bool:
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, KeyboardInterrupt):
            return True
        found = found.__cause__ or found.__context__
    return False
