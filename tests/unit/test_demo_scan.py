from pathlib import Path
from typing import Any

import pytest

from dashboard.demo import chapters, checks


def entry(tmp_path: Path, data: bytes, *, name: str = "a.py", worker: Any = checks.scan_thorough) -> dict[str, Any]:
    (tmp_path / name).write_bytes(data)
    found: dict[str, Any] = worker({"folder": str(tmp_path), "files": [name]})["entries"][0]
    return found


def test_lines_and_bytes_are_counted(tmp_path: Path) -> None:
    found = entry(tmp_path, b"# one\n\nx = 1\n", worker=checks.scan_fast)

    assert (found["lines"], found["bytes"], found["kind"]) == (3, 13, ".py")


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (b"x = 1\n", "utf-8"),
        ("x = 'ü'\n".encode(), "utf-8"),
        (b"\xef\xbb\xbfx = 1\n", "utf-8-sig"),
        ("x = 'ü'\n".encode("latin-1"), "unknown"),
        ("# coding: latin-1\nx = 'ü'\n".encode("latin-1"), "iso-8859-1"),
        (b"x\0y", "binary"),
        (b"", "utf-8"),
    ],
)
def test_the_encoding_is_told(tmp_path: Path, data: bytes, encoding: str) -> None:
    assert entry(tmp_path, data)["encoding"] == encoding


def test_the_thorough_scout_says_all_that_the_fast_one_says(tmp_path: Path) -> None:
    fast = entry(tmp_path, b"x = 1 \n", worker=checks.scan_fast)

    assert entry(tmp_path, b"x = 1 \n").items() > fast.items()


def test_equal_files_are_found(tmp_path: Path) -> None:
    text = b"x = 1\n" * 30

    rows = [entry(tmp_path, text, name=name) for name in ("a.py", "b.py")] + [entry(tmp_path, b"y", name="c.py")]

    assert "- Same content: `a.py`, `b.py`\n" in chapters.what_is_here(rows, [])["text"]
