"""What `quarterdeck catalogue` prints, as JSON for scripts and as lines for people."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dashboard.cli import main

KEYS = "id name pack revision hash type specialties references approved_by score matched missing"
PACK = """
pack: {name: tides, version: "1.2", author: Ada, licence: MIT}
agents:
- {name: surveyor, run: "os:system", specialties: [tide tables], limits: {attempts: 3}}
- {name: writer, model: gpt-4o-mini, instructions: You write., specialties: [reports], mcp: [charts]}
mcp: {charts: {argv: [charts-mcp, --all]}}
"""
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run `quarterdeck catalogue` in a folder with a pack: its exit status, what it wrote to stdout and to stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("QUARTERDECK_CATALOGUE", str(tmp_path / "catalogue.db"))
    (tmp_path / "pack.yaml").write_text(PACK, encoding="utf-8")

    def run(*words: str) -> tuple[int, str, str]:
        status = main(["catalogue", *words])
        out, err = capsys.readouterr()
        return status, out, err

    return run


def items(run: Run, *words: str) -> list[dict[str, Any]]:
    """Return the items of a subcommand that succeeds."""
    status, out, err = run(*words, "--json")
    body = json.loads(out)
    assert (status, err, body["v"], out.count("\n")) == (0, "", 1, 1)
    found: list[dict[str, Any]] = body["items"]
    return found


def test_a_search_has_the_shape_that_scripts_rely_on(run: Run) -> None:
    (pack,) = items(run, "add", "pack.yaml")
    assert (len(pack["added"]), pack["changed"], pack["unchanged"], pack["signed_by"]) == (2, [], 0, None)

    (found,) = items(run, "search", "tide", "crossing", "--all")
    (listed, _) = items(run, "search", "--all")

    expected = {
        "id": pack["added"][0],
        "name": "surveyor",
        "pack": "tides",
        "revision": 1,
        "hash": listed["hash"],
        "type": "function",
        "specialties": ["tide tables"],
        "references": ["os:system"],
        "approved_by": None,
        "score": found["score"],
        "matched": ["tide"],
        "missing": ["crossing"],
    }
    assert (" ".join(found), found) == (KEYS, expected)
    assert listed == {**expected, "score": None, "matched": [], "missing": []}
    assert items(run, "search", "tide") == []


def test_an_approval_is_of_a_revision_and_a_revocation_or_a_change_ends_it(run: Run, tmp_path: Path) -> None:
    surveyor, writer = items(run, "add", "pack.yaml")[0]["added"]

    approved = items(run, "approve", surveyor, writer)
    assert [bool(item["approved_by"]) for item in approved] == [True, True]
    assert items(run, "revoke", surveyor)[0]["approved_by"] is None
    (tmp_path / "pack.yaml").write_text(PACK.replace("You write.", "You draw."), encoding="utf-8")
    assert items(run, "add", "pack.yaml")[0]["changed"] == [writer]
    (shown,) = items(run, "show", writer)
    assert (shown["revision"], shown["approved_by"], len(shown["revisions"])) == (2, None, 2)
    assert "is at revision 2 now, not 1; look at it again" in run("approve", f"{writer}@1")[2]
    assert items(run, "approve", f"{writer}@2")[0]["approved_by"]
    assert shown["servers"] == {"charts": "exec:charts-mcp --all"}
    (change,) = items(run, "diff", f"{writer}@1", f"{writer}@2")
    assert (change["field"], change["a"], change["b"]) == ("instructions", "You write.", "You draw.")
    assert items(run, "remove", writer)[0]["approved_by"] is None
    assert [item["name"] for item in items(run, "search", "--all")] == ["surveyor"]


def test_an_exported_pack_is_the_same_pack_when_it_is_added_again(run: Run, tmp_path: Path) -> None:
    items(run, "add", "pack.yaml")
    assert run("export", "out.yaml")[0] == 0

    (again,) = items(run, "add", "out.yaml")

    assert (again["name"], again["added"], again["changed"], again["unchanged"]) == ("tides", [], [], 2)
    (tmp_path / "pack.yaml").write_text(PACK.replace("--all", "--few"), encoding="utf-8")
    items(run, "add", "pack.yaml")  # its servers change without its agents
    assert run("export", "last.yaml")[0] == 0
    assert "--few" in (tmp_path / "last.yaml").read_text(encoding="utf-8")
    assert run("export", "out.yaml")[::2] == (2, "quarterdeck: out.yaml exists; give another name, or --force\n")


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        (["show", "c1"], 3, "no entry 'c1'"),
        (["approve", "c1"], 2, "there is no entry 'c1'"),
        ([], 2, "say what to do: add, approve, diff, export, keys, "),
        (["add"], 2, "say what to add; one of FILE, --component NAME, --acp-registry FILE"),
        (["export", "none.yaml"], 2, "the catalogue is empty; see: quarterdeck catalogue search --all"),
        (["keys", "add", "me", "nonsense"], 2, "this is not a public key of minisign"),
        (["show", "c\udcff"], 3, "no entry 'c\\udcff'"),
        (["approve", "c\udcff"], 2, "'c\\udcff' is not text in UTF-8"),
        (["export", "x.yaml", "--pack", "c\udcff"], 2, "the catalogue has no pack"),
        (["keys", "remove", "c\udcff"], 2, "'c\\udcff' is not text in UTF-8"),
        (["nonsense"], 2, "no such command 'nonsense'"),
    ],
)
def test_what_cannot_be_done_is_one_line_that_says_what_to_do(
    run: Run, words: list[str], status: int, text: str
) -> None:
    found, out, err = run(*words)

    assert (found, out, err.count("\n")) == (status, "", 1)
    assert text in err


def test_people_are_told_that_a_list_is_cut_and_that_they_have_no_catalogue(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(Path.cwd()))
    monkeypatch.setenv("QUARTERDECK_CATALOGUE", "~/mine.db")
    items(run, "add", "pack.yaml")
    assert Path("mine.db").exists()
    assert run("search", "--all", "--limit", "1")[1].endswith("only the first 1 are shown; --limit allows more\n")
    monkeypatch.delenv("QUARTERDECK_CATALOGUE")
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("HOME", "")
    assert run("search")[1] == "this user has no home folder, so no catalogue; set XDG_DATA_HOME or give --catalogue\n"
    assert "no entry 'c1' in the catalogue" in run("show", "c1")[2]
    assert items(run, "keys", "--catalogue", "other.db") == []
    key = "RWQBAQEBAQEBAYqI4910CfGV/VLbLTy6XXLKZwm/HZQSG/N0iAG0D29c"
    assert items(run, "keys", "--catalogue", "other.db", "add", "ada", key)[0]["key"] == key


def test_a_damaged_catalogue_is_one_line_and_is_left_as_it_is(run: Run, tmp_path: Path) -> None:
    (tmp_path / "catalogue.db").write_bytes(b"nonsense" * 1_000)

    for words in (["search"], ["add", "pack.yaml"], ["keys"]):
        status, out, err = run(*words)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert "the catalogue cannot be used" in err
    assert (tmp_path / "catalogue.db").read_bytes() == b"nonsense" * 1_000


def test_names_of_a_hostile_pack_cannot_control_the_terminal(run: Run, tmp_path: Path) -> None:
    text = PACK.replace("You write.", r'"\e[2J\u202ewrite"')
    (tmp_path / "pack.yaml").write_text(text, encoding="utf-8")
    writer = items(run, "add", "pack.yaml")[0]["added"][1]

    _, out, _ = run("show", writer)

    assert "\x1b" not in out
    assert "\u202e" not in out
