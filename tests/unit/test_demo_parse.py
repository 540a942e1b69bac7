import ast
import pickle
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.demo import fingerprints, imports, parse
from dashboard.demo.complexity import (
    Function,
    cognitive,
    cyclomatic,
    functions,
    maintainability,
    nesting,
    unused_arguments,
    unused_imports,
)
from dashboard.demo.source import SourceRefused


def function(body: str) -> Function:
    tree = ast.parse("def f(a, b):\n" + "".join(f"    {line}\n" for line in dedent(body).strip().splitlines()))
    return next(functions(tree))[1]


@pytest.mark.parametrize(
    ("body", "branches", "effort", "depth"),
    [
        ("return a", 1, 0, 0),
        ("if a:\n    return b", 2, 1, 1),
        ("if a:\n    b\nelif b:\n    a\nelse:\n    b()", 3, 3, 1),
        ("for x in a:\n    if x:\n        b()", 3, 3, 2),
        ("return a and b and a or b", 4, 2, 0),
        ("return [x for x in a if x if b]", 4, 0, 0),
        ("try:\n    a()\nexcept ValueError:\n    b()", 2, 1, 1),
        ("match a:\n    case 1:\n        b()\n    case _:\n        a()", 2, 1, 1),
        ("return f(a, b)", 1, 1, 0),
        ("def g():\n    if a:\n        b()\nreturn g", 1, 2, 0),
        ("if a:\n    b()\nelse:\n    if b:\n        a()", 3, 4, 2),
    ],
)
def test_complexity_of_small_functions_is_what_the_definitions_say(
    body: str, branches: int, effort: int, depth: int
) -> None:
    node = function(body)

    assert (cyclomatic(node), cognitive(node), nesting(node.body)) == (branches, effort, depth)


def test_a_chain_of_elif_longer_than_the_stack_is_no_problem() -> None:
    body = "if a == 0:\n    b()\n" + "".join(f"elif a == {at}:\n    b()\n" for at in range(300))

    assert cyclomatic(function(body)) == 302
    assert nesting(function(body).body) == 1
    assert cognitive(function(body)) == 301


@given(st.floats(0, 1e6), st.floats(0, 1e4), st.floats(0, 1e6))
def test_maintainability_stays_between_0_and_100(volume: float, complexity: float, lines: float) -> None:
    assert 0 <= maintainability(volume, complexity, lines) <= 100


def test_unused_imports_are_told_with_their_line() -> None:
    tree = ast.parse("import os\nimport sys as system\nfrom a import b, c\nimport d.e\n__all__ = ['c']\nd.e.f()\n")

    assert unused_imports(tree, is_package=False) == [(1, "os"), (2, "system"), (3, "b")]
    assert unused_imports(tree, is_package=True) == []


def test_annotations_in_quotes_count_as_use() -> None:
    tree = ast.parse("from a import Thing\ndef f(x: 'list[Thing]') -> None: ...\n")

    assert unused_imports(tree, is_package=False) == []


def test_unused_parameters_are_told_but_not_where_a_signature_is_given_by_others() -> None:
    tree = ast.parse(
        "def f(a, b, _c):\n    return a + 1\nclass C:\n    def m(self, x):\n        g()\ndef stub(x): ...\n"
    )

    assert unused_arguments(tree) == [(1, "f", "b")]


def work(tmp_path: Path, data: bytes, worker: Any) -> dict[str, Any]:
    (tmp_path / "a.py").write_bytes(data)
    found: dict[str, Any] = worker({"folder": str(tmp_path), "files": ["a.py"]})["entries"][0]
    return found


SOURCE = b"import os\n\ndef f(x):\n    # why\n    return x if x else 1\n\nclass C:\n    '''Doc.'''\n"


def test_the_thorough_parser_says_all_that_the_fast_one_says(tmp_path: Path) -> None:
    fast, thorough = (work(tmp_path, SOURCE, worker) for worker in (parse.fast, parse.thorough))

    assert fast | {"depth": "thorough"} == {key: thorough[key] for key in fast}
    assert (fast["lines"], fast["code"], fast["functions"], fast["classes"], fast["complexity"]) == (8, 5, 1, 1, 2)
    assert thorough["unused_imports"] == [(1, "os")]


@pytest.mark.parametrize("data", ["NAME = 'Müller'\n".encode("latin-1"), b"# coding: undefined\nNAME = 1\n"])
def test_only_the_thorough_parser_reads_on_where_the_encoding_is_wrong(tmp_path: Path, data: bytes) -> None:
    assert work(tmp_path, data, parse.thorough)["guessed"]
    with pytest.raises(SourceRefused, match="encoding"):
        work(tmp_path, data, parse.fast)


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
        work(tmp_path, data, parse.thorough)

    assert str(pickle.loads(pickle.dumps(failed.value))) == str(failed.value)


def test_in_a_batch_one_bad_file_does_not_take_the_others_along(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text("x = 1\n")
    (tmp_path / "bad.py").write_text("x = (\n")

    result = parse.fast({"folder": str(tmp_path), "files": ["bad.py", "good.py", "gone.py"]})

    assert [entry["file"] for entry in result["entries"]] == ["good.py"]
    assert [failure["file"] for failure in result["failures"]] == ["bad.py", "gone.py"]


@pytest.mark.parametrize(
    ("worker", "data"),
    [
        (parse.thorough, b"x = 0x" + b"f" * 5_000 + b"\n"),
        (imports.read, b"if 0x" + b"f" * 5_000 + b":\n    import os\n"),
        (fingerprints.prints, b"# coding: unicode_escape\nx = '\\ud800'\n"),
    ],
    ids=["a number to measure", "a number in a condition", "half a character"],
)
def test_in_a_batch_a_file_that_a_worker_cannot_put_in_words_does_not_take_the_others_along(
    tmp_path: Path, worker: Callable[[dict[str, Any]], dict[str, Any]], data: bytes
) -> None:
    (tmp_path / "good.py").write_text("x = 1\n")
    (tmp_path / "bad.py").write_bytes(data)

    result = worker({"folder": str(tmp_path), "files": ["bad.py", "good.py"]})

    assert [entry["file"] for entry in result["entries"]] == ["good.py"]
    assert [failure["file"] for failure in result["failures"]] == ["bad.py"]


def test_a_summary_takes_entries_of_both_parsers_and_none_at_all(tmp_path: Path) -> None:
    mixed = [work(tmp_path, SOURCE, worker) for worker in (parse.fast, parse.thorough)]

    assert (parse.summary(mixed)["functions"], parse.summary(mixed)["thorough"]) == (2, 1)
    assert parse.summary([])["bins"] == [0, 0, 0, 0, 0]
