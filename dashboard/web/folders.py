"""The folders of tabs in the system's folder for temporary files: made, locked, and removed when no process locks them.

Rule: the lock on a folder says whether its server lives, because the system lets go of it when a process ends, however
it ends. A pid would say nothing in another container, or once it was given to another process.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

PREFIX = "quarterdeck-tab-"
HABITS = "habits.json"
"""What its browser keeps, in the folder of a tab; not there where it keeps nothing."""


def new_folder() -> tuple[Path, int]:
    """Return a folder that only this user may enter, and the descriptor that holds its lock until it is closed."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        with contextlib.suppress(FileNotFoundError):  # another server took it for left behind, before it was locked
            descriptor = _opened(folder)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if folder.is_dir():
                return folder, descriptor
            os.close(descriptor)


def remove_left_behind() -> None:
    """Remove the folders of this user's servers that were killed; what cannot be removed stays."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            descriptor = _opened(folder)
            try:
                if os.fstat(descriptor).st_uid == os.geteuid():
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(descriptor)


def _opened(folder: Path) -> int:
    """Open a folder, and nothing that a symbolic link leads to."""
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
