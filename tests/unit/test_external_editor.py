"""A text in the user's own editor: what comes back, and what is kept where nothing usable does."""

import os
import resource
import signal
import sys
import termios
from pathlib import Path

import pytest

from dashboard.user.external_editor import EditorFailed, edit_externally, editor_of


def editor(*lines: str) -> list[str]:
    """An editor that does these lines of Python with its file, `file`."""
    return [sys.executable, "-c", "\n".join(["import sys, pathlib", "file = pathlib.Path(sys.argv[1])", *lines])]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_what_the_editor_writes_comes_back_and_its_file_goes(folder: Path) -> None:
    back = edit_externally(
        "name: a\n", editor("file.write_text(file.read_text() + 'weight: 2\\r\\n')"), name="agent.yaml"
    )

    assert back == "name: a\nweight: 2\n"
    assert not list(folder.iterdir())


def test_an_editor_that_is_not_there_is_one_line(folder: Path) -> None:
    with pytest.raises(EditorFailed, match=r"^no-such-editor does not run: No such file .*; is \$EDITOR right"):
        edit_externally("name: a\n", ["no-such-editor"], name="agent.yaml")
    assert not list(folder.iterdir())


def test_an_editor_that_fails_leaves_the_text_as_it_was(folder: Path) -> None:
    with pytest.raises(EditorFailed, match=r"ended with status 3; the text is as it was$"):
        edit_externally("name: a\n", editor("sys.exit(3)"), name="agent.yaml")
    assert not list(folder.iterdir())


@pytest.mark.parametrize(
    ("does", "said"),
    [
        ("file.write_text('mine'); sys.exit(1)", "ended with status 1"),
        ("file.write_bytes(bytes([255, 254, 65]))", "not text in UTF-8"),
        ("file.write_text('a' * 1_000_001)", "larger than 1,000,000 bytes"),
        ("file.write_bytes(bytes(3))", "not text"),
    ],
)
def test_what_cannot_be_taken_over_stays_in_its_file(does: str, said: str, folder: Path) -> None:
    with pytest.raises(EditorFailed, match=said) as failed:
        edit_externally("name: a\n", editor(does), name="agent.yaml")

    (kept,) = folder.rglob("agent.yaml")
    assert str(kept) in str(failed.value)


def test_an_editor_that_removes_its_file_is_said() -> None:
    with pytest.raises(EditorFailed, match="does not exist; the text is as it was"):
        edit_externally("name: a\n", editor("file.unlink()"), name="agent.yaml")


def test_a_pipe_in_place_of_the_file_is_not_waited_for() -> None:
    with pytest.raises(EditorFailed, match="is not a regular file; the text is as it was"):
        edit_externally("name: a\n", editor("import os; file.unlink(); os.mkfifo(file)"), name="agent.yaml")


def test_a_full_disk_is_said_and_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(folder / "missing"))
    with pytest.raises(EditorFailed, match=r"cannot be written .*set TMPDIR"):
        edit_externally("name: a\n", editor(), name="agent.yaml")

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        with pytest.raises(EditorFailed, match=r"cannot be written .*set TMPDIR"):
            edit_externally("name: a\n", editor(), name="agent.yaml")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not list(folder.iterdir())


def test_an_editor_that_is_killed_leaves_the_modes_of_the_terminal() -> None:
    main, terminal = os.openpty()
    kept = os.dup(0)
    os.dup2(terminal, 0)
    try:
        before = termios.tcgetattr(0)
        with pytest.raises(EditorFailed, match="ended with status -9"):
            edit_externally("", editor("import os, tty; tty.setraw(0); os.kill(os.getpid(), 9)"), name="agent.yaml")

        assert termios.tcgetattr(0) == before
    finally:
        os.dup2(kept, 0)
        for descriptor in (main, terminal, kept):
            os.close(descriptor)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT])
def test_keys_that_end_an_editor_do_not_end_the_dashboard(number: signal.Signals) -> None:
    heard: list[int] = []
    before = signal.signal(number, lambda sent, _frame: heard.append(sent))
    mine = signal.getsignal(number)
    try:
        does = f"import os; os.kill(os.getppid(), {number.value}); os.kill(os.getpid(), {number.value})"
        ends = f"import signal; signal.signal({number.value}, signal.SIG_DFL)"
        with pytest.raises(EditorFailed, match=f"ended with status -{number.value}; the text is as it was$"):
            edit_externally("name: a\n", editor(ends, does), name="agent.yaml")

        assert heard == []
        assert signal.getsignal(number) is mine
    finally:
        signal.signal(number, before)


def test_the_editor_is_what_the_environment_names() -> None:
    assert editor_of({"EDITOR": "code --wait"}) == ["code", "--wait"]
    assert editor_of({"EDITOR": "nano", "VISUAL": "vim"}) == ["vim"]
    with pytest.raises(EditorFailed, match=r"no \$EDITOR is set"):
        editor_of({})
    with pytest.raises(EditorFailed, match="quotes do not close"):
        editor_of({"EDITOR": "vim '"})
