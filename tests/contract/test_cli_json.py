"""What `--json` writes, whole: scripts rely on these shapes, so a change of one is a change of its golden file.

Made anew with UPDATE_GOLDEN=1 in the environment of one test run, then looked at.
"""

import json
import os
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any, get_args

import pytest

from dashboard.cli import main
from dashboard.cli.printing.items import supervisor_item
from dashboard.views.measures.digest import make_digest
from engine.core.commands import Pause, RemoveMember, Submit, SupervisorSpec, SwapAgent
from engine.core.events import Event, RunFinished
from engine.core.queries.team.team_plan import ChangeKind
from engine.core.records.records import copy_with
from engine.core.records.values import Usage
from engine.core.signals import EngineBegan
from engine.core.specs.limits import Limits
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec, Retry
from engine.teamfile import read_team
from tests.databases import write_database
from tests.world import World, agent, team_world

GOLDEN = Path(__file__).parent / "golden"
PATHS = {"db", "path"}
"""Fields that hold a path of this run: its name alone is compared."""
NOT_COMPARED = {"bytes", "command_id", "since_ms", "given_ms", "duration_ms", "pid", "state_sha256"}

PAGE = (Path(__file__).resolve().parents[2] / "docs/reference/command-line.md").read_text(encoding="utf-8")
KEYS = dict(re.findall(r"^\| `(agents|tasks|runs|ps)` \| `([a-z0-9_ ]+)`", PAGE, re.MULTILINE))
"""The fields of an item by kind, in their order, as the page of the command line says."""


def team() -> World:
    """A small team with one finished run, one at work with a retry in it, and one paused."""
    below = SupervisorSpec(name="below", mode="parallel", members=[agent("cyd", "sum"), agent("dan", "sum")])
    world = team_world(agent("ada", "parse", on_failure=[Retry(1, 10.0, 10.0)]), agent("bob", "write"), below)
    world.order(Submit(request="the first request"))
    world.now_ms += 500
    world.settle()
    world.now_ms += 500
    world.order(Submit(request="the second request", labels={"team": "web"}))
    world.succeed(next(iter(world.started)))
    world.ask(next(iter(world.started)), "sum", ["x", "y", "z"])
    world.order(Submit(request="the third request"))
    world.fail(next(key for key in world.started if world.state.tasks[key[0]].run_id == "r3"))
    world.order(Pause(target="dan"))
    world.order(Pause(target="r3"))
    return world


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_database(tmp_path_factory.mktemp("golden") / "team.db", team().journal)


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command line in this process: its exit status, what it wrote to stdout and to stderr."""

    def run(*words: str) -> tuple[int, str, str]:
        status = main(words)
        out, err = capsys.readouterr()
        return status, out, err

    return run


def plain(value: Any, name: str = "") -> Any:
    """Leave out what differs from run to run."""
    if isinstance(value, dict):
        return {key: plain(each, key) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    if name in NOT_COMPARED and value is not None:
        return f"<{name}>"
    return Path(value).name if name in PATHS and isinstance(value, str) and value.startswith("/") else value


def check(name: str, text: str) -> None:
    """Compare lines of JSON with a golden file."""
    found = "".join(
        json.dumps(plain(json.loads(line)), indent=1, ensure_ascii=False) + "\n" for line in text.splitlines()
    )
    path = GOLDEN / f"{name}.json"
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(found, encoding="utf-8")
    assert found == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", ["ps", "agents", "tasks", "runs"])
def test_a_list_has_the_shape_that_scripts_rely_on(kind: str, database: Path, run: Run) -> None:
    status, out, err = run(kind, "--json", "--db", str(database))

    assert (status, err, out.count("\n")) == (0, "", 1)
    body = json.loads(out)
    assert (body["v"], body["kind"], body["seq"]) == (1, kind, len(team().journal))
    assert all(list(item) == KEYS[kind].split() for item in body["items"])
    check(kind, out)


def test_where_the_time_of_a_run_went_is_said_of_a_finished_one_and_of_one_of_an_earlier_version(
    database: Path, tmp_path: Path, run: Run
) -> None:
    status, out, _ = run("explain", "r1", "--json", "--db", str(database))
    body = json.loads(out)
    assert (status, sum(body["shares"].values())) == (0, body["wall_ms"])
    check("explain", out)

    def as_before(event: Event) -> Event:
        if not isinstance(event, RunFinished):
            return event
        return copy_with(event, figures=copy_with(event.figures, times={}, critical=[]))

    earlier = [as_before(event) for event in team().journal]
    db = str(write_database(tmp_path / "team.db", earlier))
    assert run("explain", "r1", "--json", "--db", db)[1] == out
    assert run("explain", "r9", "--db", db)[0] == 2


def test_where_no_run_is_open_the_list_of_open_ones_does_not_say_that_there_were_none(tmp_path: Path, run: Run) -> None:
    world = team_world(agent("ada"))
    world.order(Submit(request="the only request"))
    world.settle()
    db = str(write_database(tmp_path / "team.db", world.journal))

    assert "no open runs" in run("runs", "--open", "--db", db)[1]
    assert "the only request" in run("runs", "--db", db)[1]


def test_tasks_of_finished_runs_are_shown_as_they_were_at_their_end(database: Path, run: Run) -> None:
    _, every, _ = run("tasks", "--json", "--all", "--db", str(database))
    _, one, _ = run("tasks", "--json", "--run", "r1", "--db", str(database))

    items = json.loads(every)["items"]
    assert {item["run_id"] for item in items} == {"r1", "r2", "r3"}
    assert [item for item in items if item["run_id"] == "r1"] == json.loads(one)["items"]
    check("tasks-of-a-finished-run", one)


def test_events_are_one_object_a_line(database: Path, run: Run) -> None:
    status, out, _ = run("events", "--json", "--since", "0", "--db", str(database))

    lines = [json.loads(line) for line in out.splitlines()]
    assert status == 0
    assert [line["seq"] for line in lines] == list(range(1, len(team().journal) + 1))
    assert {tuple(line) for line in lines} == {("seq", "at_ms", "kind", "run_id", "task_id", "agent_id", "body")}
    check("events", run("events", "--json", "--since", "0", "--kind", "run_submitted", "--db", str(database))[1])


def test_a_limit_on_events_takes_the_last_ones_also_behind_a_moment(database: Path, run: Run) -> None:
    def seqs(*words: str) -> list[int]:
        _, out, _ = run("events", "--json", *words, "--db", str(database))
        return [json.loads(line)["seq"] for line in out.splitlines()]

    last = len(team().journal)

    assert seqs("--since", "0", "--limit", "5") == list(range(last - 4, last + 1))
    assert seqs("--since", "1969-12-31T00:00", "--limit", "5") == list(range(last - 4, last + 1))
    assert seqs("--since", str(last - 2), "--limit", "5") == [last - 1, last]
    assert seqs("--limit", "3") == [last - 2, last - 1, last]


def test_a_queued_command_has_an_outcome_that_is_pending(database: Path, run: Run) -> None:
    status, out, err = run("pause", "ada", "--queue", "--json", "--db", str(database))

    assert (status, err) == (0, "")
    check("outcome", out)


def test_without_an_engine_a_change_is_exit_4_and_says_what_to_do(database: Path, run: Run) -> None:
    status, out, err = run("pause", "ada", "--json", "--db", str(database))

    assert (status, out) == (4, "")
    check("error", err.replace(str(database), "team.db"))


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("pause", "ada"), 4), (("stop",), 4), (("engine", "--hand-over"), 4), (("run", "hello", "--detach"), 4),
        (("wait", "r99"), 2), (("tasks", "--run", "r99"), 2), (("export", "team.zip", "--only", "nobody"), 2),
    ],
)  # fmt: skip
def test_an_outcome_that_is_no_success_names_the_team_to_a_person_and_to_a_script(
    words: tuple[str, ...], status: int, database: Path, run: Run
) -> None:
    told = run(*words, "--db", str(database))
    error = json.loads(run(*words, "--json", "--db", str(database))[2])

    assert (told[0], told[1], told[2].count("\n")) == (status, "", 1)
    assert "(team chief)" in told[2]
    assert (error["db"], error["team"], "(team" in error["message"]) == (str(database), "chief", False)


def test_export_and_import_have_their_shapes(database: Path, run: Run, tmp_path: Path) -> None:
    archive = str(tmp_path / "team.zip")

    exported, wrote, _ = run("export", archive, "--json", "--db", str(database))
    looked, plan, _ = run("import", archive, "--dry-run", "--json", "--db", str(database))

    assert (exported, looked) == (0, 0)
    check("export", wrote)
    check("import", plan)


def test_one_supervisor_is_exported_alone(database: Path, run: Run, tmp_path: Path) -> None:
    archive = str(tmp_path / "below.zip")

    exported, wrote, _ = run("export", archive, "--only", "below", "--json", "--db", str(database))
    _, plan, _ = run("import", archive, "--dry-run", "--json", "--db", str(database))

    assert (exported, json.loads(wrote)["kind"]) == (0, "export")
    assert json.loads(plan)["creates"] == {"supervisors": 1, "agents": 2, "runs": 0, "tasks": 0, "finished": 0}


def test_a_dry_run_of_a_strategy_says_what_stays_and_what_changes(database: Path, run: Run) -> None:
    status, out, _ = run("strategy", "chief", "parallel", "--dry-run", "--json", "--db", str(database))

    assert status == 0
    check("strategy", out)


TEAM = """\
version: 1
supervisor: {name: chief}
agents:
  - {name: swapped, script: [{output: one}]}
  - {name: changed, script: [{output: two}]}
  - {name: renamed, script: [{output: three}]}
  - {name: moved, script: [{output: four}]}
  - {name: gone, script: [{output: five}]}
teams:
  - {supervisor: {name: below}, agents: [{name: other, script: []}]}
"""
EDITED = """\
version: 1
supervisor: {name: boss, strategy: parallel}
agents:
  - {name: swapped, script: [{output: one}]}
  - {name: changed, script: [{output: two!}]}
  - {name: again, script: [{output: three}]}
  - {name: added, script: []}
teams:
  - {supervisor: {name: below}, agents: [{name: other, script: []}, {name: moved, script: [{output: four}]}]}
"""


@pytest.fixture
def edited(tmp_path: Path) -> tuple[str, str]:
    """A team file that was edited since it was loaded, and its database, in which an operator swapped an agent."""
    file = tmp_path / "team.yaml"
    file.write_text(TEAM)
    world = World()
    world.say(EngineBegan(pid=1, token=1, version="test"))
    world.order(read_team(file).load_command())
    world.order(SwapAgent(agent="swapped", spec=AgentSpec(name="swapped", agent_type="scripted")))
    file.write_text(EDITED)
    return str(file), str(write_database(tmp_path / "team.db", world.journal))


def test_what_an_edited_file_would_change_is_a_plan(edited: tuple[str, str], run: Run) -> None:
    file, db = edited

    status, out, err = run("up", file, "--dry-run", "--json", "--db", db)

    assert (status, err) == (0, "")
    assert {item["change"] for item in json.loads(out)["items"]} == set(get_args(ChangeKind))
    check("plan", out)


def test_a_file_that_lacks_members_is_refused_with_the_plan_and_nothing_else(edited: tuple[str, str], run: Run) -> None:
    file, db = edited

    for words in (("up", file), ("engine", "--team", file)):
        status, out, err = run(*words, "--json", "--db", db)

        assert (status, out) == (2, "")
        check("plan-refused", err)


def test_what_is_not_there_is_exit_2_or_3_with_one_line(database: Path, run: Run) -> None:
    for words, expected in (
        (("tasks", "--run", "r99"), 2),
        (("agents", "--under", "nobody"), 2),
        (("events", "--kind", "agent_aded"), 2),
        (("events", "--since", "yesterday"), 2),
        (("strategy", "nobody", "parallel", "--dry-run"), 3),
        (("strategy", "chief", "guess", "--dry-run"), 3),
        (("import", "/etc/passwd"), 2),
        (("export", str(database)), 2),
        (("export", "part.zip", "--only", "nobody"), 2),
        (("swap", "ada", "--with", "none.yaml"), 2),
    ):
        status, out, err = run(*words, "--db", str(database))
        assert (status, out, err.count("\n")) == (expected, "", 1), (words, err)


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        (("agents", "--filter", "cyd"), ["a3"]),
        (("agents", "--filter", "supervisor:below -status:paused"), ["a3"]),
        (("ps", "--filter", "supervisor:below"), ["s2"]),
        (("runs", "--filter", "status:done"), ["r1"]),
        (("runs", "--filter", "/(second|third) req/"), ["r2", "r3"]),
        (("tasks", "--filter", "run:r3 status:retry"), ["t16"]),
        (("inbox", "--filter", "kind:ask"), []),
    ],
)
def test_lists_are_filtered_in_the_language_of_the_screens(
    run: Run, database: Path, words: tuple[str, ...], ids: list[str]
) -> None:
    status, out, _ = run("--db", str(database), *words, "--json")

    assert status == 0
    assert [item["id"] for item in json.loads(out)["items"]] == ids


def test_events_are_filtered_from_the_newest_and_from_a_seq(run: Run, database: Path) -> None:
    def seqs(*words: str) -> list[int]:
        return [
            json.loads(line)["seq"] for line in run("--db", str(database), "events", *words, "--json")[1].splitlines()
        ]

    every = seqs("--since", "0", "--filter", "agent:ada kind:attempt")
    kinds = seqs("--since", "0", "--agent", "ada", "--filter", "kind:attempt")

    assert len(every) > 3
    assert every == kinds
    assert seqs("-n", "2", "--filter", "agent:ada kind:attempt") == every[-2:]


def test_a_filter_that_cannot_be_used_is_one_line(run: Run, database: Path) -> None:
    status, out, err = run("--db", str(database), "agents", "--filter", "agnt:ada")

    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert "did you mean agent:" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--agent", "nobody"), "no agent 'nobody'; list them with: quarterdeck agents"),
        (("--agent", "bobb"), "no agent 'bobb'; did you mean bob?"),
        (("--run", "r77"), "there is no run 'r77'"),
    ],
)
def test_events_of_an_agent_or_a_run_that_is_not_in_the_file_are_refused_in_one_line(
    run: Run, database: Path, words: tuple[str, ...], said: str
) -> None:
    status, out, err = run("--db", str(database), "events", *words)

    assert (status, out, err.count("\n")) == (2, "", 1)
    assert said in err


def test_events_are_found_by_the_name_of_an_agent_that_has_left(run: Run, tmp_path: Path) -> None:
    world = team()
    world.order(RemoveMember(target="dan"))
    gone = write_database(tmp_path / "gone.db", world.journal)

    status, out, _ = run("--db", str(gone), "events", "--agent", "dan", "--json")

    assert status == 0
    assert {json.loads(line)["agent_id"] for line in out.splitlines()} == {"a4"}


def test_no_event_that_meets_the_conditions_is_said_and_not_printed(run: Run, database: Path) -> None:
    assert run("--db", str(database), "events", "--since", "9999") == (0, "", "no event meets these conditions\n")
    assert run("--db", str(database), "events", "--since", "9999", "--json") == (0, "", "")


def test_a_diff_of_two_moments_has_the_shape_that_scripts_rely_on(run: Run, database: Path) -> None:
    submitted = [seq for seq, event in enumerate(team().journal, 1) if event.type == "run_submitted"]
    status, out, _ = run("--db", str(database), "diff", f"@{submitted[1] - 1}", f"{database}@{submitted[2]}", "--json")

    body = json.loads(out)
    assert status == 0
    assert (body["a"]["seq"], body["b"]["seq"]) == (submitted[1] - 1, submitted[2])
    assert {tuple(item) for item in body["items"]} == {("subject", "id", "name", "change", "field", "a", "b")}
    check("diff", out)


def test_an_archive_differs_from_what_it_was_made_of_only_by_what_it_does_not_carry(
    run: Run, database: Path, tmp_path: Path
) -> None:
    archive = tmp_path / "team.zip"
    assert run("--db", str(database), "export", str(archive))[0] == 0
    _, out, _ = run("diff", str(archive), str(database), "--json")
    _, shown, _ = run("diff", str(archive), str(archive))

    found = {(item["subject"], item["field"]) for item in json.loads(out)["items"]}
    at_rest = {("agent", "status"), ("run", "status"), ("task", "status")}
    assert found <= at_rest | {("team", "file_sha256"), ("team", "file"), ("code", None)}
    assert shown.splitlines()[-1] == "no difference"


def test_a_diff_from_before_the_first_event_names_no_time(run: Run, database: Path) -> None:
    _, out, _ = run("diff", f"{database}@0", f"{database}@3")

    first, second, *_ = out.splitlines()
    assert first == f"from {database} before its first event"
    assert second.startswith(f"to   {database} at seq 3, ")
    assert "later" not in second


@pytest.mark.parametrize("wrong", ["none.db", "none.db@4", "{db}@never", "{folder}/text.zip"])
def test_what_cannot_be_compared_is_one_line(run: Run, database: Path, tmp_path: Path, wrong: str) -> None:
    (tmp_path / "text.zip").write_text("no archive")
    status, out, err = run("diff", str(database), wrong.format(db=database, folder=tmp_path))

    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert err.startswith("quarterdeck: ")


def test_a_supervisor_is_busy_while_an_agent_below_it_works_and_suspended_without_an_engine() -> None:
    world = team_world(SupervisorSpec(name="below", members=[agent("cyd", "sum")]))
    world.order(Submit(request="go"))
    assert world.started

    def items(*, working: bool) -> list[tuple[object, ...]]:
        counts = make_digest(world.state, working=working)
        found = [supervisor_item(world.state, one, counts) for one in world.state.supervisors.values()]
        return [(item["name"], item["status"], item["agents"]) for item in found]

    assert items(working=True) == [("chief", "busy", 0), ("below", "busy", 1)]
    assert items(working=False) == [("chief", "suspended", 0), ("below", "suspended", 1)]


def test_costs_have_the_shape_that_scripts_rely_on(tmp_path: Path, run: Run) -> None:
    world = team_world(agent("ada"), options=SupervisorOptions(limits=Limits(cost_usd=2)))
    world.order(Submit(request="the only request"))
    usage = Usage(tokens_in=10, tokens_out=2, cost_usd=Decimal("0.54"))
    world.record(next(iter(world.started)), "turn", what="model", input={"model": "large"}, usage=usage)
    db = str(write_database(tmp_path / "team.db", world.journal))

    for by in ("agent", "model", "tool", "task"):
        item = json.loads(run("costs", "--json", "--by", by, "--db", db)[1])["items"][0]
        shape = ["agent", "model", "tool", "task_id", "tokens_in", "tokens_out", "tokens_cached", "cost_usd", "left"]
        assert (list(item), item["cost_usd"]) == (shape, "0.54")
        assert [key for key in shape[:4] if item[key]] == ([] if by == "tool" else ["task_id" if by == "task" else by])
    check("costs", run("costs", "--json", "--db", db)[1])


def test_the_sum_of_costs_is_that_of_the_rows_also_beside_the_budget_of_an_open_run(tmp_path: Path, run: Run) -> None:
    world = team_world(agent("ada"), options=SupervisorOptions(run_limits=Limits(cost_usd=1)))
    for _ in range(2):
        world.settle()
        world.order(Submit(request="another request"))
        key = [*world.started][-1]
        usage = Usage(cost_usd=Decimal("0.6"))
        world.record(key, "turn", what="model", input={"model": "large"}, usage=usage)
    db = str(write_database(tmp_path / "team.db", world.journal))

    lines = run("costs", "--db", db)[1].splitlines()

    assert lines[-2:] == ["in all $1.20", "budget $0.60 of $1.00"]
