"""A team at work is changed from a shell: by real engines, in processes of their own."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard.engines.process import Detached
from engine.core.commands import AddAgent, Pause, Ping, RemoveMember, Submit
from engine.core.specs.spec import AgentSpec
from engine.core.state import AgentStatus
from engine.reading.folding import fold_file
from engine.supervisor.client import Client
from store import Reader
from tests.patience import PATIENCE_S
from tests.runtime.console import PROGRAM
from tests.runtime.shell import Run, shell_on, team_at_work, until

TEAM = """
version: 1
supervisor: {name: crew, strategy: sequential, grace_s: 0.1}
agents:
  - {name: waiter, run: "hands:wait", on_failure: [{retry: {retries: 1, base_s: 3000, cap_s: 3000}}]}
  - {name: helper, run: "hands:help_out", specialties: [helping]}
registry:
  - {name: other, run: "hands:help_out"}
"""
HANDS = '''
from pathlib import Path
import anyio

async def wait(text):
    """Wait until somebody makes the file that the request names; fail where it says so."""
    while not Path(text).exists():
        await anyio.sleep(0.01)
    if Path(text).read_text() == "fail":
        raise ValueError("it was told to fail")
    return "waited"

async def help_out(text):
    return "helped"
'''


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Detached]:
    with team_at_work(tmp_path_factory.mktemp("operating"), TEAM, HANDS) as engine:
        yield engine


@pytest.fixture
def run(engine: Detached, capsys: pytest.CaptureFixture[str]) -> Run:
    return shell_on(engine.db, capsys)


def submit(engine: Detached, request: object) -> str:
    client = Client(engine.db)
    run_id = str(client.perform(Submit(request=str(request))).result["run_id"])
    until(engine.db, lambda state: any(task.attempt for task in state.tasks.values() if task.run_id == run_id))
    return run_id


def test_an_insight_that_another_took_the_place_of_is_not_written(run: Run) -> None:
    first = json.loads(run("remember", "the tide is at six", "--json")[1])["insight_id"]
    assert run("remember", "at seven", "--supersedes", first, "--expect", 1)[0] == 0

    status, out, err = run("remember", "at eight", "--supersedes", first, "--expect", 1)

    assert (status, out) == (3, "")
    assert "nothing written" in err
    assert "read it with: quarterdeck memory show m2" in err


def test_an_agent_is_swapped_while_it_works_and_drains(engine: Detached, run: Run, tmp_path: Path) -> None:
    run_id = submit(engine, tmp_path / "go")

    status, out, err = run("swap", "waiter", "--with", "other")

    assert (status, err) == (0, "")
    assert out.startswith("✓ swapped waiter to g2, applied at seq ")
    waiter = next(agent for agent in fold_file(engine.db).agents.values() if agent.name == "waiter")
    assert waiter.status is AgentStatus.DRAINING
    (tmp_path / "go").touch()
    until(engine.db, lambda state: run_id not in state.runs)
    spec = tmp_path / "back.yaml"
    spec.write_text('{name: waiter, run: "hands:wait", on_failure: [{retry: {retries: 1, base_s: 3000, cap_s: 3000}}]}')
    assert run("swap", "waiter", "--with", spec)[0] == 0  # every reference of it is trusted already


def test_code_that_nobody_trusts_is_not_swapped_in(run: Run, tmp_path: Path) -> None:
    spec = tmp_path / "evil.yaml"
    spec.write_text('{name: waiter, run: "os:abort"}')

    status, out, err = run("swap", "waiter", "--with", spec, "--json")

    assert (status, out) == (3, "")
    assert json.loads(err)["code"] == "not_trusted"


def test_agents_of_a_file_are_added_once_and_removed(run: Run, tmp_path: Path) -> None:
    spec = tmp_path / "more.yaml"
    spec.write_text('agents: [{name: one, run: "hands:help_out"}, {name: two, run: "hands:wait"}]')

    assert "✓ added 2 agents under crew" in run("add", spec)[1]
    spec.write_text('agents: [{name: three, run: "hands:help_out"}, {name: two, run: "hands:wait"}]')
    status, out, err = run("add", spec, "--json")
    assert status == 3
    assert json.loads(out)["status"] == "refused"
    assert json.loads(err)["code"] == "duplicate_name"
    assert [run("remove", name)[0] for name in ("one", "two", "three")] == [0, 0, 3]


def test_a_whole_team_is_added_under_a_supervisor(engine: Detached, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "below.yaml"
    file.write_text('version: 1\nsupervisor: {name: below}\nagents: [{name: deep, run: "hands:help_out"}]')

    assert run("add", file, "--under", "crew")[0] == 0

    below = next(each for each in fold_file(engine.db).supervisors.values() if each.name == "below")
    assert fold_file(engine.db).supervisors[below.parent_id or ""].name == "crew"
    assert [run("remove", name)[0] for name in ("deep", "below")] == [0, 0]


def test_a_strategy_is_looked_at_switched_and_switched_back(engine: Detached, run: Run, tmp_path: Path) -> None:
    run_id = submit(engine, tmp_path / "go")

    looked, plan, _ = run("strategy", "crew", "parallel", "--dry-run")
    before = fold_file(engine.db).supervisors["s1"].mode
    switched, out, _ = run("strategy", "crew", "parallel")

    assert (looked, before, switched) == (0, "sequential", 0)
    assert "re-planned   helper" in plan
    assert "goes on      waiter" in plan
    assert out.startswith("✓ switched crew from sequential to parallel, applied at seq ")
    assert fold_file(engine.db).runs[run_id].strategy == "parallel"
    (tmp_path / "go").touch()
    until(engine.db, lambda state: run_id not in state.runs)
    assert run("strategy", "crew", "sequential", "--new-only")[0] == 0


def test_what_is_paused_starts_nothing_until_it_is_resumed(engine: Detached, run: Run, tmp_path: Path) -> None:
    (tmp_path / "go").touch()
    for target in ("waiter", "crew"):
        assert run("pause", target)[1].startswith("✓ paused")
        client = Client(engine.db)
        run_id = str(client.perform(Submit(request=str(tmp_path / "go"))).result["run_id"])
        assert not any(task.attempt for task in fold_file(engine.db).tasks.values())
        assert run("pause", target)[0] == 3
        assert run("resume", target)[1].startswith("✓ resumed")
        until(engine.db, lambda state, run_id=run_id: run_id not in state.runs)  # type: ignore[misc]


def test_a_run_is_cancelled_and_a_task_is_tried_again(engine: Detached, run: Run, tmp_path: Path) -> None:
    (tmp_path / "go").write_text("fail")
    client = Client(engine.db)
    run_id = str(client.perform(Submit(request=str(tmp_path / "go"))).result["run_id"])
    state = until(engine.db, lambda state: any(task.status == "retrying" for task in state.tasks.values()))
    task_id = next(task.id for task in state.tasks.values() if task.status == "retrying")
    (tmp_path / "go").write_text("")

    assert run("retry", task_id)[1].startswith("✓ retrying")
    until(engine.db, lambda state: run_id not in state.runs)
    stopped = submit(engine, tmp_path / "never")
    assert run("cancel", stopped, "-y")[0] == 0
    until(engine.db, lambda state: stopped not in state.runs)
    items = {item["id"]: item["status"] for item in json.loads(run("runs", "--json")[1])["items"]}
    assert (items[run_id], items[stopped]) == ("done", "cancelled")


def test_an_engine_that_stands_still_is_exit_4_and_the_command_is_not_lost(engine: Detached, run: Run) -> None:
    engine.process.send_signal(signal.SIGSTOP)
    try:
        status, out, err = run("pause", "helper", "--timeout", "0.1", "--json")
    finally:
        engine.process.send_signal(signal.SIGCONT)

    assert status == 4
    assert json.loads(out)["status"] == "pending"
    assert json.loads(err)["code"] == "no_answer"
    until(engine.db, lambda state: any(agent.paused for agent in state.agents.values()))
    assert run("resume", "helper")[0] == 0


def test_an_engine_that_only_lacks_room_is_not_to_be_killed(
    engine: Detached, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = os.statvfs_result((4096, 4096, 1000, 9, 9, 10, 10, 10, 0, 255))
    engine.process.send_signal(signal.SIGSTOP)
    try:
        tick = threading.Event()
        with Reader(engine.db) as reader:
            while not (info := reader.engine()) or not info.hung:
                tick.wait(0.05)
        told = {"ps": run("ps")[1], "stop": run("stop")[2], "doctor": run("doctor")[1]}
        monkeypatch.setattr(os, "statvfs", lambda _path: full)
        told_full = {"ps": run("ps")[1], "stop": run("stop")[2], "doctor": run("doctor")[1]}
    finally:
        engine.process.send_signal(signal.SIGCONT)

    assert "but it does not answer" in told["ps"]
    assert "but it has no room on its disk" in told_full["ps"]
    for command in ("stop", "doctor"):
        assert "kill" in told[command] or "--takeover" in told[command]
        assert "no room to write" in told_full[command]
        assert "free some space" in told_full[command]
        assert "kill" not in told_full[command]
        assert "--takeover" not in told_full[command]


def test_an_engine_that_answers_on_a_full_disk_is_said_to_have_no_room(
    engine: Detached, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _path: os.statvfs_result((4096, 4096, 1000, 9, 9, 10, 10, 10, 0, 255)))

    assert "but it has no room on its disk" in run("ps")[1]
    assert "no room to write: free some space" in run("doctor")[1]


def test_a_client_learns_from_the_journal_what_became_of_its_commands(engine: Detached) -> None:
    client = Client(engine.db, sender="test")
    ids = [client.send(Ping()) for _ in range(5)]
    outcomes = [client.wait(command_id) for command_id in reversed(ids)]
    again = client.wait(ids[0], timeout_s=0)
    unknown = client.wait("0" * 32, timeout_s=0)

    assert [outcome.status for outcome in outcomes] == ["applied"] * 5
    assert again == outcomes[-1]
    assert unknown.status == "pending"
    with Reader(engine.db) as reader:
        assert json.loads(reader.record(again.seq or 0).body)["sender"] == "test"


def test_events_are_followed_line_by_line_and_a_closed_pipe_is_quiet(engine: Detached) -> None:

    command = [
        sys.executable,
        "-P",
        "-m",
        "dashboard",
        "events",
        "--follow",
        "--json",
        "-n",
        "1",
        "--db",
        str(engine.db),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as follower:
        assert follower.stdout is not None
        assert follower.stderr is not None
        first = json.loads(follower.stdout.readline())
        client = Client(engine.db)
        outcome = client.perform(Ping())
        following = json.loads(follower.stdout.readline())
        follower.stdout.close()
        client = Client(engine.db)
        client.perform(Ping())
        assert follower.wait(PATIENCE_S) == 0
        said = follower.stderr.read()

    assert (following["seq"], following["kind"]) == (outcome.seq, "command_applied")
    assert first["seq"] == following["seq"] - 1
    assert said == ""


def test_who_follows_the_events_of_a_supervisor_hears_of_agents_that_it_got_meanwhile(engine: Detached) -> None:
    follow = ["events", "--follow", "-n", "1", "--filter", "supervisor:crew", "--db", str(engine.db)]
    with subprocess.Popen([*PROGRAM, *follow], stdout=subprocess.PIPE, text=True) as follower:
        assert follower.stdout is not None
        patience = threading.Timer(PATIENCE_S, follower.kill)
        patience.start()
        follower.stdout.readline()
        client = Client(engine.db)
        client.perform(AddAgent(supervisor="crew", spec=AgentSpec(name="late", agent_type="scripted")))
        client.perform(Pause(target="late"))
        client.perform(RemoveMember(target="late"))
        said = [follower.stdout.readline().split("  ")[-1].strip() for _ in range(2)]
        follower.kill()
        patience.cancel()

    assert said == ["late joined crew", "late was paused: it starts nothing new"]


def test_a_team_is_carried_into_a_new_file_and_into_one_that_works(engine: Detached, run: Run, tmp_path: Path) -> None:
    archive = tmp_path / "team.zip"
    assert run("export", archive)[0] == 0

    refused, _, reason = run("import", archive, db=tmp_path / "new.db")
    done, out, _ = run("import", archive, "--trust", "--json", db=tmp_path / "new.db")
    beside, _, told = run("import", archive)

    assert (refused, done, beside) == (3, 0, 0)
    assert "not trusted: hands:help_out, hands:wait; allow it" in reason
    assert json.loads(out)["creates"]["agents"] == 2
    assert "it is imported as crew-2" in told
    assert [root.name for root in fold_file(tmp_path / "new.db").roots] == ["crew"]
    assert [root.name for root in fold_file(engine.db).roots] == ["crew", "crew-2"]


def test_code_of_an_archive_that_the_folder_does_not_have_is_named_before_anything_comes_in(
    engine: Detached, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "here").mkdir()
    team = TEAM.replace("hands:wait", "here.else_where:work").replace(
        'helper, run: "hands:help_out', 'own, run: "hands:no'
    )
    with team_at_work(tmp_path, team, HANDS + "no = None") as other:
        assert run("export", tmp_path / "team.zip", db=other.db)[0] == 0
    missing = "code of it that is neither in {} nor installed: hands:no, here.else_where:work; its agents cannot work"

    dry, out, _ = run("import", tmp_path / "team.zip", "--dry-run", "--json")
    done, _, told = run("import", tmp_path / "team.zip", "--trust")

    assert (dry, done) == (0, 0)
    assert json.loads(out)["missing"] == ["hands:no", "here.else_where:work"]
    assert [line for line in told.splitlines() if line.startswith(missing.format(engine.db.parent))]
