"""The simulator: the same seed is the same history, everything takes part, and the engine holds in a slice of seeds."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from dashboard.cli import main
from engine.core.commands import COMMAND_KINDS, SupervisorSpec
from engine.core.entities.work import TaskStatus
from engine.core.events import StepRecorded
from engine.core.specs.spec import AgentSpec, Retry
from engine.core.state import State
from engine.simulation.agents import MISHAPS
from engine.simulation.faults import FAULTS
from engine.simulation.history import run_history
from engine.simulation.laws import INVARIANTS
from engine.simulation.ledger.work import Job
from engine.simulation.model_watch import result_text
from engine.simulation.operators import command_weights, draw_command
from engine.simulation.plan import draw_plan
from engine.simulation.report import plan_of, simulate
from engine.simulation.teams import SIMULATED, to_simulated
from engine.teamfile import read_team

ROOT = Path(__file__).resolve().parents[2]
SLICE = 8
"""Seeds that every run of the tests lives through; `make simulate` takes 500."""
TEAM = """
version: 1
supervisor: {name: chief, strategy: parallel, max_parallel: 2}
agents:
  - {name: scout, run: "nowhere.at_all:scout", specialties: [survey], on_failure: [{retry: 2}]}
  - {name: writer, run: "nowhere.at_all:writer", specialties: [text], max_concurrency: 3, timeout_s: 60}
"""
MODEL_TEAM = """
version: 1
models:
  fast: {model: openai/fast, base_url: "http://127.0.0.1:8000/v1", rpm: 500, price: {in_usd: 0.15, out_usd: 0.6}}
mcp:
  files: {argv: [no-such-program]}
supervisor: {name: chief, model: fast, instructions: You lead.}
agents:
  - {name: scout, type: ReactAgent, model: [fast, openai/other], tools: ["nowhere.at_all:search"], mcp: [files],
     may: [ask_human, remember], approve: {search: always}, output: {type: object}}
"""


def test_the_engine_keeps_every_invariant_in_a_slice_of_seeds() -> None:
    report = simulate(range(1, SLICE + 1), hours=3)

    assert report.counterexample is None, report.counterexample.violation
    assert report.seeds == SLICE
    assert report.engines > SLICE
    assert report.tasks["done"]
    assert report.accepted > 0.75, report.refusals
    assert len(report.mishaps) >= len(MISHAPS) // 2


def test_a_call_for_skipped_work_brings_null_although_a_partial_result_is_kept() -> None:
    job = Job(
        id="t2",
        run_id="r1",
        parent_id="t1",
        kind="group",
        title="draft",
        worker_id=None,
        supervisor_id="s1",
        queue=None,
        priority=0,
        created_ms=0,
        output="half of it",
    )

    cancelled, skipped = (replace(job, outcome=status) for status in (TaskStatus.CANCELLED, TaskStatus.SKIPPED))

    assert [result_text(cancelled), result_text(skipped)] == ["half of it", "null"]


def test_the_same_seed_is_the_same_history_byte_for_byte() -> None:
    first, second = run_history(plan_of(7, None, hours=2)), run_history(plan_of(7, None, hours=2))

    assert first.digest == second.digest
    assert first.lines == second.lines


def test_a_seed_is_the_same_history_in_processes_with_other_hashes() -> None:
    program = (
        "from engine.simulation.history import run_history; from engine.simulation.report import plan_of;"
        "print(run_history(plan_of(26, None, hours=3)).digest)"
    )

    first, second = (
        subprocess.run(
            [sys.executable, "-P", "-c", program],
            env={**os.environ, "PYTHONHASHSEED": hashes},
            capture_output=True,
            text=True,
            check=True,
        )
        for hashes in ("1", "3")
    )

    assert first.stdout == second.stdout


def test_every_kind_of_command_is_given_sooner_or_later() -> None:
    state = State()

    able = {kind for kind in COMMAND_KINDS for seed in range(50) if draw_command(kind, Random(seed), state, seed)}

    assert able == set(COMMAND_KINDS) == set(command_weights())


def test_a_plan_that_leaves_a_decision_out_keeps_the_others() -> None:
    kinds = command_weights() | {kind: weight for kind, (weight, _) in FAULTS.items()}
    plan = draw_plan(3, SupervisorSpec(name="chief"), hours=20, kinds=kinds)
    kept = plan.decisions[::2]

    assert replace(plan, decisions=kept).decisions == kept
    assert {decision.kind for decision in plan.decisions} <= set(kinds)


def test_every_law_says_in_words_what_it_holds() -> None:
    assert all((law.__doc__ or "").split("\n")[0].endswith(".") for law in INVARIANTS)
    assert len({law.__name__ for law in INVARIANTS}) == len(INVARIANTS)


def test_simulated_agents_keep_everything_but_their_code() -> None:
    spec = AgentSpec(name="ada", run="crew:ada", specialties=["x"], on_failure=[Retry(2)], timeout_s=3, tools=["a:b"])

    found = to_simulated(SupervisorSpec(name="chief", members=[spec, SupervisorSpec(name="below", members=[spec])]))

    agent = found.members[0]
    assert isinstance(agent, AgentSpec)
    assert (agent.run, agent.tools, agent.agent_type) == (None, (), SIMULATED)
    assert (agent.specialties, agent.on_failure, agent.timeout_s) == (spec.specialties, spec.on_failure, 3.0)
    below = found.members[1]
    assert isinstance(below, SupervisorSpec)
    assert below.members == [agent]


def test_a_team_file_is_simulated_without_its_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "team.yaml"
    file.write_text(TEAM, encoding="utf-8")

    status = main(["simulate", str(file), "--seeds", "2", "--hours", "2", "--json"])

    body = json.loads(capsys.readouterr().out)
    assert status == 0
    assert (body["v"], body["kind"], body["seeds"], body["broken"]) == (1, "simulation", 2, None)
    assert body["runs"]["done"] > 0
    assert set(body["agents"]) >= {"scout", "writer"}


def test_models_play_agents_of_drawn_teams_by_their_real_loop() -> None:
    past = run_history(plan_of(6, None, hours=2))

    steps = [one for one in past.events if isinstance(one, StepRecorded)]
    assert past.violation is None
    assert past.plan.models
    assert {one.name for one in steps if one.what == "model"} >= {"turn:1", "turn:2"}
    assert {one.name for one in steps if one.what == "tool"} & {"tool:send", "tool:look"}


def test_model_agents_of_a_team_file_stay_so_without_their_tools_and_servers(tmp_path: Path) -> None:
    file = tmp_path / "team.yaml"
    file.write_text(MODEL_TEAM, encoding="utf-8")
    team = read_team(file).load_command().team

    report = simulate([1, 2], team, hours=2)

    assert report.counterexample is None, report.counterexample.violation
    assert report.runs["done"]
    assert set(report.workers) >= {"chief", "scout"}


def test_the_same_seed_is_the_same_history_where_a_team_names_code_and_addresses(tmp_path: Path) -> None:
    file = tmp_path / "team.yaml"
    file.write_text(MODEL_TEAM, encoding="utf-8")
    team = read_team(file).load_command().team

    assert len({run_history(plan_of(2, team, hours=1)).digest for _ in range(4)}) == 1


def test_the_report_names_who_never_got_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "team.yaml"
    file.write_text(TEAM.replace("max_parallel: 2", "max_parallel: 2, participants: [scout]"), encoding="utf-8")

    assert main(["simulate", str(file), "--seed", "3", "--hours", "0.2"]) == 0

    said = capsys.readouterr().out
    assert "never used" in said
    assert "all hold" in said


def test_nothing_but_the_command_line_imports_the_simulation() -> None:
    importers = [
        path.relative_to(ROOT).as_posix()
        for package in ("engine", "store", "dashboard")
        for path in (ROOT / package).rglob("*.py")
        if re.search(r"^\s*(from|import) engine\.simulation", path.read_text(encoding="utf-8"), re.MULTILINE)
        and "simulation" not in path.parts
    ]
    loaded = subprocess.run(
        [sys.executable, "-P", "-c", "import engine, sys; print('engine.simulation' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert sorted(importers) == ["dashboard/cli/printing/simulation.py", "dashboard/cli/simulate.py"]
    assert loaded.stdout == "False\n"


def test_a_report_on_a_given_team_says_what_went_wrong_and_what_would_change_it(tmp_path: Path) -> None:
    team = SupervisorSpec(
        name="chief",
        members=[AgentSpec(name="scout", run="nowhere:at_all", specialties=("survey",), timeout_s=5.0)],
    )

    report = simulate(range(1, 9), team, hours=3)

    kinds = {kind for agent, kind in report.failures if agent == "scout"}
    assert kinds, report.tasks
    assert all(cause.advice for cause, _ in report.failures.values())
    assert sum(count for _, count in report.failures.values()) <= report.tasks["failed"] + report.retries
    assert report.mishaps
    assert report.faults


def test_agents_of_a_given_team_keep_their_time_limit_where_nothing_goes_wrong() -> None:
    team = SupervisorSpec(name="chief", members=[AgentSpec(name="scout", run="nowhere:at_all", timeout_s=5.0)])

    past = run_history(replace(plan_of(3, team, hours=6), trouble=0.0, decisions=tuple(
        one for one in plan_of(3, team, hours=6).decisions if one.kind == "submit"
    )))  # fmt: skip

    assert past.violation is None
    assert past.ledger.task_outcomes["done"] > 5
    assert past.ledger.task_outcomes["failed"] == 0
