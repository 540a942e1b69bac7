"""Reads and writes files for an agent, confined to its folder after resolving links; blocks."""

import os
import stat
from io import StringIO
from itertools import islice
from pathlib import Path

from engine.errors import EngineError

MAX_FILE_BYTES = 10_000_000


class OutOfBounds(EngineError):
    """An agent requested a file that it may not access."""


def inside(folder: Path, name: str) -> Path:
    """Return the absolute path of a file in `folder`, with links resolved.

    Raises:
        OutOfBounds: If it is outside of the folder.
    """
    try:
        path, top = (folder / name).resolve(), folder.resolve()
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a zero character
        raise OutOfBounds(f"{name!r:.200} leads nowhere") from error
    if not path.is_relative_to(top):
        raise OutOfBounds(f"{name!r:.200} is not in {top}")
    return path


def text_of(folder: Path, name: str, line: int | None, limit: int | None) -> str:
    """Return the text of a file, or some lines of it.

    Args:
        folder: The folder to which access is confined.
        name: Path of the file, absolute or relative to the folder.
        line: Number of the first line, from 1; None for the beginning.
        limit: Maximum number of lines; None for all.

    Raises:
        OutOfBounds: If it is not in the folder, no regular file, or too large.
    """
    path = inside(folder, name)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OutOfBounds(f"{path} is not a regular file")
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise OutOfBounds(f"{path} cannot be read ({error.strerror})") from error
    if len(content) > MAX_FILE_BYTES:
        raise OutOfBounds(f"{path} is larger than {MAX_FILE_BYTES:,} bytes")
    text = content.decode(errors="replace")
    if line is None and limit is None:
        return text
    first = max(0, (line or 1) - 1)
    return "".join(islice(StringIO(text, newline=""), first, None if limit is None else first + limit))


def write(folder: Path, name: str, content: str) -> None:
    """Write a text to a file; the file and its parent folders are created if missing.

    Raises:
        OutOfBounds: If it is not in the folder, or cannot be written.
    """
    path = inside(folder, name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(path, flags, 0o666), "w", encoding="utf-8", errors="replace", newline="") as file:
            file.write(content)
    except OSError as error:
        raise OutOfBounds(f"{path} cannot be written ({error.strerror})") from error
