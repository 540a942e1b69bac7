"""`quarterdeck memory` on the file of a team without an engine."""

import json
from pathlib import Path

import pytest

from engine.core.commands import Remember
from engine.core.signals import InsightNoted
from tests.databases import write_database
from tests.runtime.shell import Run, shell_on
from tests.story import attempt, submitted
from tests.world import LONG, agent, team_world

FIELDS = "id author segment tags importance text at_ms expires_ms version supersedes superseded_by reads evidence"


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """A shell on a team with an insight of an agent, and one of a person in two versions."""
    world = team_world(agent("ada"))
    submitted(world)
    task_id, number = attempt(world, "ada")
    world.say(
        InsightNoted(
            task_id=task_id,
            attempt=number,
            key="remember:1",
            text=f"\x1b[31m{LONG}",
            tags=["sea"],
            importance=0.9,
        )
    )
    world.order(Remember(text="tides at six", segment="facts", tags=("sea", "tide")))
    world.order(Remember(text="tides at seven", segment="facts", tags=("sea",), supersedes="m2"))
    return shell_on(write_database(tmp_path / "team.db", world.journal), capsys)


def ids(run: Run, *words: object) -> list[str]:
    return [item["id"] for item in json.loads(run("memory", *words, "--json")[1])["items"]]


def test_words_and_conditions_find_insights_and_json_has_them_whole(run: Run) -> None:
    body = json.loads(run("memory", "reference", "--json")[1])
    (item,) = body["items"]

    assert (body["kind"], body["total"], body["cut"]) == ("memory", 1, False)
    assert {*item} == {*FIELDS.split()}
    assert item["text"] == f"\x1b[31m{LONG}"
    assert item["evidence"] == {"run_id": "r1", "task_id": "t2", "step": "remember:1"}
    assert ids(run) == ["m1", "m3"]
    assert ids(run, "--segment", "facts") == ["m3"]
    assert ids(run, "--any-tag", "tide", "--any-tag", "sea") == ["m1", "m3"]
    assert ids(run, "--all-tag", "tide", "--all-tag", "sea") == []
    assert ids(run, "--min-importance", 0.6) == ["m1"]
    assert ids(run, "search", "show") == []


def test_a_list_that_is_cut_says_so(run: Run) -> None:
    assert json.loads(run("memory", "--limit", 1, "--json")[1])["cut"] is True
    assert "1 of 2; --limit shows more" in run("memory", "--limit", 1)[1]


def test_an_insight_is_shown_with_its_step_and_versions_and_nothing_controls_the_terminal(run: Run) -> None:
    status, out, _ = run("memory", "show", "m1", "@m3")

    assert status == 0
    assert "\x1b" not in out
    assert all(words in out for words in ("remember:1", "version 2 in facts", "version 1  m2", "held by reference"))
    assert json.loads(run("memory", "--json", "show", "m2")[1])["items"][0]["superseded_by"] == "m3"


@pytest.mark.parametrize(
    ("words", "status", "line"),
    [
        (("show", "m99"), 3, "there is no insight 'm99'; it may be forgotten by now"),
        (("show",), 2, "missing argument 'ID...'"),
        (("forget", "m1"), 4, "no engine answers, so nothing was changed"),
        (("--segment", "Bad!"), 2, "--segment must be a lowercase ASCII letter"),
        (("--any-tag", ""), 2, "--any-tag must be"),
        (("--min-importance", "nan"), 2, "'nan' is not a number"),
        (("x" * 10_001,), 2, "WORDS must be"),
    ],
)
def test_bad_input_is_one_line(run: Run, words: tuple[str, ...], status: int, line: str) -> None:
    code, out, err = run("memory", *words)

    assert (code, out, len(err.splitlines())) == (status, "", 1)
    assert line in err


def test_a_team_that_remembers_nothing_says_how_insights_come_about(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = shell_on(write_database(tmp_path / "other.db", team_world(agent("ada")).journal), capsys)

    assert "you: quarterdeck remember" in run("memory")[1]
