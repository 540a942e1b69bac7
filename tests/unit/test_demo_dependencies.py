import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.demo import imports
from dashboard.demo.dependencies import compared, declared_in, is_licence_file, is_manifest, licence_of, requirements
from dashboard.demo.imports import cycles

PYPROJECT = """
[project]
dependencies = ["requests>=2", "PyYAML"]
optional-dependencies = {dev = ["pytest[x]==8 ; python_version > '3'"]}
"""


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("pyproject.toml", PYPROJECT, [("requests", ">=2"), ("PyYAML", ""), ("pytest", "==8")]),
        ("requirements-dev.txt", "# c\na==1 \\\n  --hash=sha256:x\n-r other.txt\nb\n", [("a", "==1"), ("b", "")]),
        ("setup.cfg", "[options]\ninstall_requires =\n  a>1\n  b\n", [("a", ">1"), ("b", "")]),
        ("package.json", '{"dependencies": {"left-pad": "^1"}}', [("left-pad", "^1")]),
        ("Cargo.toml", '[dependencies]\nserde = {version = "1"}\nlog = "0.4"\n', [("serde", "1"), ("log", "0.4")]),
        ("go.mod", "require (\n\tgithub.com/a/b v1.2.3\n)\n", [("github.com/a/b", "v1.2.3")]),
    ],
)
def test_manifests_are_read(name: str, text: str, found: list[tuple[str, str]]) -> None:
    assert is_manifest(f"sub/{name}")
    assert [(package, version) for package, version, _ in requirements(name, text)] == found


def test_a_package_whose_name_no_journal_can_hold_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"dependencies": {"\\ud800": "*"}}')

    found = declared_in(str(tmp_path), ["package.json"])

    assert not found["items"]
    assert [each["file"] for each in found["failures"]] == ["package.json"]


@pytest.mark.parametrize("text", ["[", '{"project": 1}', "[project]\ndependencies = 3\n", "project = []\n"])
def test_a_manifest_of_any_other_shape_is_a_failure_and_not_a_crash(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)

    assert [each["file"] for each in declared_in(str(tmp_path), ["pyproject.toml"])["failures"]] == ["pyproject.toml"]


def item(name: str, version: str = "1", file: str = "requirements.txt") -> dict[str, str]:
    return {"name": name, "version": version, "kind": "python", "file": file}


def test_declarations_are_held_against_imports() -> None:
    declared = [item("PyYAML"), item("left-pad", ""), item("scikit_learn"), item("pyyaml", "2", "pyproject.toml")]

    found = compared(declared, {"yaml": 3, "sklearn": 1, "numpy": 2, "rare": 1}, firm=["yaml", "sklearn", "numpy"])

    assert (found["undeclared"], found["unseen"]) == (["numpy"], ["left-pad"])
    assert (found["loose"], found["twice"]) == (["left-pad"], ["pyyaml"])


def entries(tmp_path: Path, **files: str) -> list[dict[str, object]]:
    names = [name.replace("__", "/") + ".py" for name in files]
    for name, text in zip(names, files.values(), strict=True):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found: list[dict[str, object]] = imports.read({"folder": str(tmp_path), "files": names})["entries"]
    return found


def test_imports_at_load_time_are_told_from_later_ones(tmp_path: Path) -> None:
    [entry] = entries(tmp_path, pkg__a="import os\ntry:\n    import fast\nexcept ImportError:\n    from . import b\n"
                      "if TYPE_CHECKING:\n    import typed\ndef f():\n    from ..up import late\n")  # fmt: skip

    assert entry["always"] == ["fast", "os", "pkg", "pkg.b"]
    assert entry["later"] == ["typed", "up", "up.late"]
    assert entry["firm"] == ["os", "typed", "up"]


def test_cycles_of_own_modules_are_found_and_outside_packages_counted(tmp_path: Path) -> None:
    found = entries(tmp_path, pkg__a="from pkg import b\nimport numpy\n", pkg__b="import a\nimport os, numpy.linalg\n")

    summary = imports.summary(found)

    assert summary["cycles"] == [["pkg/a.py", "pkg/b.py"]]
    assert summary["outside"] == {"numpy": 2}


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


def test_licences_are_recognised_by_their_words() -> None:
    apache = (Path(__file__).parents[2] / "LICENSE").read_text()

    assert licence_of(apache) == "Apache-2.0"
    assert licence_of("Permission is hereby granted, free of\n charge … THE SOFTWARE IS PROVIDED “AS IS”") == "MIT"
    assert licence_of("GNU LESSER GENERAL PUBLIC LICENSE Version 3 … GNU General Public License") == "LGPL"
    assert licence_of(json.dumps({})) == "unknown"
    assert is_licence_file("a/LICENSE.txt")
    assert not is_licence_file("licences.py")
