from pathlib import Path

import pytest

from dashboard.demo import chapters, checks
from dashboard.demo.git import GitUnavailable


def test_a_public_name_is_counted_in_every_file_that_mentions_it_as_a_word(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("class Used: ...\ndef unused(): ...\ndef _hidden(): ...\n")
    (tmp_path / "b.py").write_text("import a\n\nprint(a.Used, a.unused_too)\n")
    (tmp_path / "c.md").write_text("About `Used`.\n")

    [entry] = checks.find_mentions({"folder": str(tmp_path), "files": ["a.py"]})["entries"]

    assert (entry["public"], entry["unused"]) == (2, 1)
    assert [(row["name"], row["line"], row["files"]) for row in entry["names"]] == [("Used", 1, 3), ("unused", 2, 1)]
    chapter = chapters.used_names([entry])
    assert "Mentioned in no other file: `a.py:2 unused`\n" in chapter["text"]
    assert "| `a.py:1` | `Used` | 3 |" in chapter["text"]
    assert "1 of 2" in chapter["headline"]


def test_without_git_a_search_fails_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.py").write_text("def f(): ...\n")
    monkeypatch.setenv("PATH", "")

    with pytest.raises(GitUnavailable, match="git"):
        checks.find_mentions({"folder": str(tmp_path), "files": ["a.py"]})
