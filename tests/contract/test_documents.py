"""The form of the documents: lengths, widths, and that every file and folder they name exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAP = ROOT / "ARCHITECTURE.md"
TOP = [ROOT / f"{name}.md" for name in ("README", "ARCHITECTURE", "CONTRIBUTING", "CHANGELOG")]
PAGES = [*TOP, *sorted((ROOT / "docs").rglob("*.md"))]
NARROW = [page for page in PAGES if page.stem != "CHANGELOG"]
PACKAGES = ("quarterdeck", "dashboard", "engine", "store")
LONGEST_LINE = 120
LARGEST_MAP_BYTES = 15_000


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def paths_named_by(text: str) -> set[str]:
    """Return the paths below our own folders that stand in backticks."""
    folders = "|".join((*PACKAGES, "tests", "docs", "examples", "screenshots"))
    inline = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    return set(re.findall(rf"`((?:{folders})/[\w./-]*)`", inline))


def test_the_map_is_short_enough_to_be_read_whole() -> None:
    assert len(MAP.read_bytes()) <= LARGEST_MAP_BYTES


@pytest.mark.parametrize("page", NARROW, ids=lambda page: page.stem)
def test_no_line_of_a_page_but_of_a_table_is_wider_than_the_code(page: Path) -> None:
    wide = [line for line in text_of(page).splitlines() if len(line) > LONGEST_LINE and not line.startswith("|")]

    assert wide == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    assert sorted(path for path in paths_named_by(text_of(page)) if not (ROOT / path).exists()) == []


def test_the_map_has_every_package() -> None:
    packages = {f"{path.parent.relative_to(ROOT)}/" for name in PACKAGES for path in (ROOT / name).rglob("__init__.py")}

    assert packages - {"dashboard/"} <= paths_named_by(text_of(MAP))


def test_the_map_answers_twenty_questions_each_with_a_file() -> None:
    rows = re.findall(r"^\| (.*?) \| (.*?) \|$", text_of(MAP).partition("## Where is")[2], re.MULTILINE)[1:]

    assert len(rows) == 20
    assert [question for question, answer in rows if not paths_named_by(answer)] == []
