"""Subcommands about the work of models, on a real engine: steps, forks, replays, conversations, steering, grants."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard.engines.process import Detached
from engine.core.commands import Submit
from engine.core.state import State
from engine.reading.folding import fold_file
from engine.supervisor.client import Client
from store import Reader
from tests.contract.test_cli_json import check
from tests.runtime.shell import Run, shell_on, team_at_work, until

TEAM = """
version: 1
models:
  lead:
    replies:
      - match: harbour
        calls:
          - {name: delegate, arguments: {worker: scout, instructions: look at pier 1}}
          - {name: delegate, arguments: {worker: scout, instructions: look at pier 2}}
      - {match: "^/", calls: [{name: delegate, arguments: {worker: waiter, instructions: "{text}"}}]}
      - {text: "So: {text}"}
  other:
    replies:
      - {match: harbour, calls: [{name: delegate, arguments: {worker: scout, instructions: look at pier 9}}]}
      - {text: "Who knows: {text}"}
  scout: {replies: [{text: "Calm, {text}."}]}
  waiter:
    replies:
      - {match: "^/", calls: [{name: wait, arguments: {path: "{text}"}}]}
      - {match: tides, text: The tides are low.}
      - {text: "I {text}"}
supervisor: {name: chief, model: lead, instructions: You lead.}
agents:
  - {name: scout, type: SimpleAgent, model: scout}
  - {name: waiter, type: ReactAgent, model: waiter, tools: ["hands:wait"], approve: {wait: always}, on_failure: [fail]}
"""
HANDS = '''
from pathlib import Path
import anyio

async def wait(path: str) -> str:
    """Wait for a file.

    Args:
        path: The file.
    """
    while not Path(path).exists():
        await anyio.sleep(0.01)
    return "waited"
'''


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Detached]:
    with team_at_work(tmp_path_factory.mktemp("models"), TEAM, HANDS) as engine:
        client = Client(engine.db)
        client.perform(Submit(request="How is the harbour?"))
        until(engine.db, lambda state: not state.runs)
        yield engine


@pytest.fixture
def run(engine: Detached, capsys: pytest.CaptureFixture[str]) -> Run:
    return shell_on(engine.db, capsys)


def first_step(run: Run) -> str:
    """Return the first step of the lead in the first run."""
    return str(json.loads(run("steps", "t2", "--json")[1])["items"][0]["step"])


def at_work(engine: Detached, run: Run, path: Path) -> str:
    """Return the task of a waiter that waits for a file."""
    client = Client(engine.db)
    run_id = str(client.perform(Submit(request=str(path))).result["run_id"])
    state = until(engine.db, lambda state: bool(state.escalations) or bool(waits(state)))
    for question in state.escalations:
        assert run("answer", question, "allow_once")[0] == 0
    state = until(engine.db, lambda state: bool(waits(state)))
    (task_id,) = (one for one in waits(state) if state.tasks[one].run_id == run_id)
    return task_id


def waits(state: State) -> list[str]:
    """Return the tasks whose tool runs."""
    return [task.id for task in state.tasks.values() if task.calling]


def test_steps_are_listed_for_people_and_for_scripts(run: Run) -> None:
    status, out, err = run("steps", "t2")
    _, written, _ = run("steps", "@t2", "--json")
    missing = run("steps", "t99")

    assert (status, err) == (0, "")
    assert [line.split()[1].split(":")[:2] for line in out.splitlines()[1:]] == [["turn", "1"], ["turn", "2"]]
    assert missing[0] == 2
    assert "there is no task 't99'" in missing[2]
    check("steps", written)


def test_a_run_that_is_walked_through_again_comes_to_the_same(run: Run) -> None:
    status, out, err = run("replay", "r1")
    _, written, _ = run("replay", "@r1", "--json")
    missing = run("replay", "r99")

    assert (status, err) == (0, "")
    assert out == "✓ r1 gives the same result: 4 recorded steps answered from the journal\n"
    assert (missing[0], missing[2].split(";")[0]) == (2, "quarterdeck: no run 'r99' has ended here (team chief)")
    check("replay", written)


def test_another_model_is_laid_beside_the_first_step_by_step(run: Run, tmp_path: Path) -> None:
    words = ("replay", "r1", "--with-model", "other", "--from", f"t2/{first_step(run)}", "--into")

    status, out, err = run(*words, tmp_path / "new.db")
    _, written, _ = run(*words, tmp_path / "newer.db", "--json")
    again = run(*words, tmp_path / "new.db")

    assert status == 0, err
    head, _, *rows = out.splitlines()
    assert head == "r1 with other: 4 steps of 4 differ"
    assert [row.split()[:3] for row in rows] == [
        ["≠", "t2", "turn:1"], ["≠", "t2", "turn:2"], ["≠", "t3", "turn:1"], ["≠", "t4", "turn:1"],
        ["≠", "r1", "output"],
    ]  # fmt: skip
    assert "→ delegate(scout, look at pier 9)" in rows[0]
    assert rows[3].endswith("nothing")
    assert again[0] == 2
    assert "already exists" in again[2]
    check("replay-with-model", written)


def test_the_same_model_differs_nowhere(run: Run, tmp_path: Path) -> None:
    step = f"t2/{first_step(run)}"

    status, out, _ = run("replay", "r1", "--with-model", "lead", "--from", step, "--into", tmp_path / "new.db")

    assert status == 0
    assert out.splitlines()[0] == "r1 with lead: 0 steps of 4 differ"


def test_a_fork_is_made_of_a_moment_and_with_another_result(run: Run, tmp_path: Path) -> None:
    step = f"t2/{first_step(run)}"

    status, out, err = run("fork", tmp_path / "new.db", "--step", step, "--output-json", '"It is closed."')
    _, written, _ = run("fork", tmp_path / "newer.db", "--at", "1", "--json")
    half = run("fork", tmp_path / "newest.db", "--step", step)

    assert status == 0
    assert out.startswith(f"✓ forked to {tmp_path / 'new.db'} at seq ")
    assert "1 open run with " in out
    assert "continue: quarterdeck engine --db " in err
    assert half[0] == 2
    assert fold_file(tmp_path / "new.db").runs["r1"].paused
    check("fork", written)


def test_a_conversation_is_begun_and_gone_on_with(engine: Detached, run: Run) -> None:
    begun = run("run", "What now?", "--conversation", "harbour")
    named = run("run", "And then?", "--conversation", "harbour")
    last = run("run", "And at last?", "--continue")
    both = run("run", "x", "--continue", "--conversation", "harbour")

    assert [status for status, _, _ in (begun, named, last)] == [0, 0, 0]
    assert last[1] == "And at last?\n"  # the replies of the script are used up by what was said before
    talk = fold_file(engine.db).supervisors["s1"].conversations["harbour"]
    assert len(talk.exchanges) == 3
    assert both[0] == 2


def test_work_is_steered_at_its_next_turn(engine: Detached, run: Run, tmp_path: Path) -> None:
    task_id = at_work(engine, run, tmp_path / "steered")

    status, out, err = run("steer", task_id, "Look at the tides as well")
    (tmp_path / "steered").touch()
    until(engine.db, lambda state: not state.runs)

    assert (status, err) == (0, "")
    assert "applied at seq " in out
    with Reader(engine.db) as reader:
        done = reader.records(0, task_id=task_id, kinds=("attempt_done",))
    assert json.loads(done[0].body)["output"] == "The tides are low."
    assert run("steer", "t99", "Hello")[0] == 3


def test_work_is_aborted_at_once(engine: Detached, run: Run, tmp_path: Path) -> None:
    task_id = at_work(engine, run, tmp_path / "never")

    status, out, err = run("abort", task_id)
    until(engine.db, lambda state: task_id not in state.tasks or state.tasks[task_id].ended)

    assert (status, err) == (0, "")
    assert "applied at seq " in out
    until(engine.db, lambda state: not state.runs)
    assert run("abort", task_id)[0] == 3


def test_a_change_is_taken_back_and_no_change_twice(engine: Detached, run: Run) -> None:
    assert run("pause", "scout")[0] == 0

    status, out, _ = run("undo")
    again = run("undo", "no-such-command")

    assert status == 0
    assert "applied at seq " in out
    assert not next(one for one in fold_file(engine.db).agents.values() if one.name == "scout").paused
    assert again[0] == 3


def test_what_a_person_allowed_for_good_is_listed_and_taken_back(engine: Detached, run: Run, tmp_path: Path) -> None:
    (tmp_path / "go").touch()
    client = Client(engine.db)
    client.perform(Submit(request=str(tmp_path / "go")))
    (question,) = until(engine.db, lambda state: bool(state.escalations)).escalations
    assert run("answer", question, "allow_always")[0] == 0
    until(engine.db, lambda state: not state.runs)

    status, out, _ = run("grants")
    _, written, _ = run("grants", "--json")
    revoked = run("grants", "--revoke", "g1")

    assert status == 0
    assert out.splitlines()[1].split()[:5] == ["g1", "waiter", "g1", "wait", "allowed"]
    assert revoked[0] == 0
    assert run("grants")[1] == "nothing is granted\n"
    assert run("grants", "--revoke", "g1")[0] == 3
    check("grants", json.dumps({**json.loads(written), "seq": 138}))  # it depends on the tests before


def test_what_came_of_the_work_of_agents_is_listed_by_category(run: Run) -> None:
    status, out, _ = run("agents", "--by-category", "--filter", "agent:scout")

    titles, line = out.splitlines()
    assert (status, " ".join(titles.split())) == (
        0, "AGENT UNDER CATEGORY DONE FAIL CANCELLED OK TIME EACH USD EACH COST"
    )  # fmt: skip
    assert line.split()[:7] == ["scout", "chief", "none", "2", "0", "0", "–"]
    assert line.split()[-2:] == ["0.0000", "0.0000"]
