"""Every example runs as a user would run it, offline and without a warning, and says what it is there to say."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S
from tests.runtime.console import Console, await_event

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

SAID = {
    "01_two_specialists.py": [
        "Summary. Error rates fell below the surface code's threshold; one logical qubit outlived its physical ones.",
        "r1: done, 2 tasks",
    ],
    "02_new_ability.py": [
        "looked up: Analyze this dataset and build a predictive model",
        "['data_scientist']",
        "model: y = 1.04 x + 0.99",
    ],
    "03_going_on_elsewhere.py": [
        "A piece: Begin a piece about tides",
        "twin ['writer'] 1 task done before",
        "A piece: Go on with the previous piece",
    ],
    "04_another_way_of_working.py": [
        "switched desk from sequential to parallel",
        "one text out of researcher, analyst",
        "parallel",
        "parallel by itself",
    ],
    "05_registry.py": [
        "available: ['coder'] active: []",
        "for automation: ['coder']",
        "available: ['coder'] active: ['coder']",
        "def solve():  # Automate the monthly report in Python",
    ],
    "07_hierarchy.py": [
        "## backend_maker",
        "",
        "Build the order service > plan > design > backend",
        "",
        "## frontend_maker",
        "",
        "Build the order service > plan > design > frontend",
        "4 tasks; 4 agents in the department",
        "## backend_maker",
        "",
        "Only the lead's part > design > backend",
        "",
        "## frontend_maker",
        "",
        "Only the lead's part > design > frontend",
        "[2, 2]",
    ],
    "08_a_strategy_for_each_kind.py": [
        "research: 2 notes in one",
        "analysis: 42 %",
        "content: draft 3",
        "technical: a patch, reviewed, reviewed",
    ],
    "09_a_model_that_leads.py": [
        "researcher: done",
        "fact_checkers: done",
        "writer: done",
        "Lisbon has a new tram line.",
    ],
    "10_many_tasks_few_workers.py": [
        "100 100 worker_1: part 1 of 100: Find the mood of 100 customer reviews",
        "['worker_1', 'worker_2', 'worker_1', 'worker_1', 'worker_2']",
        "['good', 'bad', 'good']",
        "asked for 2 times, done once by worker_1",
        "failed: no words in '???'",
        "backup: puzzled",
        "4 completed, 1 failed",
    ],
    "12_queue_with_duties.py": [
        "asked at once: running",
        "asked of a person: ['retry', 'reject', 'skip', 'use']",
        "Pay invoice 4711: signed and paid",
        "asked later: done",
        "8 tries; accountant looks at Pay invoice 4711",
        "before invoice 2: True",
    ],
    "14_programs_as_agents.py": [
        "THE REEF LIES TO THE NORTH (6 words)",
        "run r2 failed: shout: false exited with 1",
    ],
}


def said_by(program: str, folder: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / program],
        cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.parametrize("program", SAID)
def test_an_example_says_what_it_is_there_to_say(program: str, tmp_path: Path) -> None:
    assert said_by(program, tmp_path) == SAID[program]


def test_a_watched_script_finds_its_team_again(tmp_path: Path) -> None:
    program = "13_any_script_watched.py"

    assert said_by(program, tmp_path) == ["5 words in r1; 1 tasks so far"]
    assert said_by(program, tmp_path) == ["5 words in r2; 2 tasks so far"]
    assert (tmp_path / "team.db").is_file()


def test_an_agent_that_an_agent_made_is_found_and_called_by_a_new_process(tmp_path: Path) -> None:
    program, rest = "11_an_agent_that_makes_agents.py", ["x is 1.4142 or -1.4142", "['architect', 'solver']"]

    assert said_by(program, tmp_path) == ["made: architect/solver", *rest]
    assert said_by(program, tmp_path) == ["found again: architect/solver", *rest]


def test_a_team_finds_a_member_in_a_catalogue_by_the_commands_of_the_list(tmp_path: Path) -> None:
    console = Console(Path(shutil.copytree(EXAMPLES / "catalogue", tmp_path / "catalogue")))
    (block,) = re.findall(r"^```sh\n(.*?)^```$", (EXAMPLES / "README.md").read_text(), re.DOTALL | re.MULTILINE)
    lines = [shlex.split(line, comments=True)[1:] for line in block.splitlines()]
    add, search, approve, up, run, answer, stop = lines
    assert "2 added" in console.done(*add)
    (entry,) = console.json(*search)["items"]
    console.done(*[entry["id"] if word == "ID" else word for word in approve])
    console.done(*up)

    with console.begin(*run) as running:
        await_event(console.database("harbour"), "escalated")
        (asked,) = console.json("inbox")["items"]
        untrusted = console.run(*[word for word in answer if word != "--trust"])
        console.done(*answer)
        output, _ = running.communicate(timeout=PATIENCE_S)
    console.done(*stop)

    assert (asked["about"], asked["options"]) == ("discover", ["add", "skip"])
    assert (untrusted.returncode, "crew:read_tides" in untrusted.stderr) == (3, True)
    assert output == "Tide tables for an article: high water at 06:12 and 18:37\n"


def test_every_example_is_run_here_and_has_its_line_in_the_list() -> None:
    programs = {path.name for path in EXAMPLES.glob("*.py")}
    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")

    assert programs == {*SAID, "11_an_agent_that_makes_agents.py", "13_any_script_watched.py"}
    assert [name for name in programs if f"`{name}`" not in listed] == []
