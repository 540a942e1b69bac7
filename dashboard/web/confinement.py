"""What the process of a tab may not do, whatever it is told: programs, the network, files, and a viewer's inbox.

Rule: an audit hook cannot be taken off again. It is a second line behind the screens, which offer none of this, and
contains bugs in our Python code; it is not a sandbox against native code.
"""

import os
import sys
from pathlib import Path
from urllib.parse import unquote

PROGRAMS = frozenset(
    {
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.posix_spawn",
        "os.spawn",
        "os.startfile",
        "os.system",
        "pty.spawn",
        "subprocess.Popen",
    }
)
NETWORK = frozenset({"socket.bind", "socket.connect", "socket.sendto", "socket.getaddrinfo"})
CHANGES = frozenset(
    {
        "os.chmod",
        "os.chown",
        "os.link",
        "os.mkdir",
        "os.remove",
        "os.rename",
        "os.rmdir",
        "os.symlink",
        "os.truncate",
        "os.utime",
    }
)
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
INBOX = "-inbox"
READERS = ([sys.executable, "-P", "-m", "engine.archive.child"], ["ps", "-o", "rss=", "-p"])
"""What may be started all the same: the process in which an archive is read, and what says how large that is."""


class Confined(PermissionError):
    """The process of a tab tried what it may not do."""


def confine(folder: Path, *, viewer: bool) -> None:
    """Confine this process for the rest of its life.

    Args:
        folder: The only place where it may write files.
        viewer: Whether the inbox is closed to it too.
    """
    own = os.path.realpath(folder)

    def is_own(path: object) -> bool:
        if isinstance(path, int) or path == os.devnull:
            return True
        name = os.path.realpath(os.fsdecode(path))  # type: ignore[arg-type]
        return name == own or name.startswith(own + os.sep)

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open":
            path, mode, flags = arguments
            writes = set(mode) & set("wax+") if isinstance(mode, str) else isinstance(flags, int) and flags & _WRITING
            if writes and not is_own(path):
                raise Confined(f"a tab of the web dashboard may not write {path}")
        elif (event in PROGRAMS and not _is_reader(event, arguments)) or event in NETWORK:
            raise Confined(f"a tab of the web dashboard may not use {event}")
        elif event in CHANGES:
            if not all(is_own(path) for path in arguments if isinstance(path, str | bytes | os.PathLike)):
                raise Confined(f"a tab of the web dashboard may not use {event}")
        elif viewer and event == "sqlite3.connect" and _is_inbox(arguments[0]):
            raise Confined("a viewer has no inbox")

    sys.addaudithook(hook)


def _is_reader(event: str, arguments: tuple[object, ...]) -> bool:
    if event != "subprocess.Popen" or not isinstance(arguments[1], list):
        return False
    return any(arguments[1][: len(reader)] == reader for reader in READERS)


def _is_inbox(database: object) -> bool:
    """Return whether SQLite would open an inbox, under its path or a URI of it."""
    if not isinstance(database, str | bytes | os.PathLike):
        return True
    return unquote(os.fsdecode(database)).partition("?")[0].endswith(INBOX)
