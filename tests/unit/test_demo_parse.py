import ast
import os
import pickle
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from dashboard.demo import chapters, checks
from dashboard.demo.checks import Function, cyclomatic, functions
from dashboard.demo.source import MAX_FILE_BYTES, SourceRefused
from dashboard.views.drawing.values import value_spans


def function(body: str) -> Function:
    tree = ast.parse("def f(a, b):\n" + "".join(f"    {line}\n" for line in dedent(body).strip().splitlines()))
    return functions(tree)[0]


@pytest.mark.parametrize(
    ("body", "branches"),
    [
        ("return a", 1),
        ("if a:\n    return b", 2),
        ("if a:\n    b\nelif b:\n    a\nelse:\n    b()", 3),
        ("for x in a:\n    if x:\n        b()", 3),
        ("return a and b and a or b", 4),
        ("return [x for x in a if x if b]", 4),
        ("try:\n    a()\nexcept ValueError:\n    b()", 2),
        ("match a:\n    case 1:\n        b()\n    case _:\n        a()", 2),
        ("return f(a, b)", 1),
        ("def g():\n    if a:\n        b()\nreturn g", 1),
        ("if a:\n    b()\nelse:\n    if b:\n        a()", 3),
    ],
)
def test_complexity_of_small_functions_is_what_the_definition_says(body: str, branches: int) -> None:
    assert cyclomatic(function(body)) == branches


def test_a_chain_of_elif_longer_than_the_stack_is_no_problem() -> None:
    body = "if a == 0:\n    b()\n" + "".join(f"elif a == {at}:\n    b()\n" for at in range(300))

    assert cyclomatic(function(body)) == 302


def work(tmp_path: Path, data: bytes, worker: Any) -> dict[str, Any]:
    (tmp_path / "a.py").write_bytes(data)
    found: dict[str, Any] = worker({"folder": str(tmp_path), "files": ["a.py"]})["entries"][0]
    return found


SOURCE = b"import os\n\ndef f(x):\n    # why\n    return x if x else 1\n\nclass C:\n    '''Doc.'''\n"


def test_the_thorough_parser_says_all_that_the_fast_one_says(tmp_path: Path) -> None:
    fast, thorough = (work(tmp_path, SOURCE, worker) for worker in (checks.parse_fast, checks.parse_thorough))

    assert fast == thorough
    assert (fast["functions"], fast["classes"]) == (1, 1)


@pytest.mark.parametrize("data", ["NAME = 'Müller'\n".encode("latin-1"), b"# coding: undefined\nNAME = 1\n"])
def test_only_the_thorough_parser_reads_on_where_the_encoding_is_wrong(tmp_path: Path, data: bytes) -> None:
    assert work(tmp_path, data, checks.parse_thorough)["guessed"]
    with pytest.raises(SourceRefused, match="encoding"):
        work(tmp_path, data, checks.parse_fast)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"def f(:\n", "syntax error in line 1"),
        (b"print 'x'\n", "Python 2"),
        (b"x = 1\n\0", "null bytes"),
        (b"x = " + b"-" * 20_000 + b"1\n", "nested too deeply|too many nested"),
        (b"x = " + b"9" * 20_000 + b"\n", "limit"),
    ],
)
def test_a_file_that_is_no_python_fails_with_a_reason_that_survives_a_process_boundary(
    tmp_path: Path, data: bytes, reason: str
) -> None:
    with pytest.raises(SourceRefused, match=reason) as failed:
        work(tmp_path, data, checks.parse_thorough)

    assert str(pickle.loads(pickle.dumps(failed.value))) == str(failed.value)


def test_a_file_that_has_grown_too_large_or_become_no_file_since_it_was_listed_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "grown.py").touch()
    os.truncate(tmp_path / "grown.py", MAX_FILE_BYTES + 1)
    (tmp_path / "link.py").symlink_to("/etc/hostname")
    os.mkfifo(tmp_path / "pipe.py")

    for name in ("grown.py", "link.py", "pipe.py"):
        with pytest.raises(SourceRefused, match="no longer a regular file of at most"):
            checks.scan_fast({"folder": str(tmp_path), "files": [name]})


def test_in_a_batch_one_bad_file_does_not_take_the_others_along(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text("x = 1\n")
    (tmp_path / "bad.py").write_text("x = (\n")

    result = checks.parse_fast({"folder": str(tmp_path), "files": ["bad.py", "good.py", "gone.py"]})

    assert [entry["file"] for entry in result["entries"]] == ["good.py"]
    assert [failure["file"] for failure in result["failures"]] == ["bad.py", "gone.py"]


def test_a_pane_shows_what_a_worker_found_and_not_when(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(SOURCE)

    spans = value_spans(checks.parse_fast({"folder": str(tmp_path), "files": ["a.py"]}), 80, without="a.py")

    assert "".join(span.text for span in spans).startswith("functions 1")


def test_in_a_batch_a_file_that_a_worker_cannot_put_in_words_does_not_take_the_others_along(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text("x = 1\n")
    (tmp_path / "bad.py").write_bytes(b"# coding: nonsense\nx = (\n")

    result = checks.read_documentation({"folder": str(tmp_path), "files": ["bad.py", "good.py"]})

    assert [entry["file"] for entry in result["entries"]] == ["good.py"]
    assert [failure["file"] for failure in result["failures"]] == ["bad.py"]


def test_a_summary_takes_entries_of_both_parsers_and_none_at_all(tmp_path: Path) -> None:
    mixed = [work(tmp_path, SOURCE, worker) for worker in (checks.parse_fast, checks.parse_thorough)]

    text = chapters.hot_spots(mixed)["text"]
    assert "2 functions and 2 classes in 2 Python files" in text
    assert "0 functions and 0 classes in 0 Python files" in chapters.hot_spots([])["text"]
