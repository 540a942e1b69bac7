"""The names that files, scripts and programs of users depend on: each change must be intended.

One file of `frozen/` for each subject, one line for each name. A subject's lines come from the code as it is, without
the modules in which it stands, which may move.
"""

import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from tests.contract import frozen_json, frozen_programs, frozen_python, frozen_records
from tests.contract.test_cli_json import team

FROZEN = Path(__file__).parent / "frozen"
PYTHON_PAGE = Path(__file__).resolve().parents[2] / "docs/reference/python.md"
SUBJECTS: dict[str, Callable[[Path], Iterable[str]]] = {
    "events": lambda _: frozen_records.event_lines(),
    "commands": lambda _: frozen_records.command_lines(),
    "records": lambda _: frozen_records.record_lines(),
    "values": lambda _: frozen_records.value_lines(),
    "streams": lambda _: frozen_records.stream_lines(),
    "words": lambda _: frozen_programs.word_lines(),
    "files": lambda _: frozen_programs.file_lines(),
    "tables": frozen_programs.table_lines,
    "team-files": lambda _: frozen_programs.team_file_lines(),
    "command-line": lambda _: frozen_programs.command_lines(),
    "json": lambda folder: frozen_json.json_lines(team(), folder),
    "metrics": lambda _: frozen_programs.metric_lines(),
    "python": lambda _: frozen_python.python_lines(),
    "plugins": lambda _: frozen_python.plugin_lines(),
}
ANEW = "UPDATE_GOLDEN=1 .venv/bin/python -P -m pytest -n 0 tests/contract/test_frozen_names.py"
WHAT_TO_DO = f"""\
Journals, scripts and programs of users rely on these names: give them back. What may change is what a reader of old \
files and a caller of old code does not notice, such as a new field with a default, or a new option. Where that, or a \
new format with its migration, is meant: {ANEW}, then look at the diff of tests/contract/frozen/."""
USED = """
AgentCapability.agent_type AgentInfo(agent) AgentInfo(capability) AgentInfo(description) AgentInfo(name)
AgentRegistry AgentRegistry.register_agent
AgentSpec(agent_type) AgentSpec(description) AgentSpec(instructions) AgentSpec(model) AgentSpec(name)
AgentSpec(specialties) AgentSpec(tools) ActiveAgent.capability ActiveAgent.success_rate
DynamicSupervisor(agent_registry) DynamicSupervisor(agent_specs) DynamicSupervisor(auto_discover)
DynamicSupervisor(coordination_mode) DynamicSupervisor(coordination_strategies) DynamicSupervisor(lead)
DynamicSupervisor(name) DynamicSupervisor(store)
DynamicSupervisor.active_agents DynamicSupervisor.add_agent_from_registry DynamicSupervisor.add_specialized_agent
DynamicSupervisor.add_sub_supervisor DynamicSupervisor.agent_specs DynamicSupervisor.arun
DynamicSupervisor.deserialize_state DynamicSupervisor.enable_auto_coordination_optimization
DynamicSupervisor.get_supervision_metrics DynamicSupervisor.list_active_agents
DynamicSupervisor.list_available_agents DynamicSupervisor.reconfigure_coordination DynamicSupervisor.replace_agent
DynamicSupervisor.serialize_complete_state DynamicSupervisor.status DynamicSupervisor.stream
DynamicSupervisor.submit DynamicSupervisor.submit(deadline_s) DynamicSupervisor.submit(on_failure)
DynamicSupervisor.submit(priority) Escalate(after_s) Escalate(default) Failover Retry(retries)
create_agent_from_spec(spec)
"""
"""What the programs of users that were promised to run are written with."""


@pytest.mark.parametrize("subject", SUBJECTS)
def test_no_name_that_users_or_files_depend_on_changes_by_mistake(subject: str, tmp_path: Path) -> None:
    path = FROZEN / f"{subject}.txt"
    lines = sorted(set(SUBJECTS[subject](tmp_path)))
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")

    changes = differences(path.read_text(encoding="utf-8").splitlines(), lines)

    assert not changes, "\n".join([f"{subject}, as tests/contract/frozen/{path.name} has them:", *changes, WHAT_TO_DO])


def differences(before: list[str], now: list[str]) -> list[str]:
    """Return what was removed, added or changed, a line each."""
    removed = {line.partition(": ")[0]: line for line in before if line not in now}
    added = {line.partition(": ")[0]: line for line in now if line not in before}
    return [
        *(f"  changed  {removed[name]}  ->  {added[name].partition(': ')[2]}" for name in removed if name in added),
        *(f"  removed  {line}" for name, line in removed.items() if name not in added),
        *(f"  added    {line}" for name, line in added.items() if name not in removed),
    ]


def test_a_difference_says_which_name_was_removed_added_or_changed() -> None:
    before = ["agent: text", "kept: flag", "name: text"]
    now = ["agent: integer", "kept: flag", "title: text"]

    assert differences(before, now) == [
        "  changed  agent: text  ->  integer",
        "  removed  name: text",
        "  added    title: text",
    ]


def frozen(subject: str) -> set[str]:
    """Return the names of a subject, without what is said of each."""
    lines = (FROZEN / f"{subject}.txt").read_text(encoding="utf-8").splitlines()
    return {re.split(r": | is | has ", line)[0] for line in lines}


def test_what_programs_of_users_are_written_with_is_public() -> None:
    assert set(USED.split()) <= frozen("python")


def test_what_the_page_of_the_python_api_names_is_public() -> None:
    page = PYTHON_PAGE.read_text(encoding="utf-8")
    table = page.partition("| subject | methods |")[2].partition("\n\n")[0]
    methods = {f"DynamicSupervisor.{name}" for name in re.findall(r"`(\w+)`", table)}
    constructors = re.findall(r"^(\w+)\(\n(.+?)^\)", page, re.MULTILINE | re.DOTALL)
    words = [(name, re.findall(r"(?:^|\s)([a-z_]+)(?==|,)", text)) for name, text in constructors]
    parameters = {f"{name}({word})" for name, found in words for word in found}

    assert len(methods) > 40
    assert {"DynamicSupervisor(name)", "AgentSpec(tools)"} <= parameters
    assert methods | parameters <= frozen("python")
