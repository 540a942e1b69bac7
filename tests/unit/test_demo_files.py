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


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True)


def test_where_there_is_no_repository_hidden_folders_and_those_of_tools_are_left_out(tmp_path: Path) -> None:
    write(tmp_path, "a.py", ".hidden", ".venv/b.py", "node_modules/c.js", "pkg/__pycache__/d.pyc", "pkg/e.py")
    write(tmp_path, "node_modules_old/f.js")

    assert list_files(tmp_path) == ([".hidden", "a.py", "node_modules_old/f.js", "pkg/e.py"], [])


def test_pipes_links_and_unreadable_files_are_skipped_without_being_opened(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "secret.py")
    (tmp_path / "secret.py").chmod(0)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "up").symlink_to(".")
    (tmp_path / "out").symlink_to("/")
    (tmp_path / "gone").symlink_to("nowhere")

    assert list_files(tmp_path) == (["a.py"], ["gone", "loop", "out", "pipe", "secret.py", "up"])


def test_what_is_too_large_is_skipped(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "b.py")
    os.truncate(tmp_path / "a.py", MAX_FILE_BYTES + 1)

    assert list_files(tmp_path) == (["b.py"], ["a.py"])


def test_names_with_escape_sequences_are_data_and_those_that_are_no_text_are_skipped(tmp_path: Path) -> None:
    write(tmp_path, "\x1b[31mred.py", "[bold]/[/markup].py", os.fsdecode(b"caf\xe9.py"))

    assert list_files(tmp_path) == (["\x1b[31mred.py", "[bold]/[/markup].py"], [r"caf\udce9.py"])


def test_in_a_repository_git_lists_the_files_tracked_or_not(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "build/b.py", "kept.log", "other.log", ".github/c.yml", "gone.py")
    write(tmp_path, ".gitignore", text="build/\n*.log\n!kept.log\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "gone.py", "a.py")
    (tmp_path / "gone.py").unlink()

    assert list_files(tmp_path) == ([".github/c.yml", ".gitignore", "a.py", "kept.log"], ["gone.py"])


def test_a_repository_inside_another_is_skipped(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "inner/b.py")
    git(tmp_path, "init", "-q")
    git(tmp_path / "inner", "init", "-q")

    assert list_files(tmp_path) == (["a.py"], ["inner/"])


def test_a_part_of_a_repository_is_listed_by_its_path_whatever_it_looks_like(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "pkg/b.py", "[p]*/c.py")
    git(tmp_path, "init", "-q")

    assert list_files(tmp_path, "pkg")[0] == ["pkg/b.py"]
    assert list_files(tmp_path, "a.py")[0] == ["a.py"]
    assert list_files(tmp_path, "[p]*")[0] == ["[p]*/c.py"]
    assert list_files(tmp_path / "pkg")[0] == ["b.py"]


def test_a_folder_that_is_itself_ignored_is_audited_when_it_is_asked_for(tmp_path: Path) -> None:
    write(tmp_path, "build/a.py")
    write(tmp_path, ".gitignore", text="build/\n")
    git(tmp_path, "init", "-q")

    assert list_files(tmp_path / "build")[0] == ["a.py"]
    assert list_files(tmp_path, "build")[0] == ["build/a.py"]
    assert list_files(tmp_path, "build/a.py")[0] == ["build/a.py"]


def test_a_repository_cannot_start_a_program(tmp_path: Path) -> None:
    write(tmp_path, "a.py")
    git(tmp_path, "init", "-q")
    git(tmp_path, "config", "core.fsmonitor", f"touch {tmp_path / 'started'} #")

    list_files(tmp_path)

    assert not (tmp_path / "started").exists()


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list_files(tmp_path / "nowhere")
