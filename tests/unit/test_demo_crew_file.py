import ast
import importlib
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from dashboard.demo import leads

CREW: dict[str, Any] = yaml.safe_load((Path(leads.__file__).parent / "crew.yaml").read_text())


def teams() -> Iterator[dict[str, Any]]:
    yield CREW
    yield from CREW["teams"]


def agents() -> list[dict[str, Any]]:
    return [agent for team in teams() for agent in team["agents"]]


def referred(agent: dict[str, Any]) -> Any:
    module, _, name = agent["run"].partition(":")
    return getattr(importlib.import_module(module), name)


def test_at_least_twelve_agents_with_names_of_their_own_stand_under_a_chief_and_two_supervisors() -> None:
    names = [agent["name"] for agent in agents()]

    assert len(set(names)) == len(names) >= 12
    assert [team["supervisor"]["name"] for team in teams()] == ["chief", "survey", "inspection"]


def test_every_agent_is_a_function_that_exists_and_says_what_it_is_for() -> None:
    for agent in agents():
        takes = 1 if agent.get("run_in") else 2

        assert len(inspect.signature(referred(agent)).parameters) == takes, agent["name"]
        assert agent["description"]
        assert agent["specialties"]


def test_every_participant_is_a_member() -> None:
    for team in teams():
        members = {agent["name"] for agent in team["agents"]}
        members |= {below["supervisor"]["name"] for below in team.get("teams", [])}

        assert set(team["supervisor"]["participants"]) <= members


def test_every_capability_that_a_lead_asks_for_has_workers_beside_it() -> None:
    tree = ast.parse(Path(leads.__file__).read_text())
    asked = {
        function.name: {
            argument.value
            for call in ast.walk(function)
            if isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] == "gather"
            for argument in call.args[:2]
            if isinstance(argument, ast.Constant)
        }
        for function in tree.body
        if isinstance(function, ast.AsyncFunctionDef)
    }
    for team in teams():
        offered = {s for agent in team["agents"] if agent.get("run_in") for s in agent["specialties"]}
        for agent in team["agents"]:
            assert asked.get(agent["run"].partition(":")[2], set()) <= offered, agent["name"]
    assert sum(map(len, asked.values())) == 4


def test_two_capabilities_have_a_fast_and_a_thorough_agent() -> None:
    by_specialty: dict[str, list[str]] = {}
    for agent in agents():
        by_specialty.setdefault(agent["specialties"][0], []).append(agent["name"])

    assert by_specialty["scan"] == ["scout-fast", "scout-thorough"]
    assert by_specialty["parse"] == ["parser-fast", "parser-thorough"]


def test_workers_load_nothing_but_the_standard_library() -> None:
    modules = sorted({agent["run"].partition(":")[0] for agent in agents() if agent.get("run_in") == "process"})
    program = f"import sys, {', '.join(modules)}; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"

    loaded = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True).stdout

    own = {"dashboard", "engine", "quarterdeck", "store"}
    outside = {name for name in loaded.split() if name not in sys.stdlib_module_names | own}
    assert not outside & {"anyio", "click", "litellm", "pydantic", "rich", "textual", "yaml"}
