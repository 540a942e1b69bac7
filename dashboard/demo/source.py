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
from typing import Any, NamedTuple

MAX_FILE_BYTES = 5_000_000
"""Larger files are not listed, and refused here."""
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW


class SourceRefused(Exception):
    """A file, relative to the audited folder, could not be read or understood; the reason is one line."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name}: {reason}")
        self.name = name
        self.reason = reason

    def __reduce__(self) -> tuple[type["SourceRefused"], tuple[str, str]]:
        """Cross a process boundary whole; the default would pass the joined message as the name."""
        return SourceRefused, (self.name, self.reason)


class PythonSource(NamedTuple):
    """A parsed Python file."""

    name: str
    tree: ast.Module
    guessed: bool
    """The declared encoding did not fit and Latin-1 was taken instead."""


def read_bytes(folder: str, name: str) -> bytes:
    """The content of a regular file below a folder; raises SourceRefused."""
    try:
        descriptor = os.open(Path(folder, name), _FLAGS)
    except OSError as error:
        raise SourceRefused(name, error.strerror or str(error)) from error
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise SourceRefused(name, "no longer a regular file")
        if status.st_size > MAX_FILE_BYTES:
            raise SourceRefused(name, f"larger than {MAX_FILE_BYTES} bytes")
        return file.read(MAX_FILE_BYTES)


def decode_python(name: str, data: bytes, *, guess: bool) -> tuple[str, str, bool]:
    """Text, encoding and whether the encoding was guessed.

    Where the declared encoding (or UTF-8) does not fit, Latin-1 is taken if `guess` says so; else it is refused.
    """
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding), encoding, False
    except (SyntaxError, UnicodeError, LookupError) as error:
        if guess:
            return data.decode("latin-1"), "latin-1", True
        raise SourceRefused(name, f"encoding: {error}") from error


def read_python(folder: str, name: str, *, guess: bool = True) -> PythonSource:
    """Read and parse one Python file; the reason of SourceRefused names the line."""
    text, _, guessed = decode_python(name, read_bytes(folder, name), guess=guess)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(text.replace("\r\n", "\n").replace("\r", "\n"))
        except SyntaxError as error:
            older = any(word in error.msg for word in ("print", "exec", "multiple exception"))
            reason = f"syntax error in line {error.lineno or 0}: {error.msg}{' (Python 2?)' if older else ''}"
            raise SourceRefused(name, reason) from error
        except ValueError as error:
            raise SourceRefused(name, f"not Python: {error}") from error
        except (RecursionError, MemoryError) as error:
            raise SourceRefused(name, f"nested too deeply for the parser ({type(error).__name__})") from error
    return PythonSource(name, tree, guessed)


def over_files(value: dict[str, Any], examine: Callable[[str, str], dict[str, Any]]) -> dict[str, Any]:
    """Examine each file of a work item, `{"folder", "files": [...]}`.

    Returns `{"entries", "failures": [{"file", "error"}]}`; an item of which every file is refused fails as its first
    file does.
    """
    entries: list[dict[str, Any]] = []
    refused: list[SourceRefused] = []
    for name in value["files"]:
        try:
            entries.append(examine(value["folder"], name))
        except SourceRefused as error:
            refused.append(error)
        except RecursionError:
            refused.append(SourceRefused(name, "nested too deeply to walk (RecursionError)"))
        except ValueError as error:  # such as a number too long to be written
            refused.append(SourceRefused(name, f"not understood: {error}"))
    if refused and not entries:
        raise refused[0]
    return {"entries": entries, "failures": [{"file": error.name, "error": error.reason} for error in refused]}
