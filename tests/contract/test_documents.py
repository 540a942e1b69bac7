"""The form of the documents: lengths, widths, and that every file and folder they name exists."""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAP = ROOT / "ARCHITECTURE.md"
TOP = [ROOT / f"{name}.md" for name in ("README", "ARCHITECTURE", "CONTRIBUTING", "CHANGELOG")]
PAGES = [*TOP, *sorted((ROOT / "docs").rglob("*.md"))]
PACKAGES = ("quarterdeck", "dashboard", "engine", "store")
NOT_OURS = ("CHANGELOG", "CONTRIBUTING", "later", "measurements")
"""Pages that name classes of libraries, of tests, or of what is not built."""
WORD = re.compile(r"\w+")
LONGEST_LINE = 120
LARGEST_MAP_BYTES = 17_000


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


@cache
def modules() -> list[Path]:
    return sorted(path for name in PACKAGES for path in (ROOT / name).rglob("*.py"))


@cache
def sources() -> list[str]:
    return [text_of(path) for path in modules()]


def paths_named_by(text: str) -> set[str]:
    """Return the paths below our own folders that stand in backticks."""
    folders = "|".join((*PACKAGES, "tests", "docs", "examples", "screenshots"))
    inline = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    return set(re.findall(rf"`((?:{folders})/[\w./-]*)`", inline))


def test_the_map_is_short_enough_to_be_read_whole() -> None:
    assert len(MAP.read_bytes()) <= LARGEST_MAP_BYTES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_line_of_a_page_but_of_a_table_is_wider_than_the_code(page: Path) -> None:
    wide = [line for line in text_of(page).splitlines() if len(line) > LONGEST_LINE and not line.startswith("|")]

    assert wide == []


@pytest.mark.parametrize("page", [page for page in PAGES if page.stem != "CHANGELOG"], ids=lambda page: page.stem)
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    assert sorted(path for path in paths_named_by(text_of(page)) if not (ROOT / path).exists()) == []


@pytest.mark.parametrize("page", [page for page in PAGES if page.stem not in NOT_OURS], ids=lambda page: page.stem)
def test_every_class_that_a_page_names_exists(page: Path) -> None:
    prose = re.sub(r"^```.*?^```$", "", text_of(page), flags=re.DOTALL | re.MULTILINE)
    codes = [code for code in re.findall(r"`([^`]+)`", prose) if "/" not in code]
    named = {name for code in codes for name in re.findall(r"\b[A-Z]\w*[a-z]\w*", code)}

    assert sorted(named - words_of_the_product()) == []


@cache
def words_of_the_product() -> set[str]:
    return {word for text in sources() for word in WORD.findall(text)}


def test_the_map_has_every_package() -> None:
    packages = {f"{path.parent.relative_to(ROOT)}/" for name in PACKAGES for path in (ROOT / name).rglob("__init__.py")}

    assert packages - {"dashboard/"} <= paths_named_by(text_of(MAP))


def test_the_map_answers_twenty_questions_each_with_a_file() -> None:
    rows = re.findall(r"^\| (.*?) \| (.*?) \|$", text_of(MAP).partition("## Where is")[2], re.MULTILINE)[1:]

    assert len(rows) == 20
    assert [question for question, answer in rows if not paths_named_by(answer)] == []


def pages_named_in_code() -> set[str]:
    """Return the pages that docstrings of modules refer to."""
    texts = [*sources(), *(text_of(path) for path in (ROOT / "tests/bench").rglob("*.py"))]
    documented = (text.split('"""', 2)[1] for text in texts if text.startswith('"""'))
    return {page for text in documented for page in re.findall(r"docs/[\w/-]+\.md", text)}


def test_every_page_is_named_by_a_module_that_depends_on_it_and_no_other_page_is() -> None:
    assert pages_named_in_code() == {str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")}


def test_every_kind_of_json_is_described_and_no_other() -> None:
    page = text_of(ROOT / "docs/reference/command-line.md").partition("## JSON")[2]
    written = "".join(text_of(path) for path in (ROOT / "dashboard/cli").rglob("*.py"))
    kinds = re.findall(r'(?:"kind": |\bemit\(\s*[\w.]+, |_announce\()"(\w+)"', written)
    told = [*re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE), *re.findall(r'"kind":"([\w|]+)"', page)]

    assert {kind for each in told for kind in each.split("|")} == {*kinds}


UNDO = "engine/core/queries/people/inverses.py"
"""Names the commands that can be taken back; others have no place there."""
METHOD = "engine/supervisor/requests.py"
"""Has a method for programs, which a command need not have."""
LABELS = "dashboard/views/words/field_names.py"
"""Names the fields of specs that have words or a place of their own; others stand at the end under their names."""


def files_that_name(word: str) -> set[str]:
    """Return the files of the product, without the simulation, in which a word stands."""
    pairs = zip(modules(), sources(), strict=True)
    found = {path for path, text in pairs if word in text and re.search(rf"\b{word}\b", text)}
    return {str(path.relative_to(ROOT)) for path in found if "simulation" not in path.parts}


ADDITIONS: dict[str, Callable[[], set[str]]] = {
    "A command": lambda: files_that_name("SetPriority") - {UNDO, METHOD} | {"dashboard/cli/group.py"},
    "An event": lambda: {path for path in files_that_name("MembersOrdered") if "/decide/" not in path},
    "A rule of balancing": lambda: files_that_name("least_load"),
    "An option of an agent": lambda: (
        files_that_name("step_timeout_s")
        - {"engine/runtimes/attempts/attempt_limits.py", LABELS}
        - files_that_name("AgentKind")  # declare which fields a runtime has no use for
    ),
}


@pytest.mark.parametrize("heading", ADDITIONS)
def test_an_addition_costs_as_many_files_as_is_said(heading: str) -> None:
    files = ADDITIONS[heading]()
    said = re.search(rf"^\*\*{heading} \((\d+)\)", text_of(ROOT / "CONTRIBUTING.md"), re.MULTILINE)

    assert said is not None
    assert len(files) <= int(said[1]), sorted(files)
