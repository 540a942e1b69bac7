"""A text in the program that a user edits with (`$VISUAL`, `$EDITOR`), and what comes back.

Rule: what was written is never lost. Where it cannot be taken over, its file stays, and the message names it.
"""

import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

LARGEST_BYTES = 1_000_000


class EditorFailed(Exception):
    """The editor could not be used; the message says why and what to do, in one line."""


def editor_of(environment: Mapping[str, str]) -> list[str]:
    """Return the program and its arguments.

    Raises:
        EditorFailed: If none is named, or its quotes do not close.
    """
    said = (environment.get("VISUAL") or environment.get("EDITOR") or "").strip()
    try:
        argv = shlex.split(said)
    except ValueError as error:
        raise EditorFailed(f"$EDITOR is {said!r}, whose quotes do not close") from error
    if not argv:
        raise EditorFailed("no $EDITOR is set; such as: export EDITOR=nano, then open the dashboard again")
    return argv


def edited(text: str, argv: list[str], *, name: str) -> str:
    """Return a text as the editor leaves it; blocks, and the terminal is the editor's meanwhile.

    Args:
        text: What is edited.
        argv: The editor.
        name: What its file is called.

    Raises:
        EditorFailed: If it does not run, ends badly, or leaves what is no text.
    """
    folder = Path(tempfile.mkdtemp(prefix="quarterdeck-"))  # of mode 0700
    file = folder / name
    file.write_text(text, encoding="utf-8")
    try:
        status = subprocess.run([*argv, str(file)], check=False).returncode
    except OSError as error:
        _remove(file)
        raise EditorFailed(f"{argv[0]} does not run: {error.strerror or error}; is $EDITOR right?") from error
    if status:
        raise EditorFailed(f"{argv[0]} ended with status {status}; the text is as it was{_kept(file, text)}")
    back = _read(file)
    _remove(file)
    return back


def _read(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            content = stream.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise EditorFailed(f"the editor left no file to read: {error.strerror or error}") from error
    if len(content) > LARGEST_BYTES:
        raise EditorFailed(f"larger than {LARGEST_BYTES:,} bytes; the text is as it was, yours is in {file}")
    try:
        back = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise EditorFailed(f"what came back is not text in UTF-8; the text is as it was, yours is in {file}") from None
    if "\0" in back:
        raise EditorFailed(f"what came back is not text; the text is as it was, yours is in {file}")
    return back.replace("\r\n", "\n").replace("\r", "\n")


def _kept(file: Path, text: str) -> str:
    """Remove the file where it says nothing new; else tell where it is."""
    try:
        if file.read_bytes() == text.encode():
            _remove(file)
            return ""
    except OSError:
        return ""
    return f", what you wrote is in {file}"


def _remove(file: Path) -> None:
    """Remove a file and its folder; what an editor left beside it stays."""
    with suppress(OSError):
        file.unlink()
        file.parent.rmdir()
