"""Describes how a child process ended: its signal or exit status, and the last line of its standard error."""

import signal

from engine.runtimes.values import clean, without_secrets

TAIL_BYTES = 4_000


class StderrTail:
    """The end of a process's standard error."""

    def __init__(self) -> None:
        self._end = b""
        self.bytes_read = 0
        """Total number of bytes so far."""

    def add(self, chunk: bytes) -> None:
        """Add a chunk."""
        self._end = (self._end + chunk)[-TAIL_BYTES:]
        self.bytes_read += len(chunk)

    @property
    def line(self) -> str:
        """The last line that is not blank, without secrets of the environment; empty if there is none."""
        # Secrets are removed before the split: one of several lines would no longer be recognized.
        text = without_secrets(self._end.decode(errors="replace"), is_end=self.bytes_read > TAIL_BYTES)
        lines = clean(text).splitlines()
        return next((line.strip() for line in reversed(lines) if line.strip()), "")


def how_ended(code: int | None) -> str:
    """Describe how a process ended, by its exit status or the negative number of a signal; None if unknown."""
    if code is None:
        return "ended"
    return f"was killed by {signal_name(-code)}" if code < 0 else f"exited with {code}"


def signal_name(number: int) -> str:
    """Return the name of a signal."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
