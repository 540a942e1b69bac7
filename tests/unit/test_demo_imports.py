from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dashboard.demo import chapters, checks
from dashboard.demo.chapters import cycles


def entries(tmp_path: Path, **files: str) -> list[dict[str, Any]]:
    names = [name.replace("__", "/") + ".py" for name in files]
    for name, text in zip(names, files.values(), strict=True):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found: list[dict[str, Any]] = checks.read_imports({"folder": str(tmp_path), "files": names})["entries"]
    return found


def test_imports_at_load_time_are_told_from_later_ones(tmp_path: Path) -> None:
    [entry] = entries(tmp_path, pkg__a="import os\ntry:\n    import fast\nexcept ImportError:\n    from . import b\n"
                      "if TYPE_CHECKING:\n    import typed\ndef f():\n    from ..up import late\n")  # fmt: skip

    assert entry["always"] == ["fast", "os", "pkg", "pkg.b"]
    assert entry["later"] == ["typed", "up", "up.late"]


def test_cycles_of_own_modules_are_found_and_outside_packages_counted(tmp_path: Path) -> None:
    rows = entries(tmp_path, pkg__a="from pkg import b\nimport numpy\n", pkg__b="import a\nimport os, numpy.linalg\n")

    chapter = chapters.dependencies(rows)

    assert "- Import cycles (1):\n  - `pkg/a.py` ↔ `pkg/b.py`\n" in chapter["text"]
    assert "- Imported from outside (files): `numpy` (2)\n" in chapter["text"]
    assert chapter["headline"] == "1 import cycle"


@given(st.dictionaries(st.sampled_from("abcdef"), st.sets(st.sampled_from("abcdef"))))
def test_a_cycle_is_a_largest_group_in_which_each_reaches_each(graph: dict[str, set[str]]) -> None:
    def reach(start: str) -> set[str]:
        seen: set[str] = set()
        todo = [start]
        while todo:
            for target in graph.get(todo.pop(), set()) - seen:
                seen.add(target)
                todo.append(target)
        return seen

    nodes = {*graph, *(target for targets in graph.values() for target in targets)}
    groups = {frozenset({other for other in reach(node) if node in reach(other)} | {node}) for node in nodes}

    assert {frozenset(cycle) for cycle in cycles(graph)} == {group for group in groups if len(group) > 1}


def test_a_long_chain_of_imports_is_no_deep_recursion() -> None:
    chain = {str(at): {str(at + 1)} for at in range(5_000)} | {"5000": {"0"}}

    assert [len(cycle) for cycle in cycles(chain)] == [5_001]
