from pathlib import Path
from typing import Any

from dashboard.demo import chapters, checks


def read(tmp_path: Path, name: str, text: str) -> dict[str, Any]:
    (tmp_path / name).write_text(text)
    entry: dict[str, Any] = checks.read_documentation({"folder": str(tmp_path), "files": [name]})["entries"][0]
    return entry


def test_public_functions_with_and_without_a_docstring_are_counted(tmp_path: Path) -> None:
    entry = read(tmp_path, "a.py", '"""M."""\ndef f(a):\n    """Do."""\ndef g(): ...\ndef _h(): ...\n')

    assert (entry["public"], entry["documented"], entry["bare"]) == (2, 1, [(1, 4, "g")])


def test_a_summary_says_how_much_is_documented(tmp_path: Path) -> None:
    entries = [read(tmp_path, "README.md", "# Hello\n\nsome words\n"), read(tmp_path, "a.py", "def g(): ...\n")]

    text = chapters.documentation(entries)["text"]

    assert "- 1 text with 4 words\n" in text
    assert "- Longest public functions without a docstring: `a.py:1 g`\n" in text
