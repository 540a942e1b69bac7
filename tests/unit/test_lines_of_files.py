"""Lines of files that agents read and change: they end where an editor and git end them."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.runtimes.programs.acp_requests import whole_diff
from engine.runtimes.programs.confined import text_of

texts = st.text("ab \n\r\f\x85\u2028", max_size=8)


@pytest.mark.parametrize(
    ("line", "limit", "content"),
    [
        (None, None, "a\fb\r\nc\u2028d\n\ne"),
        (1, None, "a\fb\r\nc\u2028d\n\ne"),
        (None, 1, "a\fb\r\n"),
        (0, 1, "a\fb\r\n"),
        (2, 1, "c\u2028d\n"),
        (3, 2, "\ne"),
        (4, 5, "e"),
        (5, 1, ""),
        (2, 0, ""),
    ],
)
def test_a_file_is_read_by_lines_as_editors_count_them(
    tmp_path: Path, line: int | None, limit: int | None, content: str
) -> None:
    (tmp_path / "reef.txt").write_bytes("a\fb\r\nc\u2028d\n\ne".encode())

    assert text_of(tmp_path, "reef.txt", line, limit) == content


@given(texts, texts)
@example("# a\x85b\n", "# a\nb\n")
@example("a\r\nb\r\n", "a\nb\n")
@example("a", "a\n")
def test_a_diff_is_empty_only_where_nothing_changes(old: str, new: str) -> None:
    assert (whole_diff("reef.txt", old, new)["diff"] == "") == (old == new)


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("", "a\n", ["@@ -0,0 +1 @@", "+a"]),
        ("", "a\nb", ["@@ -0,0 +1,2 @@", "+a", "+b", "\\ No newline at end of file"]),
        ("a", "a\n", ["@@ -1 +1 @@", "-a", "\\ No newline at end of file", "+a"]),
        ("a\nb", "c\nb", ["@@ -1,2 +1,2 @@", "-a", "+c", " b", "\\ No newline at end of file"]),
        ("a\n", "", ["@@ -1 +0,0 @@", "-a"]),
    ],
)
def test_a_diff_reads_as_that_of_git(old: str, new: str, lines: list[str]) -> None:
    diff = str(whole_diff("reef.txt", old, new)["diff"])

    assert diff.split("\n") == ["--- a/reef.txt", "+++ b/reef.txt", *lines]
