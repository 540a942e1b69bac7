import ast
from pathlib import Path

import pytest

from dashboard.demo import hazards
from dashboard.demo.hazards import RULES, SEVERITIES, credentials_in, findings, module_of


def rules(code: str, *, is_test: bool = False) -> list[str]:
    tree = ast.parse(code)
    return [rule for rule, _, _, _ in findings(tree, module_of(tree, is_test=is_test))]


CASES = {
    "code from data": ("eval(x)", "eval('1 + 1')"),
    "shell": ("import subprocess as sp\nsp.run(x, shell=True)", "import subprocess\nsubprocess.run([x])"),
    "unpickling": ("from pickle import loads\nloads(x)", "import json\njson.loads(x)"),
    "unsafe YAML": ("import yaml\nyaml.load(x)", "import yaml\nyaml.load(x, Loader=yaml.SafeLoader)"),
    "no certificate check": ("get(x, verify=False)", "get(x, verify=True)"),
    "SQL from parts": ("c.execute(f'SELECT {x}')", "c.execute('SELECT ?', [x])"),
    "temporary name": ("import tempfile\ntempfile.mktemp()", "import tempfile\ntempfile.mkstemp()"),
    "weak hash": ("import hashlib\nhashlib.new('md5')", "import hashlib\nhashlib.md5(usedforsecurity=False)"),
    "no timeout": ("import requests\nrequests.get(x)", "import requests\nrequests.get(x, timeout=3)"),
    "debugger": ("breakpoint()", "point()"),
    "bare except": ("try:\n    x\nexcept:\n    y", "try:\n    x\nexcept:\n    raise"),
    "dropped exception": (
        "try:\n    x\nexcept Exception:\n    pass",
        "try:\n    x\nexcept KeyError:\n    pass",
    ),
    "mutable default": ("def f(a=[]): return a", "def f(a=()): return a"),
    "comparison": ("x == None", "x is None"),
    "jump out of finally": ("def f():\n  try:\n    x\n  finally:\n    return 1", "try:\n    x\nfinally:\n    y"),
    "duplicate key": ("{1: 2, 1: 3}", "{1: 2, True: 3}"),
    "not an exception": ("raise NotImplemented", "raise NotImplementedError"),
    "unreachable": ("def f():\n    return 1\n    x", "def f():\n    x\n    return 1"),
    "wildcard import": ("from a import *", "from a import b"),
    "naive time": ("import datetime\ndatetime.datetime.utcnow()", "import datetime\ndatetime.datetime.now(utc)"),
    "assert": ("assert x", "x"),
}


def test_every_rule_has_a_case_and_a_known_severity() -> None:
    assert set(CASES) == {rule.name for rule in RULES}
    assert {rule.severity for rule in RULES} <= set(SEVERITIES)


@pytest.mark.parametrize("rule", CASES)
def test_a_rule_finds_what_is_bad_and_leaves_what_is_good(rule: str) -> None:
    bad, good = CASES[rule]

    assert rules(bad) == [rule]
    assert rules(good) == []


def test_tests_may_assert() -> None:
    assert rules("assert x", is_test=True) == []
    assert rules("assert (x, 'm')", is_test=True) == ["assert"]


@pytest.mark.parametrize(
    "line",
    [
        "-----BEGIN RSA PRIVATE KEY-----",
        'api_key = "q7Zp1Lw9Vx3Rt5Yk"',
        '"db_password": "Tr0ub4dor&3x"',
        "url = 'postgres://admin:hunter22@db.internal/x'",
    ],
)
def test_a_credential_is_found_and_never_repeated(line: str) -> None:
    [(number, said)] = credentials_in(f"\n{line}\n")

    assert number == 2
    assert not any(secret in said for secret in ("q7Zp1", "Tr0u", "hunter", "BEGIN RSA"))


@pytest.mark.parametrize(
    "line",
    ['password = "changeme123"', 'token = os.environ["TOKEN"]', 'secret = "{SECRET_VALUE}"', 'password = "aaaaaaaaaa"'],
)
def test_placeholders_are_no_credentials(line: str) -> None:
    assert list(credentials_in(line)) == []


def test_findings_carry_the_line_and_the_worst_come_first(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("# TODO: more\nassert x\neval(x)\ny = '\\d'\n")

    [entry] = hazards.scan({"folder": str(tmp_path), "files": ["a.py"]})["entries"]

    assert [(rule, line) for _, rule, line, _ in entry["findings"]] == [
        ("code from data", 3),
        ("note", 1),
        ("assert", 2),
        ("invalid escape", 4),
    ]
    assert hazards.summary([entry])["totals"] == {
        "high": {"code from data": 1},
        "medium": {},
        "low": {"assert": 1, "invalid escape": 1, "note": 1},
    }


def test_a_common_rule_does_not_push_out_a_rare_one() -> None:
    common = [["high", "shell", line, "x"] for line in range(100)]
    entry = {"file": "a.py", "counts": {"high: shell": 100}, "findings": [*common, ["high", "weak", 1, "y"]]}

    kept = hazards.summary([entry])["findings"]

    assert [row["rule"] for row in kept] == ["shell"] * 6 + ["weak"]
