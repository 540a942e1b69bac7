import os
import subprocess
from pathlib import Path

import pytest

from dashboard.demo.source import MAX_FILE_BYTES
from dashboard.demo.walk import walk


def write(folder: Path, *names: str, text: str = "x\n") -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def reasons(folder: Path) -> dict[str, str]:
    return {skipped.name: skipped.reason for skipped in walk(folder).skipped}


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True)


def test_version_control_environments_and_caches_are_left_out_and_said(tmp_path: Path) -> None:
    write(tmp_path, "a.py", ".git/config", ".venv/b.py", "node_modules/c.js", "pkg/__pycache__/d.pyc")
    write(tmp_path, "env/pyvenv.cfg", "env/lib/e.py")

    listing = walk(tmp_path)

    assert listing.names() == ["a.py"]
    assert reasons(tmp_path)["env/"] == "a virtual environment"
    assert set(reasons(tmp_path)) == {".git/", ".venv/", "env/", "node_modules/", "pkg/__pycache__/"}


def test_pipes_links_and_unreadable_files_are_skipped_without_being_opened(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "secret.py")
    (tmp_path / "secret.py").chmod(0)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "up").symlink_to(".")
    (tmp_path / "out").symlink_to("/")
    (tmp_path / "gone").symlink_to("nowhere")
    (tmp_path / "twin.py").symlink_to("a.py")

    assert walk(tmp_path).names() == ["a.py"]
    assert reasons(tmp_path) == {
        "secret.py": "no permission to read",
        "pipe": "a named pipe",
        "loop": "a link in a loop",
        "up": "a link in a loop",
        "out": "a link out of the folder",
        "gone": "a link that leads nowhere",
        "twin.py": "a link to a file inside this folder",
    }


def test_what_is_too_large_or_too_much_is_said(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "b.py", "c.py")
    os.truncate(tmp_path / "a.py", MAX_FILE_BYTES + 1)

    listing = walk(tmp_path, max_files=1)

    assert listing.names() == ["b.py"]
    assert [skipped.reason for skipped in listing.skipped] == ["beyond the first 1 files", "larger than 5 MB"]


def test_names_with_escape_sequences_and_foreign_bytes_are_data(tmp_path: Path) -> None:
    write(tmp_path, "\x1b[31mred.py", "[bold]/[/markup].py", os.fsdecode(b"caf\xe9.py"))

    assert walk(tmp_path).names() == ["\x1b[31mred.py", r"caf\xe9.py", "[bold]/[/markup].py"]


def test_git_says_what_is_ignored_and_a_nested_repository_asks_its_own(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "build/b.py", "inner/c.py", "inner/made/d.py", "kept.log")
    write(tmp_path, ".gitignore", text="build/\n*.log\n!kept.log\n")
    write(tmp_path, "inner/.gitignore", text="made\n")
    git(tmp_path, "init", "-q")
    git(tmp_path / "inner", "init", "-q")

    assert walk(tmp_path).names(".py", ".log") == ["a.py", "kept.log", "inner/c.py"]
    assert {"build/", "inner/made/"} <= set(reasons(tmp_path))


def test_gitignore_is_kept_to_where_there_is_no_repository(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "build/b.py", "pkg/c.tmp", "pkg/d.py", "pkg/build/e.py")
    write(tmp_path, ".gitignore", text="/build\n")
    write(tmp_path, "pkg/.gitignore", text="*.tmp\n")

    assert walk(tmp_path).names(".py", ".tmp") == ["a.py", "pkg/d.py", "pkg/build/e.py"]


def test_a_folder_that_is_itself_ignored_is_audited_when_it_is_asked_for(tmp_path: Path) -> None:
    write(tmp_path, "build/a.py")
    write(tmp_path, ".gitignore", text="build/\n")
    git(tmp_path, "init", "-q")

    assert walk(tmp_path / "build").names() == ["a.py"]
    assert walk(tmp_path, "build").names() == ["build/a.py"]


def test_a_repository_cannot_start_a_program(tmp_path: Path) -> None:
    write(tmp_path, "a.py")
    git(tmp_path, "init", "-q")
    git(tmp_path, "config", "core.fsmonitor", f"touch {tmp_path / 'started'} #")

    walk(tmp_path)

    assert not (tmp_path / "started").exists()


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        walk(tmp_path / "nowhere")


def test_a_folder_that_cannot_be_looked_into_is_skipped_and_the_walk_goes_on(tmp_path: Path) -> None:
    write(tmp_path, "a.py")
    # The path of the folder is as long as the system allows: whoever runs this, nothing in it can be reached by name.
    rest = 4_090 - len(str(tmp_path))
    deep = Path(*["d" * 200] * (rest // 201), "e" * (rest % 201 - 1))
    (tmp_path / deep).mkdir(parents=True)
    inside = os.open(tmp_path / deep, os.O_RDONLY)
    os.close(os.open(".gitignore", os.O_CREAT | os.O_WRONLY, dir_fd=inside))
    os.close(inside)

    listing = walk(tmp_path)

    assert listing.names() == ["a.py"]
    assert [skipped.reason for skipped in listing.skipped] == ["file name too long"]
