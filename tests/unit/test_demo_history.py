import os
import subprocess
from pathlib import Path

from dashboard.demo import history
from dashboard.demo.history import Commit, commits_in, summary

DAY_S = 86_400


def commit(folder: Path, author: str, day: int, **files: str) -> None:
    for name, text in files.items():
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    when = f"{1_700_000_000 + day * DAY_S} +0000"
    environment = os.environ | {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
    identity = ["-c", f"user.name={author}", "-c", f"user.email={author}@example.org"]
    for arguments in (["add", "-A"], ["commit", "-q", "--allow-empty", "-m", "x"]):
        subprocess.run(
            ["git", "-C", str(folder), *identity, *arguments], check=True, env=environment, capture_output=True
        )


def test_churn_authors_and_time_are_read_from_git(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, capture_output=True)
    commit(tmp_path, "ada", 0, a="1\n", b="1\n")
    commit(tmp_path, "ada", 1, a="1\n2\n")
    commit(tmp_path, "bob", 200, a="3\n")

    chapter = history.read(str(tmp_path), "")

    assert "- 3 commits by 2 authors from 2023-11-14 to 2024-06-01\n" in chapter["text"]
    assert "- 1 of 2 files were only ever touched by one person\n" in chapter["text"]
    assert "| `a.py` | 3 | 5 | 2 |" in chapter["text"]
    assert chapter["headline"] == "Changes most: `a.py` (3 commits)"
    assert "- 1 commit by 1 author" in history.read(str(tmp_path), "b.py")["text"]


def test_a_folder_without_history_says_why(tmp_path: Path) -> None:
    assert "not a git repository" in history.read(str(tmp_path), "")["text"]


def test_names_with_blanks_newlines_and_binary_files_are_read() -> None:
    log = b"\x0110\x02A B\0\n1\t2\ta \n\xe9.py\0-\t-\tpicture.png\0\x0120\x02C\0"

    assert list(commits_in(log)) == [
        Commit(10, "A B", {"a \n\\xe9.py": 3, "picture.png": 0}),
        Commit(20, "C", {}),
    ]


def test_a_commit_of_no_time_or_of_one_that_no_calendar_has_is_reported() -> None:
    found = summary(list(commits_in(b"\x0199999999999999999\x02A\0\x01\x02B\0")))

    assert "2 commits by 2 authors from 1970-01-01 to 9999-12-31" in found["text"]
