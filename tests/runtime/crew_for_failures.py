"""Functions that fail in processes: a module that children can import."""

import os
import signal
from pathlib import Path


class Busy(OSError):
    """Says when to come back."""

    retryable = True
    retry_after = 2.5


def dies_once(mark: str) -> str:
    """Be killed the first time."""
    if not Path(mark).exists():
        Path(mark).write_text("was here", encoding="utf-8")
        os.kill(os.getpid(), signal.SIGKILL)
    return "alive"


def later(text: str) -> str:
    raise Busy("busy")
