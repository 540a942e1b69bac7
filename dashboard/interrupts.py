"""Ctrl-C can interrupt Python between any two instructions; errors that follow from it are not reported as bugs.

Rule: an error caused by a KeyboardInterrupt counts as that KeyboardInterrupt. A half-acquired lock raises `release
unlocked lock`, a half-created class `Error calling __set_name__`. Libraries in C can even drop it: msgspec does where
it looks up the hash of a type for which it makes a decoder. Therefore code that waits remembers a KeyboardInterrupt
until it has come out.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_interrupt() -> Iterator[None]:
    """Turn errors inside the block that were caused by a KeyboardInterrupt into that KeyboardInterrupt."""
    try:
        yield
    except Exception as error:
        if _is_caused_by_interrupt(error):
            raise KeyboardInterrupt from error
        raise


@contextmanager
def no_interrupt_lost() -> Iterator[None]:
    """As `one_interrupt`; one that is dropped inside the block is raised again, at its end at the latest.

    The block must not run an event loop: asyncio ends its tasks in order only while Python's own handler is in place.
    """
    replaces = _is_main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if replaces:
        signal.signal(signal.SIGINT, _RaiseRecorder())
    try:
        with one_interrupt():
            reraise_dropped_interrupt()
            yield
            reraise_dropped_interrupt()
    except KeyboardInterrupt:
        _forget()
        raise
    except Exception as error:
        if _forget():
            raise KeyboardInterrupt from error
        raise
    finally:
        if replaces:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def reraise_dropped_interrupt() -> None:
    """Raise a KeyboardInterrupt that has not come out of the surrounding `no_interrupt_lost`, in the main thread."""
    if _forget():
        raise KeyboardInterrupt


class Stop(threading.Event):
    """An event that ends a loop; each look at it raises a dropped KeyboardInterrupt again."""

    def is_set(self) -> bool:
        """Return whether the loop shall end."""
        reraise_dropped_interrupt()
        return super().is_set()


class _RaiseRecorder:
    """Handler of SIGINT: raises KeyboardInterrupt, as Python's own does, and remembers that it did."""

    has_raised = False

    def __call__(self, _number: int, _frame: object) -> None:
        self.has_raised = True
        raise KeyboardInterrupt


def _forget() -> bool:
    """Forget the KeyboardInterrupt that was raised; return whether there was one."""
    handler = signal.getsignal(signal.SIGINT)
    if not isinstance(handler, _RaiseRecorder) or not handler.has_raised or not _is_main_thread():
        return False
    handler.has_raised = False
    return True


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _is_caused_by_interrupt(error: BaseException) -> bool:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, KeyboardInterrupt):
            return True
        cause = cause.__cause__ or cause.__context__
    return False
