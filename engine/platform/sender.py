"""The sender of a command, as recorded in the journal: user, computer, process and program.

It is for the audit and not verified: file modes decide who may send commands.
"""

import os
import pwd
import sys
from functools import cache
from pathlib import Path

from engine.runtimes.values import clean


def sender_of(program: str | None = None) -> str:
    """Return this process as a sender, such as `ann@box:4711 quarterdeck swap`; by default its Python program."""
    python = f"python {Path(sys.argv[0]).name if sys.argv else ''}".rstrip()
    return clean(f"{_account()}:{os.getpid()} {program or python}")


@cache
def _account() -> str:
    try:
        user = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # in containers a process may run as a user that has no name
        user = str(os.getuid())
    return f"{user}@{os.uname().nodename}"
