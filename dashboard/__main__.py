"""The program: `quarterdeck`, and `python -P -m dashboard` for processes that the dashboard starts itself.

Rule: Ctrl-C is handled from here on. Before the command line is loaded, and once it has ended, there is nothing to
clean up: it ends the process at once.
"""

import gc
import os
import signal
import sys

_INTERRUPTED = 130


def main() -> int:
    """Run the command line of this process, and return its exit status."""
    gc.set_threshold(250_000)  # what is imported stays: even one look through it takes 20 ms of a start
    raises = signal.getsignal(signal.SIGINT)
    if raises is not signal.default_int_handler:  # a shell has it ignored in a job behind &
        from dashboard.cli import main as commands

        return commands()
    try:
        signal.signal(signal.SIGINT, _leave)
        from dashboard.cli import main as commands

        try:
            signal.signal(signal.SIGINT, raises)
            return commands()
        finally:
            signal.signal(signal.SIGINT, _leave)
    except KeyboardInterrupt:  # just before the command line would have caught it, or just after
        return _INTERRUPTED


def _leave(_number: int, _frame: object) -> None:
    os._exit(_INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())
