import os
import subprocess
from pathlib import Path

from dashboard.demo.leads import read_history

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

    chapter = read_history(str(tmp_path), "")

    assert "- 3 commits by 2 authors from 2023-11-14 to 2024-06-01\n" in chapter["text"]
    assert "| `a.py` | 3 |" in chapter["text"]
    assert chapter["headline"] == "Changes most: `a.py` (3 commits)"
    assert "- 1 commit by 1 author" in read_history(str(tmp_path), "b.py")["text"]


def test_a_folder_without_history_says_why(tmp_path: Path) -> None:
    assert "not a git repository" in read_history(str(tmp_path), "")["text"]


def test_names_with_blanks_and_newlines_and_a_date_of_long_ago_are_read(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, capture_output=True)
    commit(tmp_path, "A B", -18_000, **{"a \n\u00e9": "1\n", "c d": "\0"})

    text = read_history(str(tmp_path), "")["text"]

    assert "- 1 commit by 1 author from 1974-" in text
    assert "| `a \\n\u00e9.py` | 1 |" in text
    assert "| `c d.py` | 1 |" in text


def test_a_commit_of_a_time_that_no_calendar_has_is_reported(tmp_path: Path) -> None:
    def git(*arguments: str, stdin: str = "") -> str:
        command = ["git", "-C", str(tmp_path), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True, input=stdin).stdout.strip()

    git("init", "-q")
    commit(tmp_path, "ada", 0, a="1\n")
    (tmp_path / "b.py").write_text("1\n")
    git("add", "-A")
    people = "".join(f"{role} A <a@example.org> 99999999999999999 +0000\n" for role in ("author", "committer"))
    odd = f"tree {git('write-tree')}\nparent {git('rev-parse', 'HEAD')}\n{people}\nx\n"
    git("update-ref", "HEAD", git("hash-object", "-t", "commit", "-w", "--literally", "--stdin", stdin=odd))

    assert "- 2 commits by 2 authors from" in read_history(str(tmp_path), "")["text"]
