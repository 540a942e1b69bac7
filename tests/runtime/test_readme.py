"""What the README says must be so: its commands, keys, links and programs; those of docs/ likewise."""

import ast
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from textual.binding import Binding

from dashboard.app.app import QuarterdeckApp
from dashboard.cli import quarterdeck
from dashboard.cli.group import COMMANDS
from dashboard.dialogs.answer import AnswerDialog
from dashboard.dialogs.spec_editor import SpecEditor
from dashboard.frame.frame import Frame
from dashboard.screens.network import NetworkScreen
from dashboard.screens.tasks import TasksScreen
from dashboard.screens.timeline import TimelineScreen
from dashboard.widgets.table import Table
from engine.teamfile import read_team
from tests.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [*DOCS, ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"]
SIGNS = {
    ":": "colon", "/": "slash", "?": "question_mark", "!": "exclamation_mark", "[": "left_square_bracket",
    "]": "right_square_bracket", ",": "comma", ".": "full_stop", "{": "left_curly_bracket",
    "}": "right_curly_bracket", "(": "left_parenthesis", ")": "right_parenthesis", "=": "equals_sign",
    "<": "less_than_sign", ">": "greater_than_sign", "*": "asterisk",
}  # fmt: skip
INSTALLERS = {"pip", "pipx", "uv"}
"""Programs of the reader, one of which is enough."""
RUN_ALL = "import runpy, sys; [runpy.run_path(path, run_name='__main__') for path in sys.argv[1:]]"


def blocks(language: str, text: str = README) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def section(page: str, heading: str) -> str:
    text = (ROOT / page).read_text(encoding="utf-8")
    return text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def commands() -> Iterator[list[str]]:
    """Yield the words of each command line that stands on a page, each once."""
    said = {}
    for page in DOCS:
        text = page.read_text(encoding="utf-8")
        lines = [
            line
            for block in re.findall(r"^```sh\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
            for line in block.splitlines()
        ]
        for line in [*lines, *re.findall(r"`((?:quarterdeck|make) [^`]*)`", text)]:
            words = shlex.split(line, comments=True)
            said[shlex.join(words)] = words
    yield from filter(None, said.values())


def bound_keys() -> set[str]:
    places = (Frame, NetworkScreen, TasksScreen, TimelineScreen, Table, QuarterdeckApp, AnswerDialog, SpecEditor)
    classes = {cls for place in places for cls in place.__mro__}
    found = [one for cls in classes for one in vars(cls).get("BINDINGS", ()) if isinstance(one, Binding)]
    return {QuarterdeckApp.COMMAND_PALETTE_BINDING, *(key for one in found for key in one.key.split(","))}


@pytest.mark.parametrize("words", [words for words in commands() if words[0] == "quarterdeck"], ids=shlex.join)
def test_a_command_of_a_page_is_understood(words: list[str]) -> None:
    at = next((place for place, word in enumerate(words) if word in COMMANDS), len(words))

    assert [word for word in words[1:at] if not word.startswith("-") and not word.endswith(".db")] == []
    quarterdeck.make_context("quarterdeck", words[1:at], resilient_parsing=True)
    if at < len(words):
        command = quarterdeck.get_command(click.Context(quarterdeck), words[at])
        assert command is not None
        command.make_context(words[at], words[at + 1 :])


def test_every_command_line_of_a_page_begins_with_a_program_that_is_there() -> None:
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    made = [[word for word in words[1:] if "=" not in word] for words in commands() if words[0] == "make"]

    assert {words[0] for words in commands()} - INSTALLERS == {"make", "quarterdeck", "source"}
    assert {target for words in made for target in words} <= set(targets)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    links = [link for link in re.findall(r"\]\(([^) ]+)\)", page.read_text(encoding="utf-8")) if "://" not in link]

    assert [link for link in links if not _is_there(page, *link.partition("#"))] == []


def _is_there(page: Path, path: str, _: str, heading: str) -> bool:
    target = page.parent / path if path else page
    return target.exists() and (not heading or heading in headings(target))


def headings(page: Path) -> set[str]:
    """Return what links to the headings of a page end in."""
    found = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in found}


@pytest.mark.parametrize(
    ("page", "heading"), [("README.md", "The dashboard"), ("docs/operating.md", "Keys of the dashboard")]
)
def test_every_key_of_a_table_of_keys_is_bound(page: str, heading: str) -> None:
    rows = re.findall(r"^\| (`.*?) \|", section(page, heading), re.MULTILINE)
    keys = [SIGNS.get(key, key) for row in rows for key in re.findall(r"`([^`]+)`", row)]

    assert len(keys) > 10
    assert [key for key in keys if key not in bound_keys()] == []


def test_every_key_of_the_page_for_operators_is_bound() -> None:
    page = re.sub(r"```.*?```", "", (ROOT / "docs/operating.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    codes = re.findall(r"`([^`]+)`", page)
    keys = [SIGNS.get(code, code) for code in codes if re.fullmatch(r"ctrl\+\w+|f\d|.", code)]

    assert len(keys) > 10
    assert [key for key in keys if key not in bound_keys()] == []


def test_the_team_file_is_valid_and_names_functions_that_stand_below_it(tmp_path: Path) -> None:
    team = next(block for block in blocks("yaml") if "name: counters" in block)
    (tmp_path / "team.yaml").write_text(team, encoding="utf-8")
    functions = {
        node.name
        for block in blocks("python")
        for node in ast.parse(block).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }

    assert read_team(tmp_path / "team.yaml").name == "counters"
    assert set(re.findall(r"crew:(\w+)", team)) <= functions


@pytest.mark.parametrize("text", [README, section("docs/reference/python.md", "A program")], ids=["README", "python"])
def test_programs_print_what_stands_below_them(tmp_path: Path, text: str) -> None:
    programs = [tmp_path / f"program_{place}.py" for place, _ in enumerate(blocks("python", text))]
    for path, program in zip(programs, blocks("python", text), strict=True):
        path.write_text(program, encoding="utf-8")

    ran = subprocess.run(
        [sys.executable, "-P", "-c", RUN_ALL, *map(str, programs)],
        cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S,
    )  # fmt: skip

    assert ran.stderr == ""
    assert ran.stdout == "".join(blocks("text", text)) != ""


def test_no_picture_fetches_anything_from_the_net() -> None:
    pictures = sorted((ROOT / "screenshots").glob("*.svg"))

    assert pictures
    assert [path.name for path in pictures if re.search(r"url\(.?https?:|@import|@font-face", path.read_text())] == []
