"""Work under way is handled from a shell: who does it, how urgent it is, by when, and what a person decides."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard.engines.process import Detached
from engine.core.state import State, TaskStatus
from engine.reading.folding import fold_file
from tests.runtime.shell import Run, shell_on, team_at_work, until

TEAM = """
version: 1
supervisor: {name: crew, strategy: sequential, participants: [waiter], grace_s: 0.1}
agents:
  - {name: waiter, run: "hands:wait", specialties: [waiting], max_concurrency: 9, on_failure: [{escalate: 300}]}
  - {name: other, run: "hands:wait", specialties: [waiting], max_concurrency: 9}
teams:
  - supervisor: {name: below}
    agents: [{name: helper, run: "hands:wait", specialties: [helping]}]
registry:
  - {name: quick, run: "hands:quick", specialties: [waiting], max_concurrency: 9}
"""
TEAM_THAT_SEARCHES = """
version: 1
supervisor: {name: crew, auto_discover: true, discovery: {modes: [rag], documents: [agents/*.md]}}
agents: [{name: quick, run: "hands:quick", specialties: [quickness]}]
"""
HANDS = '''
from pathlib import Path
import anyio

async def wait(task, ctx):
    """Wait until somebody makes the file that the request names; fail where it says so."""
    async def look():
        while not Path(task.text).exists():
            await anyio.sleep(0.01)
        return Path(task.text).read_text()
    said = await ctx.step("look", look)
    if said == "fail":
        raise ValueError("it was told to fail")
    return f"waited for {Path(task.text).name}"

async def quick(text):
    return "quick"
'''


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Detached]:
    with team_at_work(tmp_path_factory.mktemp("handling"), TEAM, HANDS) as engine:
        yield engine


@pytest.fixture
def run(engine: Detached, capsys: pytest.CaptureFixture[str]) -> Run:
    return shell_on(engine.db, capsys)


def begun(run: Run, engine: Detached, path: Path) -> tuple[str, str]:
    """Submit a request that waits for `path`, and return its run and its task once it is at work."""
    status, out, _ = run("run", path, "--detach")
    assert status == 0
    run_id = out.strip()

    def at_work(state: State) -> bool:
        return any(task.attempt for task in state.tasks.values() if task.run_id == run_id and task.kind == "agent")

    state = until(engine.db, at_work)
    (task,) = (one for one in state.tasks.values() if one.run_id == run_id and one.kind == "agent")
    return run_id, task.id


def test_a_task_at_work_is_made_urgent_given_a_deadline_and_another_agent(
    run: Run, engine: Detached, tmp_path: Path
) -> None:
    run_id, task_id = begun(run, engine, tmp_path / "a")

    assert run("priority", run_id, 0)[0] == 0
    assert run("deadline", task_id, "5m")[0] == 0
    assert run("reassign", task_id, "other", "--now")[0] == 0

    state = until(engine.db, lambda state: state.tasks[task_id].agent_id == state.agents["a2"].id)
    task = state.tasks[task_id]
    assert (task.priority, task.deadline_ms is not None) == (0, True)
    (tmp_path / "a").write_text("go")
    assert run("wait", run_id)[:2] == (0, "waited for a\n")


def test_a_question_is_listed_and_answered_with_an_output(run: Run, engine: Detached, tmp_path: Path) -> None:
    (tmp_path / "b").write_text("fail")
    status, out, _ = run("run", tmp_path / "b", "--detach")
    run_id = out.strip()
    until(engine.db, lambda state: bool(state.escalations))

    status, out, _ = run("inbox", "--json")
    (item,) = json.loads(out)["items"]
    refused = run("answer", item["id"], "perhaps")
    answered = run("answer", item["id"], "use", "--output", "a person did it")

    assert status == 0
    assert (item["about"], item["run_id"], item["default"]) == ("failure", run_id, "reject")
    assert (refused[0], "choose one of" in refused[2]) == (3, True)
    assert answered[0] == 0
    assert run("wait", run_id)[:2] == (0, "a person did it\n")
    assert run("inbox")[1] == "no question waits for an answer\n"


def test_a_run_that_nothing_came_of_says_so_and_did_not_succeed(run: Run, engine: Detached, tmp_path: Path) -> None:
    (tmp_path / "s").write_text("fail")
    run_id = run("run", tmp_path / "s", "--detach")[1].strip()
    until(engine.db, lambda state: bool(state.escalations))
    run("answer", next(iter(fold_file(engine.db).escalations)), "skip")

    status, out, err = run("wait", run_id)

    assert (status, out) == (1, "")
    assert f"run {run_id} of team crew was skipped: waiter: it was told to fail" in err
    assert json.loads(run("runs", "--json")[1])["items"][-1]["status"] == "skipped"


def test_agents_are_swapped_in_every_mode_and_rolled_back(run: Run, engine: Detached, tmp_path: Path) -> None:
    run_id, _ = begun(run, engine, tmp_path / "c")

    migrated = run("swap", "waiter", "--with", "quick", "--mode", "abort")

    assert migrated[0] == 0
    assert run("wait", run_id)[:2] == (0, "quick\n")
    assert run("rollback", "waiter")[0] == 0
    assert fold_file(engine.db).agents["a1"].generation == 3
    assert run("swap", "waiter", "other", "--with", "quick", "--mode", "drain")[0] == 0
    assert run("rollback", "waiter")[0] == 0
    assert run("rollback", "other")[0] == 0
    assert run("swap", "nobody", "--with", "quick")[0] == 3


def test_members_move_and_settings_and_capabilities_change(run: Run, engine: Detached) -> None:
    assert run("capability", "other", "--add", "sums")[0] == 0
    assert run("move", "helper", "crew")[0] == 0
    assert run("set", "crew", "--max-total", 5, "--balance", "least_load")[0] == 0

    state = fold_file(engine.db)
    assert "sums" in state.spec_of(state.agents["a2"]).specialties
    assert state.agents["a3"].supervisor_id == "s1"
    assert (state.supervisors["s1"].options.max_total, state.supervisors["s1"].options.balance) == (5, "least_load")


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("priority", "r999", 1), 3, "no open run or task 'r999'"),
        (("priority", "r1", 12), 2, "12 is not in the range"),
        (("deadline", "r999", "soon"), 2, "'soon' is not a deadline"),
        (("reassign", "t999", "other"), 3, "'t999'"),
        (("rollback", "helper"), 3, "helper"),
        (("move", "crew", "below"), 3, "crew"),
        (("swap", "waiter"), 2, "say what with"),
        (("swap", "waiter", "--with", "quick", "--rollback-after", "x"), 2, "is not N/M"),
        (("answer", "e99", "retry"), 3, "no question 'e99'"),
        (("set", "crew"), 2, "nothing to change"),
        (("capability", "other"), 2, "nothing to change"),
        (("strategy", "crew", "map", "--set", "rounds"), 2, "is not a setting"),
        (("run", "x", "--priority", 3, "--after", "r999", "--detach"), 3, "r999"),
    ],
)
def test_what_cannot_be_is_one_line_that_says_why(run: Run, words: tuple[object, ...], status: int, said: str) -> None:
    ended, out, err = run(*words)

    assert (ended, out) == (status, "")
    assert said in err
    assert len(err.splitlines()) <= 3
    assert "Traceback" not in err


def test_a_run_with_a_deadline_that_passes_fails_and_says_so(run: Run, engine: Detached, tmp_path: Path) -> None:
    status, _, err = run("run", tmp_path / "never", "--deadline", "0.2s")

    assert status == 1
    assert "deadline" in err
    ended = fold_file(engine.db).finished[-1]
    assert (ended.status, TaskStatus.FAILED.value) == ("failed", "failed")


def test_an_agent_that_was_found_is_listed_and_joins_once_its_code_is_allowed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "painter.md").write_text(
        '---\nname: painter\nrun: "brush:paint"\nspecialties: [paint, pictures]\n---\n'
    )
    (tmp_path / "brush.py").write_text("def paint(text):\n    return 'painted'\n")
    with team_at_work(tmp_path, TEAM_THAT_SEARCHES, HANDS) as engine:
        run = shell_on(engine.db, capsys)
        run_id = run("run", "paint pictures", "--detach")[1].strip()
        until(engine.db, lambda state: bool(state.escalations))
        (item,) = json.loads(run("inbox", "--json")[1])["items"]
        listed, refused = run("inbox")[1], run("answer", item["id"], "add")
        answered = run("answer", item["id"], "add", "--trust")

        assert item["agents"] == [
            {
                "name": "painter", "type": "function", "source": "rag", "id": "agents/painter.md",
                "hash": item["agents"][0]["hash"], "score": 1.0, "matched": ["paint", "pictures"],
                "references": ["brush:paint"],
            }
        ]  # fmt: skip
        assert "agent painter, from the documents: agents/painter.md" in listed
        assert "uses  brush:paint" in listed
        assert (refused[0], "runs code that is not trusted: brush:paint" in refused[2]) == (3, True)
        assert answered[0] == 0
        assert run("wait", run_id)[:2] == (0, "painted\n")
