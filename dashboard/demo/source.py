"""Reading one file, and a batch of files, in a worker process.

Rule: a file is opened without blocking and without following links, because since it was listed it may have become a
pipe or a link out of the folder.
"""

import ast
import io
import os
import stat
import tokenize
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

MAX_FILE_BYTES = 5_000_000
"""Larger files are not listed, and refused here."""


class SourceRefused(Exception):
    """A file, relative to the audited folder, could not be read or understood; the reason is one line."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name, reason)
        self.name = name
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


def read_bytes(folder: str, name: str) -> bytes:
    """The content of a regular file below a folder; raises SourceRefused."""

    def opener(path: str, flags: int) -> int:
        return os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW)

    try:
        with open(Path(folder, name), "rb", opener=opener) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_FILE_BYTES:
                raise SourceRefused(name, f"no longer a regular file of at most {MAX_FILE_BYTES} bytes")
            return file.read(MAX_FILE_BYTES)
    except OSError as error:
        raise SourceRefused(name, error.strerror or str(error)) from error


def decode(name: str, data: bytes) -> tuple[str, str]:
    """Text and encoding as Python reads a file: UTF-8, or what is declared at the top; raises SourceRefused."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding), encoding
    except (SyntaxError, UnicodeError, LookupError) as error:
        raise SourceRefused(name, f"encoding: {error}") from error


def read_python(folder: str, name: str, *, encoding: str | None = None) -> ast.Module:
    """Parse one Python file, in its declared encoding if none is given; the reason of SourceRefused names the line."""
    data = read_bytes(folder, name)
    text = data.decode(encoding) if encoding else decode(name, data)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except SyntaxError as error:
            older = " (Python 2?)" if "print" in error.msg else ""
            raise SourceRefused(name, f"syntax error in line {error.lineno or 0}: {error.msg}{older}") from error


def over_files(value: dict[str, Any], examine: Callable[[str, str], dict[str, Any]]) -> dict[str, Any]:
    """Examine each file of a work item, `{"folder", "files": [...]}`.

    Returns `{"entries", "failures": [{"file", "error"}]}`, where each entry begins with its file; an item of which
    every file is refused fails as its first file does.
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
    return {"entries": entries, "failures": [{"file": error.name, "error": error.reason} for error in refused]}
