"""Engines started, used, killed and ended from the command line, each in processes of its own as a person has them."""

import gzip
import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.reading.folding import fold_file
from tests.contract.corpus.reading import FOLDER
from tests.patience import PATIENCE_S
from tests.runtime.console import Console, await_event, engine_of, kill_engines
from tests.runtime.shell import at_a_terminal

SLOW = """\
version: 1
supervisor: {name: slow, strategy: sequential}
agents:
  - {name: first, script: [{delay_s: 1.5, output: "first: {text}"}]}
  - {name: second, script: [{output: "second: {text}"}]}
"""
CREW = """\
version: 1
supervisor: {name: shouters}
agents:
  - {name: shouter, run: "shouting:shout"}
"""
CODE = "def shout(text):\n    print('noise of the team')\n    return text.upper()\n"


@pytest.fixture
def console(tmp_path: Path) -> Iterator[Console]:
    yield Console(tmp_path)
    kill_engines(tmp_path)


def test_a_team_outlives_the_command_that_started_it_and_is_taken_over_when_its_file_changes(console: Console) -> None:
    console.write("team.yaml", SLOW)
    up = console.json("up", "team.yaml")
    again = console.json("up", "team.yaml")
    console.write("team.yaml", SLOW + "  - {name: third, script: []}\n")
    changed = console.json("up", "team.yaml")
    stopped = console.json("stop")

    assert up["started"]
    assert up["loaded"] == {"agents_added": 2, "agents_swapped": 0}
    assert (again["pid"], again["started"], again["loaded"]) == (up["pid"], False, None)
    assert (changed["pid"], changed["loaded"]["agents_added"]) == (up["pid"], 1)
    assert stopped["status"] == "applied"
    engine = engine_of(console.database("slow"))
    assert engine is not None
    assert not engine.alive
    assert engine.ended_ms is not None


def test_up_says_of_an_engine_that_was_suspended_that_it_does_not_answer(console: Console) -> None:
    console.write("team.yaml", SLOW)
    up = console.json("up", "team.yaml")
    os.kill(up["pid"], signal.SIGSTOP)
    db = console.database("slow")
    while (engine := engine_of(db)) is None or not engine.hung:
        threading.Event().wait(0.05)  # nothing tells

    assert f"slow was up already: engine {up['pid']} on {db}, but it does not answer" in console.done("up", "team.yaml")


TALKING = """\
version: 1
supervisor: {name: talkers}
agents:
  - name: talker
    script:
      - {emit: ["Dear \\e[31m", "reader,\\n", "bye"], emit_every_s: 0.2, steps: [{name: see, output: 12}], output: said}
"""


def test_a_run_that_is_followed_shows_what_agents_say_and_do_and_its_output_alone_on_stdout(console: Console) -> None:
    console.write("team.yaml", TALKING)
    console.done("up", "team.yaml")
    told = console.run("run", "hello", "--follow")
    as_json = console.run("run", "hello", "--follow", "--json")

    assert told.stdout == "said\n"
    assert told.stderr.splitlines()[:6] == [
        "talker  ▸ talker", r"talker  Dear \x1b[31mreader,", "talker  bye", "talker  · see → 12", "talker  ✓ done",
        "run r1 of team talkers is done",
    ]  # fmt: skip
    lines = [json.loads(line) for line in as_json.stdout.splitlines()]
    assert [line["kind"] for line in lines] == ["stream"] * (len(lines) - 1) + ["run"]
    kinds = [line["event"]["kind"] for line in lines[:-1]]
    assert [kinds[0], kinds[-1]] == ["started", "completed"]
    assert "".join(line["event"]["text"] for line in lines[1:-1]) == "Dear \x1b[31mreader,\nbye"


def test_a_reader_that_closes_the_pipe_of_a_followed_run_ends_it_quietly(console: Console) -> None:
    console.write("team.yaml", TALKING)
    console.done("up", "team.yaml")
    with console.begin("run", "hello", "--follow", "--json") as follower:
        assert follower.stdout is not None
        assert follower.stderr is not None
        assert json.loads(follower.stdout.readline())["event"]["kind"] == "started"
        follower.stdout.close()
        said = follower.stderr.read()

    assert follower.returncode == 0
    assert said == ""


def test_a_request_is_answered_on_stdout_alone_and_in_the_promised_shape(console: Console) -> None:
    console.write("team.yaml", SLOW)
    console.done("up", "team.yaml")
    answer = console.run("run", "hello", "-o", "out.txt", "--json")
    run_id = console.done("run", "again", "--detach").strip()
    waited = console.run("wait", run_id, "-o", "-")

    assert json.loads(answer.stdout) == {
        "v": 1, "kind": "run", "run_id": "r1", "status": "done", "output": "second: first: hello", "tasks": 2,
        "usage": {"tokens_in": None, "tokens_out": None, "tokens_cached": None, "cost_usd": None},
        "seq": json.loads(answer.stdout)["seq"],
        "db": str(console.database("slow")), "team": "slow",
    }  # fmt: skip
    assert (console.folder / "out.txt").read_text() == "second: first: hello\n"
    assert not (console.folder / "-").exists()
    assert (waited.stdout, waited.stderr) == ("second: first: again\n", f"run {run_id} of team slow is done\n")


def test_without_an_engine_a_request_has_one_for_itself_and_leaves_none(console: Console) -> None:
    console.write("team.yaml", CREW)
    console.write("shouting.py", CODE)
    console.done("up", "team.yaml", "--trust")
    console.done("stop")
    answer = console.run("run", "hello")
    engine = engine_of(console.database("shouters"))

    assert (answer.returncode, answer.stdout) == (0, "HELLO\n")
    assert engine is not None
    assert not engine.alive
    assert "noise of the team" in Path(f"{console.database('shouters')}.log").read_text()


def test_an_engine_that_was_killed_goes_on_with_nothing_but_the_file(console: Console) -> None:
    team = console.write("team.yaml", SLOW)
    up = console.json("up", "team.yaml")
    db = Path(up["db"])
    console.done("pause", "second")
    run_id = console.done("run", "hello", "--detach").strip()
    await_event(db, "attempt_started")
    os.kill(up["pid"], signal.SIGKILL)
    team.unlink()
    orphaned = console.run("wait", run_id, "--db", str(db))
    console.done("resume", "second", "--db", str(db), "--queue")
    engine = console.begin("engine", "--db", str(db))
    await_event(db, "run_finished")

    assert orphaned.returncode == 4
    assert f"quarterdeck engine --db {db}" in orphaned.stderr
    assert console.done("wait", run_id, "--db", str(db)) == "second: first: hello\n"
    engine.terminate()
    assert engine.wait(PATIENCE_S) == 0
    engine.communicate()


def test_an_engine_that_was_started_for_one_request_ends_with_who_asked(console: Console) -> None:
    console.write("team.yaml", SLOW)
    console.done("up", "team.yaml")
    console.done("pause", "second")
    console.done("stop")
    db = console.database("slow")
    asking = console.begin("run", "hello", "--db", str(db))
    seq = await_event(db, "attempt_started")
    asking.kill()
    asking.communicate()

    await_event(db, "engine_stopped", after_seq=seq)
    assert console.run("wait", "r1").returncode == 4


def test_ctrl_c_leaves_the_request_running_and_says_how_to_come_back(console: Console) -> None:
    console.write("team.yaml", SLOW)
    db = Path(console.json("up", "team.yaml")["db"])
    console.done("pause", "second")
    asking = console.begin("run", "hello")
    await_event(db, "attempt_started")
    asking.send_signal(signal.SIGINT)
    _, said = asking.communicate(timeout=PATIENCE_S)

    assert (asking.returncode, said) == (130, f"still running: quarterdeck wait r1 --db {db}\n")
    console.done("resume", "second")
    assert console.done("wait", "r1") == "second: first: hello\n"


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 0), (signal.SIGINT, 130), (signal.SIGHUP, 0)])
def test_a_signal_ends_an_engine_in_order(console: Console, number: signal.Signals, status: int) -> None:
    team = console.write("team.yaml", SLOW)
    engine = console.begin("engine", "--team", str(team), "--db", "team.db", "--json")
    assert engine.stdout is not None
    began = json.loads(engine.stdout.readline())
    engine.send_signal(number)
    engine.communicate(timeout=PATIENCE_S)

    assert began == {"v": 1, "kind": "engine", "db": str(console.folder / "team.db"), "team": "slow", "pid": engine.pid}
    assert engine.returncode == status
    found = engine_of(console.folder / "team.db")
    assert found is not None
    assert found.ended_ms is not None


def test_two_who_start_the_same_team_at_once_share_one_engine(console: Console) -> None:
    console.write("team.yaml", SLOW)
    starting = [console.begin("up", "team.yaml", "--json") for _ in range(2)]
    said = [process.communicate(timeout=PATIENCE_S) for process in starting]

    assert [process.returncode for process in starting] == [0, 0], said
    pids = {json.loads(out)["pid"] for out, _ in said}
    assert len(pids) == 1


def test_code_that_nobody_trusted_is_not_run_and_trust_ends_with_an_edit(console: Console) -> None:
    console.write("team.yaml", CREW)
    console.write("shouting.py", CODE)
    untrusted = console.run("up", "team.yaml")
    console.done("trust", "team.yaml")
    console.done("up", "team.yaml")
    console.write("team.yaml", CREW.replace("shouter,", "bawler,"))
    edited = console.run("up", "team.yaml", "--json")

    assert untrusted.returncode == 3
    assert "is not trusted; it runs shouting:shout" in untrusted.stderr
    assert edited.returncode == 2
    assert json.loads(edited.stderr.splitlines()[-1])["code"] == "untrusted_file"


def test_a_database_that_was_moved_says_what_to_trust_and_up_brings_its_agents_back_to_work(console: Console) -> None:
    console.write("team.yaml", CREW)
    console.write("shouting.py", CODE)
    console.done("up", "team.yaml", "--trust")
    console.done("stop")
    moved = console.folder / "a moved team.db"
    console.database("shouters").rename(moved)
    where = ("--db", str(moved))
    with console.begin("engine", *where) as engine:
        await_event(moved, "agent_broke")
        agents = console.done("agents", *where)
        console.done("up", "team.yaml", *where)
        await_event(moved, "agent_mended")
        output = console.done("run", "hello", *where)
        engine.terminate()

    assert f"look at it, then allow it with: quarterdeck trust '{moved}'" in agents
    assert output == "HELLO\n"


def test_a_folder_that_was_moved_with_its_database_works_again_once_its_team_file_is_loaded(console: Console) -> None:
    folder = console.folder / "team"
    folder.mkdir()
    (folder / "team.yaml").write_text(CREW)
    (folder / "shouting.py").write_text(CODE)
    console.done("up", "team/team.yaml", "--trust", "--db", "team/own.db")
    console.done("stop", "--db", "team/own.db")
    folder.rename(console.folder / "moved")
    where = ("--db", "moved/own.db")
    console.done("up", "moved/team.yaml", "--trust", *where)
    output = console.done("run", "hello", *where)

    assert output == "HELLO\n"


def test_code_that_is_missing_is_told_by_line_before_anything_starts(console: Console) -> None:
    team = console.write("team.yaml", CREW)
    ended = console.run("up", "team.yaml", "--trust")

    said = "agents[shouter].run: 'shouting:shout': no module 'shouting'; install it or put it beside the team"
    assert (ended.returncode, ended.stderr) == (2, f"{team}:4: {said}\n")
    assert not console.database("shouters").exists()


def test_a_module_that_cannot_be_imported_is_one_fault_however_many_use_it(console: Console) -> None:
    agents = "".join(f'  - {{name: a{number}, run: "crew:work"}}\n' for number in range(5))
    team = console.write("team.yaml", f"version: 1\nsupervisor: {{name: crew}}\nagents:\n{agents}")
    console.write("crew.py", "def work(:\n")
    ended = console.run("up", "team.yaml", "--trust")

    said = "'crew:work': its import failed: SyntaxError: invalid syntax (crew.py, line 1)"
    others = "; 4 other references to 'crew' cannot be used either"
    assert (ended.returncode, ended.stderr) == (2, f"{team}:4: agents[a0].run: {said}{others}\n")


def test_two_teams_of_one_name_are_not_mixed(console: Console) -> None:
    console.write("one.yaml", SLOW)
    console.write("other.yaml", SLOW)
    one, other = console.json("up", "one.yaml"), console.json("up", "other.yaml")
    mixed = console.run("up", "one.yaml", variables={"QUARTERDECK_DB": other["db"]})
    served = console.run("engine", "--team", "one.yaml", variables={"QUARTERDECK_DB": other["db"]})

    assert [one["db"], other["db"]] == [str(console.database("slow", name)) for name in ("one.yaml", "other.yaml")]
    for refused in (mixed, served):
        assert refused.returncode == 2
        assert "of another file" in refused.stderr


def test_a_request_that_waits_for_an_engine_is_taken_up_by_the_next(console: Console) -> None:
    console.write("team.yaml", SLOW)
    console.done("up", "team.yaml")
    console.done("stop")
    db = str(console.database("slow"))
    refused = console.run("run", "hello", "--detach")
    queued = console.json("run", "hello", "--queue")
    console.done("up", "team.yaml")
    seq = await_event(Path(db), "run_submitted")

    assert refused.returncode == 4
    assert queued["status"] == "pending"
    assert seq > 0
    assert console.done("wait", "r1") == "second: first: hello\n"


def test_the_team_that_init_writes_runs_at_once(console: Console) -> None:
    console.done("init", "mine")
    console.done("up", "mine/team.yaml", "--trust")
    report = Console(console.folder / "mine", console.data).done("run", "Report on this folder")

    assert report.startswith("# Report on this folder\n\nAbout the texts in mine/.")
    assert all(f"## {agent}\n" in report for agent in ("counter", "wordsmith", "stylist"))


@pytest.mark.parametrize(
    ("template", "request_text", "said"),
    [
        ("research", "What is said of llamas?", "# What is said of llamas?\n\n- notes.md, line 1: Llamas hum.\n"),
        ("code-review", "Review what has changed", "+Llamas hum.\n"),
        ("coding-agents", "Hum like a llama", "All Python files compile.\n"),
    ],
)
def test_a_team_of_models_or_programs_that_init_writes_runs_offline_on_what_is_there(
    console: Console, template: str, request_text: str, said: str
) -> None:
    console.done("init", "mine", "--template", template, *(["--offline"] if template != "coding-agents" else []))
    here = Console(console.folder / "mine", console.data)
    here.write("notes.md", "Llamas hum.\n")
    for words in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", "-C", str(here.folder), *words], check=True, capture_output=True)
    ident = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "-C", str(here.folder), *ident, "commit", "-qm", "all", "--allow-empty"], check=True)
    here.write("notes.md", "Llamas hum.\nLlamas hum.\n" if template == "code-review" else "Llamas hum.\n")
    here.done("up", "team.yaml", "--trust")

    assert said in here.done("run", request_text)


def test_the_demo_reads_a_folder_and_waits_for_the_next_request(console: Console) -> None:
    (console.folder / "source").mkdir()
    console.write("source/shouting.py", CODE)
    first = console.run("demo", "source", "--no-dashboard")
    second = console.json("demo", "source")
    outside = console.run("run", "audit ../..", "--db", second["db"])

    assert first.returncode == 0, first.stderr
    assert "shouting.py" in first.stdout
    assert "the crew waits for the next request" in first.stderr
    assert (second["kind"], second["status"], second["run_id"]) == ("run", "done", "r2")
    assert outside.returncode == 1
    assert "outside the folder" in outside.stderr


def test_on_the_database_of_an_older_demo_agents_whose_code_is_gone_leave_and_the_others_work(console: Console) -> None:
    (console.folder / "source").mkdir()
    console.write("source/shouting.py", CODE)
    (console.folder / "old.db").write_bytes(gzip.decompress((FOLDER / "demo.db.gz").read_bytes()))

    report = console.run("demo", "source", "--no-dashboard", "--db", "old.db")

    assert report.returncode == 0, report.stderr
    assert "shouting.py" in report.stdout
    agents = console.json("agents", "--db", "old.db")["items"]
    assert len(agents) == 12
    assert {agent["status"] for agent in agents} == {"idle"}


def test_an_engine_that_cannot_start_says_why(console: Console) -> None:
    console.write("team.yaml", SLOW)
    console.write("team.db-wal", "left over from another database")
    ended = console.run("up", "team.yaml", "--db", "team.db")

    assert ended.returncode == 4
    assert ended.stderr.startswith("quarterdeck: the engine did not start: ")
    assert "team.db-wal" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_an_edited_file_is_shown_first_and_who_is_no_longer_in_it_waits_for_an_answer(console: Console) -> None:
    console.write("team.yaml", SLOW)
    console.run("up", "team.yaml", "--detach")
    console.write("team.yaml", SLOW.replace("name: second,", "name: renamed,").replace("  - {name: first, ", "  # - {"))

    plan = console.json("up", "team.yaml", "--dry-run")
    unanswered = console.run("up", "team.yaml", "--detach", "--json")
    loaded = json.loads(console.run("up", "team.yaml", "--detach", "--prune", "--json").stdout)["loaded"]

    assert (plan["kind"], plan["dry_run"]) == ("plan", True)
    assert plan["items"] == [
        {"change": "renamed", "subject": "agent", "id": "a2", "path": "slow/second", "to": "slow/renamed",
         "fields": [], "since": None},
        {"change": "dropped", "subject": "agent", "id": "a1", "path": "slow/first", "to": None,
         "fields": [], "since": None},
    ]  # fmt: skip
    refusal = json.loads(unanswered.stderr)
    assert (unanswered.returncode, unanswered.stdout, refusal["code"]) == (2, "", "no_longer_in_file")
    assert refusal["items"] == plan["items"]
    assert loaded == {"agents_added": 0, "agents_swapped": 0, "agents_removed": 1, "members_renamed": 1}


def test_a_supervisor_that_was_renamed_in_its_file_keeps_its_database(console: Console) -> None:
    console.write("team.yaml", SLOW)
    before = console.json("up", "team.yaml")
    console.write("team.yaml", SLOW.replace("name: slow,", "name: fast,"))

    plan = console.json("up", "team.yaml", "--dry-run")
    after = console.json("up", "team.yaml")

    assert [(item["change"], item["path"], item["to"]) for item in plan["items"]] == [("renamed", "slow", "fast")]
    assert (after["db"], after["pid"], after["started"]) == (before["db"], before["pid"], False)
    assert after["items"] == plan["items"]
    assert console.json("ps")["team"] == "fast"
    assert [item["name"] for item in console.json("ps")["items"]] == ["fast"]


def test_an_engine_that_loads_an_edited_file_needs_the_same_answer_as_up(console: Console) -> None:
    console.write("team.yaml", SLOW)
    db = Path(console.json("up", "team.yaml")["db"])
    console.done("stop")
    console.write("team.yaml", SLOW.replace("  - {name: second,", "  - {name: other, script: []}\n  # - {"))

    refused = console.run("engine", "--team", "team.yaml")
    seq = await_event(db, "engine_stopped")
    engine = console.begin("engine", "--team", "team.yaml", "--prune")
    await_event(db, "team_loaded", after_seq=seq)
    engine.terminate()
    _, said = engine.communicate(timeout=PATIENCE_S)

    assert refused.returncode == 2
    assert refused.stderr.splitlines() == [
        "added slow/other",
        "dropped slow/second",
        "quarterdeck: members are no longer in the file (team slow); --prune removes them, --keep keeps them",
    ]
    assert said.startswith("added slow/other\ndropped slow/second\n")


@pytest.mark.parametrize(
    ("answers", "left"),
    [("n", ["first", "second"]), ("yn", ["first", "second", "third"]), ("yy", ["first", "third"])],
)
def test_a_person_sees_the_plan_and_is_asked(console: Console, answers: str, left: list[str]) -> None:
    console.write("team.yaml", SLOW)
    db = Path(console.json("up", "team.yaml")["db"])
    console.write("team.yaml", SLOW.replace("  - {name: second,", "  - {name: third, script: []}\n  # - {"))

    status, shown = at_a_terminal(console.folder, answers, "up", "team.yaml", "--detach", **console.variables)

    lines = shown.splitlines()
    assert lines[:2] == ["added slow/third", "dropped slow/second"]
    assert lines[2].startswith("Change the team like that? [y/N]: ")
    assert (status, len([line for line in lines if line.startswith("Remove the members that are no longer")])) == (
        (130, 0) if answers == "n" else (0, 1)
    )
    assert sorted(agent.name for agent in fold_file(db).agents.values()) == left


ASKING = """\
version: 1
supervisor: {name: askers}
agents:
  - name: asker
    script: [{fail: "no line", times: 1}, {output: said}]
    on_failure: [{escalate: {after_s: 2, default: retry}}]
"""


def test_a_question_is_shown_once_while_a_run_is_followed(console: Console) -> None:
    console.write("team.yaml", ASKING)
    console.done("up", "team.yaml")
    told = console.run("run", "hello", "--follow")

    assert told.stdout == "said\n"
    (question,) = (line for line in told.stderr.splitlines() if "asks a person" in line)
    assert [line for line in told.stderr.splitlines() if question.partition(": ")[2] in line] == [question]
