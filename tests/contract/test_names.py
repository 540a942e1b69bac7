"""Names say what a value is, not how the author came by it: a bound on each package's share of words that do not."""

import ast
import tomllib
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from tests.contract.names import assigned_in

ROOT = Path(__file__).resolve().parents[2]
WORDS = frozenset({
    "above", "asked", "besides", "drawn", "ended", "found", "given", "gone", "heard", "held", "here", "how", "kept",
    "known", "looked", "made", "meant", "most", "one", "said", "seen", "shown", "spoken", "taken", "then", "there",
    "told", "wanted", "what", "who", "written",
})  # fmt: skip
MAX_PERCENT = 0.5
"""Share of all assigned names of a package that may be one of `WORDS`; frozen names count neither here nor there."""


def packages() -> list[str]:
    """The packages of the product."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return list(project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"])


@pytest.mark.parametrize("package", packages())
def test_names_say_what_a_value_is(package: str) -> None:
    names = [
        each.name
        for path in (ROOT / package).rglob("*.py")
        for each in assigned_in(ast.parse(path.read_text(encoding="utf-8")))
        if not each.is_frozen
    ]
    words = Counter(name for name in names if name in WORDS)
    percent = 100 * words.total() / len(names)

    assert percent <= MAX_PERCENT, words.most_common(10)


def test_names_that_files_and_programs_rely_on_are_left_out() -> None:
    source = """
@fact
class RunCancelled:
    said: str

class Limits:
    then: str
    kept = 1

class Requests:
    def answer(self, question, *, also=(), told=()):
        who = question

@shared_fields
class Ending:
    ended: int
"""

    left = {(each.name, each.is_frozen) for each in assigned_in(ast.parse(source))}

    assert left == {
        ("said", False), ("then", True), ("kept", False), ("question", True), ("also", True), ("told", False),
        ("who", False), ("ended", True),
    }  # fmt: skip


MIRRORED = frozenset(
    {"commands", "events", "entities", "fold", "decide", "legality", "laws", "ledger", "actions", "screens", "pages"}
)
"""Rooms that have a class, a file or a function for each thing of another room, under the same name."""


def test_classes_of_one_name_stand_in_mirrored_rooms_alone() -> None:
    places = defaultdict(list)
    for package in packages():
        for path in (ROOT / package).rglob("*.py"):
            if MIRRORED.isdisjoint(path.with_suffix("").relative_to(ROOT).parts):
                for node in ast.parse(path.read_text(encoding="utf-8")).body:
                    if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                        places[node.name].append(path.relative_to(ROOT).as_posix())

    assert {name: files for name, files in places.items() if len(files) > 1} == {}
