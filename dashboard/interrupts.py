"""Ctrl-C, which Python raises between any two instructions: what it breaks there is told from a defect.

One rule holds inside: an error that a KeyboardInterrupt led to is that KeyboardInterrupt. A lock that was half taken
says `release unlocked lock`, a class that was half made says `Error calling __set_name__`.
"""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_interrupt() -> Iterator[None]:
    """Raise KeyboardInterrupt in place of each error inside that it led to."""
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
