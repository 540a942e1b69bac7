"""`quarterdeck recipes` on the file of a team without an engine, and its promotion into a catalogue."""

import json
from pathlib import Path

import pytest

from engine.catalogue.catalogue import Catalogue
from engine.core.commands import CreateAgent, RemoveMember, SwapAgent
from engine.core.specs.model_spec import McpSpec
from engine.core.specs.options import SupervisorOptions
from tests.databases import write_database
from tests.runtime.shell import Run, shell_on
from tests.story import attempt, submitted
from tests.world import World, agent, team_world

FIELDS = "id path parent agent_id capabilities missing schema revision references at_ms"


def making(*tools: str) -> World:
    """A function `ada` that has made `sol`, which has made `pars`; `ada` keeps `sol` in its state."""
    options = SupervisorOptions(
        toolsets={"earth": ["work:dig", "work:sort"]}, mcp={"files": McpSpec(argv=("files-mcp",))}
    )
    world = team_world(agent("ada", tools=["work:dig", "work:pack"], mcp=["files"]), options=options)
    rights = ["earth", "pack", "files/read", "agents"]
    world.order(CreateAgent(maker="ada", name="sol", primer="You dig.\x1b[31m", capabilities=rights, model="x/y"))
    world.order(CreateAgent(maker="sol", name="pars", primer="You sort.", capabilities=["earth"], model="x/y"))
    submitted(world)
    changes = {"solver": [{"$agent": "k1"}]}
    world.record(attempt(world, "ada"), "save", state_changes=changes, state_versions={"solver": 0})
    if tools:
        world.order(SwapAgent(agent="ada", spec=agent("ada", tools=[*tools])))
    return world


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    return shell_on(write_database(tmp_path / "team.db", making("work:dig").journal), capsys)


def test_recipes_are_listed_at_a_path_and_below_with_what_they_lack_and_what_refers_to_them(run: Run) -> None:
    body = json.loads(run("recipes", "--json")[1])
    sol, pars = body["items"]

    assert body["kind"] == "recipes"
    assert {*sol} == {*FIELDS.split()}
    assert (sol["path"], sol["parent"], sol["missing"]) == (["ada", "sol"], "a1", ["pack", "files/read"])
    assert sol["references"] == {"agents": ["a2"], "values": ["a1:solver"], "children": ["k2"]}
    assert (pars["path"], pars["parent"], pars["references"]["children"]) == (["ada", "sol", "pars"], "k1", [])
    assert [item["id"] for item in json.loads(run("recipes", "ada/sol/pars", "--json")[1])["items"]] == ["k2"]
    assert "no recipe at 'ada/so'" in run("recipes", "ada/so")[1]
    assert "1 agent, 1 value, 1 child" in run("recipes", "ada")[1]


def test_a_recipe_is_shown_by_its_path_and_nothing_controls_the_terminal(run: Run) -> None:
    status, out, _ = run("recipes", "show", "ada/sol")

    assert status == 0
    assert "\x1b" not in out
    assert all(words in out for words in ("missing   pack, files/read", "solver of ada (a1)", "ada/sol/pars (k2)"))
    (item,) = json.loads(run("recipes", "show", "k1", "--json")[1])["items"]
    assert (item["effective"], item["primer"]) == (["earth", "agents"], "You dig.\x1b[31m")


def test_a_recipe_is_promoted_unapproved_with_the_rights_of_now_and_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = shell_on(write_database(tmp_path / "team.db", making().journal), capsys)
    path = tmp_path / "catalogue.db"

    body = json.loads(run("recipes", "promote", "k1", "--catalogue", path, "--json")[1])
    again = run("recipes", "promote", "ada/sol", "--catalogue", path)[1]

    catalogue = Catalogue.open(path)
    (entry,) = catalogue.entries(limit=9)
    assert (entry.id, entry.is_approved, entry.pack, body["missing"]) == (body["entry"], False, "made-by-ada", [])
    assert (entry.spec.tools, entry.spec.mcp) == (("work:dig", "work:sort", "work:pack"), ("files/read",))
    assert (entry.spec.may, entry.spec.model, entry.spec.agent_type) == (("create_agent",), "x/y", "llm")
    assert catalogue.last_pack("made-by-ada").mcp == {"files": McpSpec(argv=("files-mcp",))}
    assert "in your catalogue already" in again


def test_what_a_maker_has_lost_is_not_promoted(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "catalogue.db"
    out = run("recipes", "promote", "k1", "--catalogue", path)[1]

    assert "without pack, files/read, which its maker does not have" in out
    assert next(iter(Catalogue.open(path).entries(limit=9))).spec.tools == ("work:dig", "work:sort")


def test_a_dry_run_lists_what_nothing_refers_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = making()
    world.order(RemoveMember(target="pars"))
    run = shell_on(write_database(tmp_path / "team.db", world.journal), capsys)

    assert [item["id"] for item in json.loads(run("recipes", "gc", "--dry-run", "--json")[1])["items"]] == ["k2"]


@pytest.mark.parametrize(
    ("words", "status", "line"),
    [
        (("show", "k99"), 3, "no recipe 'k99'; known: k1 ada/sol"),
        (("promote", "../x"), 3, "no recipe '../x'"),
        (("show",), 2, "missing argument 'ID'"),
        (("remove", "k1"), 4, "no engine answers, so nothing was changed"),
        (("gc",), 4, "no engine answers, so nothing was changed"),
    ],
)
def test_bad_input_is_one_line(run: Run, words: tuple[str, ...], status: int, line: str) -> None:
    code, out, err = run("recipes", *words)

    assert (code, out, len(err.splitlines())) == (status, "", 1)
    assert line in err


def test_code_of_a_running_program_is_not_promoted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = team_world(agent("ada", tools=["bound:dig#1"]))
    world.order(CreateAgent(maker="ada", name="sol", primer="You dig.", capabilities=["dig"], model="x/y"))
    run = shell_on(write_database(tmp_path / "team.db", world.journal), capsys)

    status, _, err = run("recipes", "promote", "k1", "--catalogue", tmp_path / "catalogue.db")

    assert status == 3
    assert "code of a running program" in err
    assert not (tmp_path / "catalogue.db").exists()
