"""Edits a text in the user's editor (`$VISUAL`, `$EDITOR`).

Rule: edits are never lost. If they cannot be taken over, their file stays, and the message names it.
"""

import shlex
import signal
import subprocess
import tempfile
import termios
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path


class EditorFailed(Exception):
    """The editor could not be used; the message says why and what to do, in one line."""


def editor_of(environment: Mapping[str, str]) -> list[str]:
    """Return the editor and its arguments.

    Raises:
        EditorFailed: If no editor is set, or its quotes do not close.
    """
    command_line = (environment.get("VISUAL") or environment.get("EDITOR") or "").strip()
    try:
        argv = shlex.split(command_line)
    except ValueError as error:
        raise EditorFailed(f"$EDITOR is {command_line!r}, whose quotes do not close") from error
    if not argv:
        raise EditorFailed("no $EDITOR is set; such as: export EDITOR=nano, then open the dashboard again")
    return argv


def edit_externally(text: str, argv: list[str], *, name: str) -> str:
    """Edit a text, and return the result; blocks while the editor has the terminal.

    Args:
        text: The text to edit.
        name: The name of its file.

    Raises:
        EditorFailed: If the file cannot be written, or the editor does not run, fails, or leaves no text.
    """
    file = _write_file(text, name)
    try:
        with _terminal_restored(), _interrupt_keys_ignored():
            status = subprocess.run([*argv, str(file)], check=False).returncode
    except OSError as error:
        _remove(file)
        raise EditorFailed(f"{argv[0]} does not run: {error.strerror or error}; is $EDITOR right?") from error
    if status:
        raise EditorFailed(
            f"{argv[0]} ended with status {status}; the text is as it was{_describe_kept_file(file, text)}"
        )
    back = _read(file)
    _remove(file)
    return back


def _write_file(text: str, name: str) -> Path:
    """Write a text to a new file in a folder of its own."""
    file: Path | None = None
    try:
        file = Path(tempfile.mkdtemp(prefix="quarterdeck-")) / name  # of mode 0700
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        if file is not None:
            _remove(file)
        problem = f"the text cannot be written into a file for $EDITOR ({error.strerror or error})"
        raise EditorFailed(f"{problem}; free some space, set TMPDIR to another folder, or write here") from error
    return file


@contextmanager
def _terminal_restored() -> Iterator[None]:
    """Restore the modes of the terminal, because a killed editor may leave it in raw mode."""
    modes = None
    with suppress(termios.error, OSError, ValueError):  # no terminal
        modes = termios.tcgetattr(0)
    yield
    if modes is not None:
        with suppress(termios.error):
            termios.tcsetattr(0, termios.TCSANOW, modes)


@contextmanager
def _interrupt_keys_ignored() -> Iterator[None]:
    """Ignore interrupt keys, which end the editor, in the dashboard."""
    # Not SIG_IGN, which the editor would inherit.
    before = {number: signal.signal(number, lambda _number, _frame: None) for number in (signal.SIGINT, signal.SIGQUIT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _read(file: Path) -> str:
    from engine.teamfile import UnusableTeamFile, text_of  # slow import: needed only to edit

    try:
        back = text_of(file)
    except UnusableTeamFile as error:
        raise EditorFailed(f"what the editor left cannot be used: {error}; the text is as it was") from None
    return back.replace("\r\n", "\n").replace("\r", "\n")


def _describe_kept_file(file: Path, text: str) -> str:
    """Remove the file if it has no edits, else return a note with its path."""
    try:
        if file.read_bytes() == text.encode():
            _remove(file)
            return ""
    except OSError:
        return ""
    return f", what you wrote is in {file}"


def _remove(file: Path) -> None:
    """Remove a file and its folder, unless the editor left other files there."""
    with suppress(OSError):
        file.unlink()
        file.parent.rmdir()
