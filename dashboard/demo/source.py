"""Reading one file, and a batch of files, in a worker process.

Rule: only a regular file of a bounded size is opened: since it was listed it may have grown, or become a pipe or a link
out of the folder.
"""

import ast
import errno
import io
import os
import stat
import tokenize
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

MAX_FILE_BYTES = 5_000_000
"""Larger files are skipped."""
_NOT_REGULAR = f"no longer a regular file of at most {MAX_FILE_BYTES:,} bytes"


class SourceRefused(Exception):
    """A file, relative to the audited folder, could not be read or understood; the reason is one line."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name, reason)
        self.name, self.reason = name, reason

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


def _open_plainly(path: str, flags: int) -> int:
    """Open a file without following a link, and without waiting for the other end of a pipe."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def read_bytes(folder: str, name: str) -> bytes:
    """The content of a regular file below a folder; raises SourceRefused."""
    path = Path(folder, name)
    try:
        with open(path, "rb", opener=_open_plainly) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_FILE_BYTES:
                raise SourceRefused(name, _NOT_REGULAR)
            return file.read()
    except OSError as error:
        reason = _NOT_REGULAR if error.errno == errno.ELOOP else error.strerror or str(error)
        raise SourceRefused(name, reason) from error


def encoding_of(name: str, data: bytes) -> str:
    """The encoding in which Python reads a file: UTF-8, or what is declared at the top; raises SourceRefused."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        data.decode(encoding)
    except (SyntaxError, UnicodeError, LookupError) as error:
        raise SourceRefused(name, f"encoding: {error}") from error
    return encoding


def read_python(folder: str, name: str, *, encoding: str | None = None) -> ast.Module:
    """Parse one Python file, in its declared encoding if none is given; the reason of SourceRefused names the line."""
    data = read_bytes(folder, name)
    text = data.decode(encoding or encoding_of(name, data))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except SyntaxError as error:
            older = " (Python 2?)" if "print" in error.msg else ""
            raise SourceRefused(name, f"syntax error in line {error.lineno or 0}: {error.msg}{older}") from error


def over_files(value: dict[str, Any], examine: Callable[[str, str], dict[str, Any]]) -> dict[str, Any]:
    """Examine each file of a work item, `{"folder", "files": [...]}`.

    Returns `{"entries", "failures": [{"file", "error"}], "read": {"at"}}`, where each entry begins with its file and
    `at` is the time in ISO format; an item of which every file is refused fails as its first file does.
    """
    entries: list[dict[str, Any]] = []
    refused: list[SourceRefused] = []
    for name in value["files"]:
        try:
            entries.append({"file": name} | examine(value["folder"], name))
        except SourceRefused as error:
            refused.append(error)
        except (RecursionError, MemoryError) as error:
            refused.append(SourceRefused(name, f"nested too deeply ({type(error).__name__})"))
        except ValueError as error:  # such as null bytes, or a number too long to be written
            refused.append(SourceRefused(name, f"not understood: {error}"))
    if refused and not entries:
        raise refused[0]
    failures = [{"file": error.name, "error": error.reason} for error in refused]
    at = datetime.now(UTC).isoformat(timespec="seconds")  # not a plain field, which panes would show first
    return {"entries": entries, "failures": failures, "read": {"at": at}}
