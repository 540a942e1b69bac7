import os
import subprocess
from pathlib import Path

import pytest

from dashboard.demo.files import list_files
from dashboard.demo.source import MAX_FILE_BYTES


def write(folder: Path, *names: str, text: str = "x\n") -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def reasons(folder: Path) -> dict[str, str]:
    return dict(list_files(folder).skipped)


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True)


def test_where_there_is_no_repository_hidden_folders_and_those_of_tools_are_left_out_and_said(tmp_path: Path) -> None:
    write(tmp_path, "a.py", ".hidden", ".venv/b.py", "node_modules/c.js", "pkg/__pycache__/d.pyc", "pkg/e.py")

    assert list_files(tmp_path).names() == [".hidden", "a.py", "pkg/e.py"]
    assert set(reasons(tmp_path)) == {".venv/", "node_modules/", "pkg/__pycache__/"}


def test_pipes_links_and_unreadable_files_are_skipped_without_being_opened(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "secret.py")
    (tmp_path / "secret.py").chmod(0)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "up").symlink_to(".")
    (tmp_path / "out").symlink_to("/")
    (tmp_path / "gone").symlink_to("nowhere")

    assert list_files(tmp_path).names() == ["a.py"]
    assert reasons(tmp_path) == {
        "secret.py": "no permission to read",
        "pipe": "not a regular file",
        **dict.fromkeys(("loop", "up", "out", "gone"), "a link"),
    }


def test_what_is_too_large_or_too_much_is_said(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "b.py", "c.py")
    os.truncate(tmp_path / "a.py", MAX_FILE_BYTES + 1)

    listing = list_files(tmp_path, max_files=1)

    assert listing.names() == ["b.py"]
    assert [reason for _, reason in listing.skipped] == ["beyond the first 1 files", "larger than 5 MB"]


def test_names_with_escape_sequences_are_data_and_those_that_are_no_text_are_skipped(tmp_path: Path) -> None:
    write(tmp_path, "\x1b[31mred.py", "[bold]/[/markup].py", os.fsdecode(b"caf\xe9.py"))

    assert list_files(tmp_path).names() == ["\x1b[31mred.py", "[bold]/[/markup].py"]
    assert reasons(tmp_path) == {r"caf\udce9.py": "a name that is not UTF-8"}


def test_in_a_repository_git_lists_the_files_tracked_or_not_and_says_what_it_ignores(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "build/b.py", "kept.log", "other.log", ".github/c.yml", "gone.py")
    write(tmp_path, ".gitignore", text="build/\n*.log\n!kept.log\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "gone.py", "a.py")
    (tmp_path / "gone.py").unlink()

    assert list_files(tmp_path).names() == [".github/c.yml", ".gitignore", "a.py", "kept.log"]
    assert reasons(tmp_path) == {
        "build/": "ignored by .gitignore",
        "other.log": "ignored by .gitignore",
        "gone.py": "no such file or directory",
    }


def test_a_repository_inside_another_is_skipped_and_said(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "inner/b.py")
    git(tmp_path, "init", "-q")
    git(tmp_path / "inner", "init", "-q")

    assert list_files(tmp_path).names() == ["a.py"]
    assert reasons(tmp_path) == {"inner/": "another repository"}


def test_a_part_of_a_repository_is_listed_by_its_path_whatever_it_looks_like(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "pkg/b.py", "[p]*/c.py")
    git(tmp_path, "init", "-q")

    assert list_files(tmp_path, "pkg").names() == ["pkg/b.py"]
    assert list_files(tmp_path, "a.py").names() == ["a.py"]
    assert list_files(tmp_path, "[p]*").names() == ["[p]*/c.py"]
    assert list_files(tmp_path / "pkg").names() == ["b.py"]


def test_a_folder_that_is_itself_ignored_is_audited_when_it_is_asked_for(tmp_path: Path) -> None:
    write(tmp_path, "build/a.py")
    write(tmp_path, ".gitignore", text="build/\n")
    git(tmp_path, "init", "-q")

    assert list_files(tmp_path / "build").names() == ["a.py"]
    assert list_files(tmp_path, "build").names() == ["build/a.py"]
    assert list_files(tmp_path, "build/a.py").names() == ["build/a.py"]


def test_a_repository_cannot_start_a_program(tmp_path: Path) -> None:
    write(tmp_path, "a.py")
    git(tmp_path, "init", "-q")
    git(tmp_path, "config", "core.fsmonitor", f"touch {tmp_path / 'started'} #")

    list_files(tmp_path)

    assert not (tmp_path / "started").exists()


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list_files(tmp_path / "nowhere")
