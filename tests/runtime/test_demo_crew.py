"""The crew of the demo on a folder of trouble: it reports what is there, says what failed, and takes more requests."""

import gzip
import json
import os
import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest

from dashboard.cli.demo import crew_file, crew_text
from dashboard.demo.library import ODD_FILES
from engine.core.state import AgentStatus, RunStatus, RunSummary, State
from engine.teamfile import parse_team, read_team
from store import Record
from tests.contract.corpus.reading import FOLDER
from tests.runtime.engines import running

BROKEN = "def f(:\n"
HOSTILE = (
    "\x1b]0;owned\x07.py",
    "\x1b[2J\x1b[31mred.py",
    "[bold red]loud[/].py",
    "[@click=app.quit]here[/].py",
    "\u202eyp.txt.py",
    "two\nlines.py",
    "a|b`c`*d*.py",
    "$(touch owned);.py",
    "-rf.py",
    "n" * 240 + ".py",
)
UNPARSED = {
    "deep_brackets.py": f"X = {'(' * 500}1{')' * 500}\n".encode(),
    "huge_number.py": f"N = {'9' * 20_000}\n".encode(),
    "not_a_picture.py": bytes((at * 37 + at // 7) % 256 for at in range(4_000)),
}
REQUESTS = ("audit", "audit pkg", "audit ../..", "audit shpes", "dance", "audit pkg.shapes")


@dataclass
class Audit:
    """What the crew made of every request, one after the other under one engine."""

    ends: dict[str, RunSummary] = field(default_factory=dict)
    reports: dict[str, str] = field(default_factory=dict)
    journal: list[Record] = field(default_factory=list)
    state: State = field(default_factory=State)

    def bodies(self, kind: str) -> list[Any]:
        return [json.loads(record.body) for record in self.journal if record.kind == kind]


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Audit:
    folder = tmp_path_factory.mktemp("trouble")
    (folder / "pkg").mkdir()
    (folder / "pkg" / "shapes.py").write_text(
        '"""Shapes."""\n\n\ndef area(width, height):\n    return width * height\n'
    )
    odd = folder / "odd"
    odd.mkdir()
    for name, data in (ODD_FILES | UNPARSED).items():
        (odd / name).write_bytes(data)
    os.mkfifo(odd / "pipe.py")
    (odd / "loop.py").symlink_to("loop.py")
    (odd / "again").symlink_to(".", target_is_directory=True)
    (odd / "outside.py").symlink_to("/etc/hostname")
    (odd / "no_permission.py").write_text("X = 1\n")
    (odd / "no_permission.py").chmod(0)
    for name in HOSTILE:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(BROKEN)
    return anyio.run(_audited, folder, tmp_path_factory.mktemp("data") / "demo.db")


async def _audited(folder: Path, database: Path) -> Audit:
    audit = Audit()
    command = read_team(crew_file()).load_command(folder=folder)
    async with running(path=database) as engine:
        await engine.host.order(command)
        for request in REQUESTS:
            summary, output = await engine.ended(await engine.submit(request))
            audit.ends[request] = summary
            audit.reports[request] = str(output)
        audit.journal = await engine.journal()
        audit.state = engine.state
    return audit


def chapter(report: str, title: str) -> str:
    return report.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_the_report_is_complete_although_much_of_the_folder_cannot_be_read(audit: Audit) -> None:
    report = audit.reports["audit"]

    assert audit.ends["audit"].status is RunStatus.DONE
    titles = [line[3:] for line in report.splitlines() if line.startswith("## ")]
    assert titles == ["Hot spots", "Used names", "Documentation", "History", "What is here", "What failed"]
    assert "`pkg/shapes.py:4 area`" in chapter(report, "Used names")
    assert "`odd/bad_encoding.py`" in chapter(report, "What is here")


def test_what_cannot_be_opened_is_skipped(audit: Audit) -> None:
    [line] = [line for line in audit.reports["audit"].splitlines() if line.startswith("- Skipped")]

    for name in ("odd/again", "odd/loop.py", "odd/outside.py", "odd/pipe.py", "odd/no_permission.py"):
        assert f"`{name}`" in line


def test_what_leads_do_is_told_by_what_they_delegate_and_not_by_steps_of_a_clock(audit: Audit) -> None:
    names = {body["name"] for body in audit.bodies("step_recorded")}

    assert names == {"look for generated files", "look for git", "read history"}


def test_every_file_that_no_parser_takes_is_tried_again_and_fails_alone(audit: Audit) -> None:
    failed = {body["task_id"]: body["error"] for body in audit.bodies("task_failed") if body["run_id"] == "r1"}
    parsers = {agent.id for agent in audit.state.agents.values() if agent.name.startswith("parser")}
    tries = Counter(body["task_id"] for body in audit.bodies("attempt_failed") if body["agent_id"] in parsers)

    named = " ".join(failed.values())
    for name in ("broken_syntax", "deep_brackets", "huge_number", "null_bytes", "python_two", "not_a_picture"):
        assert f"odd/{name}.py" in named
    assert len(failed) == audit.ends["audit"].failed >= len(HOSTILE) + 6
    # A retry goes to whichever parser is free, and failover to one that has not failed at the file.
    assert {tries[task_id] for task_id in failed if task_id in tries} <= {2, 4}


def test_all_that_failed_is_named_in_the_report(audit: Audit) -> None:
    failed = chapter(audit.reports["audit"], "What failed")

    for name in ("odd/broken_syntax.py", "odd/null_bytes.py", "odd/python_two.py", "$(touch owned);.py", "-rf.py"):
        assert f"`{name}`" in failed
    assert failed.count("`odd/broken_syntax.py`") == 1


def test_no_name_from_the_folder_reaches_the_report_as_more_than_text(audit: Audit) -> None:
    report = audit.reports["audit"]

    odd = {letter for letter in report if unicodedata.category(letter)[0] == "C"} - {"\n"}
    assert odd == set()
    assert "owned" in report
    assert "two\nlines" not in report


def test_a_request_for_a_part_is_about_that_part_alone(audit: Audit) -> None:
    for request, title in (("audit pkg", "# Audit of `pkg`\n"), ("audit pkg.shapes", "# Audit of `pkg/shapes.py`\n")):
        report = audit.reports[request]

        assert audit.ends[request].status is RunStatus.DONE
        assert report.startswith(title)
        assert "odd/" not in report
        assert "Nothing failed." in chapter(report, "What failed")


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        ("audit ../..", "outside the folder"),
        ("audit shpes", "nothing named 'shpes'"),
        ("dance", "the crew audits"),
    ],
)
def test_a_request_that_the_crew_cannot_follow_fails_in_words(audit: Audit, request_: str, reason: str) -> None:
    summary = audit.ends[request_]

    assert summary.status is RunStatus.FAILED
    assert reason in str(summary.error)


def test_after_all_of_it_the_crew_is_whole_and_idle(audit: Audit) -> None:
    assert {agent.status for agent in audit.state.agents.values()} == {AgentStatus.IDLE}
    assert audit.state.runs == {}
    assert not audit.bodies("signal_dropped")


@pytest.mark.anyio
async def test_the_team_of_an_older_demo_is_whole_but_for_agents_whose_code_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "demo.db"
    path.write_bytes(gzip.decompress((FOLDER / "demo.db.gz").read_bytes()))

    async with running(path=path) as engine:
        await engine.until(lambda state: sum(bool(agent.error) for agent in state.agents.values()) == 12)
        errors = {agent.name: agent.error or "" for agent in engine.state.agents.values() if agent.error}

    assert set(errors) == {
        "scout-fast", "scout-thorough", "import-reader", "parser-fast", "parser-thorough", "hazard-scanner",
        "tokenizer", "duplicate-judge", "doc-reader", "librarian", "hazard-lead", "duplicate-finder",
    }  # fmt: skip
    for error in errors.values():
        assert error.endswith("; this team is from an older demo; quarterdeck demo makes a new one")
        assert "\n" not in error


MODELS = """
models:
  good: {replies: [{match: "^# Audit", text: "Mend [b]it[/b] first.\\nThen rest."}]}
  down: {replies: [{fail: auth}]}
"""


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("model", "summary"),
    [("good", "> Mend \\[b\\]it\\[/b\\] first.\n> Then rest.\n\n1. "), ("down", "> No summary by editor: ")],
)
async def test_a_model_sums_the_report_up_and_the_report_is_there_without_it(
    tmp_path: Path, model: str, summary: str
) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "shapes.py").write_text("def area(width, height):\n    return width * height\n")
    file = parse_team(crew_text(model) + MODELS, crew_file())
    async with running(path=tmp_path / "demo.db") as engine:
        await engine.host.order(file.load_command(folder=tmp_path / "source"))
        _, output = await engine.ended(await engine.submit("audit"))

    assert str(output).startswith("# Audit\n\n" + summary)
    assert "## Hot spots" in str(output)


@pytest.mark.anyio
async def test_where_git_is_not_installed_the_report_says_what_was_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    (tmp_path / "shapes.py").write_text('"""Shapes."""\n\n\ndef area(width, height):\n    return width * height\n')
    async with running() as engine:
        await engine.host.order(read_team(crew_file()).load_command(folder=tmp_path))
        summary, output = await engine.ended(await engine.submit("audit"))
    assert (summary.status, summary.failed) == (RunStatus.DONE, 0)
    assert "No history was read" in str(output)
    assert "No name was looked up" in str(output)
