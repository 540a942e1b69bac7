import ast
from pathlib import Path

import pytest

from dashboard.demo import chapters, checks

CASES = {
    "code from data": ("eval(x)", "eval('1 + 1')"),
    "bare except": ("try:\n    x\nexcept:\n    y", "try:\n    x\nexcept:\n    raise"),
    "mutable default": ("def f(a=[]): return a", "def f(a=()): return a"),
}


@pytest.mark.parametrize("rule", CASES)
def test_a_rule_finds_what_is_bad_and_leaves_what_is_good(rule: str) -> None:
    bad, good = ([name for name, _, _ in checks.hazards(ast.parse(text))] for text in CASES[rule])

    assert bad == [rule]
    assert good == []


def test_findings_carry_the_line_and_notes_are_found_in_any_text(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("# TODO: more\neval(x)\n")
    (tmp_path / "b.md").write_text("FIXME\n")

    python, prose = checks.find_hazards({"folder": str(tmp_path), "files": ["a.py", "b.md"]})["entries"]

    assert [(rule, line) for rule, line, _ in python["findings"]] == [("code from data", 2), ("note", 1)]
    assert [(rule, line) for rule, line, _ in prose["findings"]] == [("note", 1)]
    assert python["counts"] == {"code from data": 1, "note": 1}


def test_a_common_rule_does_not_push_out_a_rare_one() -> None:
    common = [["shell", line, "x"] for line in range(100)]
    entry = {"file": "a.py", "counts": {"shell": 100, "weak": 1}, "findings": [*common, ["weak", 1, "y"]]}

    text = chapters.hazards([entry])["text"]

    assert text.count("| shell |") == 6
    assert text.count("| weak |") == 1
