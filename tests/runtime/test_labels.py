"""Labels of requests from programs and shells, to functions and programs."""

import json
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from engine.reading.folding import fold_file
from quarterdeck import AgentSpec, CommandRefusedError, DynamicSupervisor
from tests.runtime.shell import shell_on

pytestmark = pytest.mark.anyio


async def say_labels(task: Any, ctx: Any) -> Any:
    labels = dict(task.labels)
    task.labels["mine"] = "alone"  # a copy: nothing else sees it
    return labels


async def test_functions_see_the_labels_of_their_request_and_a_bad_one_is_refused(tmp_path: Path) -> None:
    agents = [AgentSpec(name="first", run=say_labels), AgentSpec(name="last", run=say_labels)]
    async with DynamicSupervisor("team", agent_specs=agents, store=tmp_path / "team.db") as team:
        assert (await team.arun("go", labels={"team": "web"})).output == {"team": "web"}
        assert (await team.arun("go")).output == {}
        events = [event async for event in team.stream("go", labels={"team": "search"})]
        assert events[-1].result == {"team": "search"}
        attached = DynamicSupervisor.attach(tmp_path / "team.db")
        assert (await attached.arun("go", labels={"env": "prod"})).output == {"env": "prod"}
        with pytest.raises(CommandRefusedError, match=r"labels.key must be a lowercase .*, not 'Team'$"):
            await attached.arun("go", labels={"Team": "web"})
        with pytest.raises(CommandRefusedError, match="labels must be a mapping of at most 8"):
            await team.submit("go", labels={f"k{number}": "x" for number in range(9)})


async def test_a_shell_gives_a_request_labels_and_lists_by_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    db = tmp_path / "team.db"
    async with DynamicSupervisor("team", agent_specs=[AgentSpec(name="a", run=say_labels)], store=db) as team:
        await team.arun("go", labels={"team": "web"})
        run = shell_on(db, capsys)
        words = ("run", "go", "--detach", "--label", "team=search", "--label", "env=a b=c")
        assert (await anyio.to_thread.run_sync(run, *words))[1] == "r2\n"
        await team.wait("r2")

    for bad, said in (
        ("team", "'team' is not a label; write key=text, such as team=web"),
        ("team=", "--label team must be a text of 1 to 64 characters without control characters, not ''"),
        ("Team=x", "--label key must be a lowercase ASCII letter"),
    ):
        status, out, error = run("run", "go", "--queue", "--label", bad)
        assert (status, out, error.count("\n"), said in error) == (2, "", 1, True), error
    assert "given twice" in run("run", "go", "--queue", "--label", "a=1", "--label", "a=2")[2]
    assert fold_file(db).finished[-1].labels == {"team": "search", "env": "a b=c"}

    def listed(*words: str) -> list[str]:
        return [item.get("run_id", item["id"]) for item in json.loads(run(*words, "--json")[1])["items"]]

    assert listed("runs", "--filter", "label:team=web") == ["r1"]
    assert listed("runs", "--filter", 'label:"env=a b=c"') == ["r2"]
    assert listed("tasks", "--all", "--filter", "label:team=search") == ["r2"]
    found = run("events", "--filter", "label:team=web kind:run_", "--json")[1].splitlines()
    assert [json.loads(line)["kind"] for line in found] == ["run_submitted", "run_finished"]
