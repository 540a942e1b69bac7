"""Temporary folders of tabs: created, locked, and removed once no process holds their lock.

Rule: the lock on a folder shows whether its server is alive, because the system releases it whenever a process ends. A
pid would be meaningless in another container, or after it was reused.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

PREFIX = "quarterdeck-tab-"
HABITS = "habits.json"
"""The habits stored by the browser, in the folder of a tab; missing if the browser stores none."""


def new_folder() -> tuple[Path, int]:
    """Return a folder that only this user may enter, and the descriptor that holds its lock until it is closed."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        with contextlib.suppress(FileNotFoundError):  # another server removed it as abandoned before it was locked
            descriptor = _open_folder(folder)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if folder.is_dir():
                return folder, descriptor
            os.close(descriptor)


def remove_left_behind() -> None:
    """Remove abandoned folders of servers of this user that were killed, as far as they can be removed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            descriptor = _open_folder(folder)
            try:
                if os.fstat(descriptor).st_uid == os.geteuid():
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(descriptor)


def _open_folder(folder: Path) -> int:
    """Open a folder without following symbolic links."""
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
