"""Rooms of the product: no file imports in a circle, few files lie loose, no folder is crowded."""

import ast
from collections import Counter
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("dashboard", "engine", "quarterdeck", "store")
MOST_FILES = 25
"""Python files of one folder, beside its `__init__`."""
MOST_LOOSE = 8
"""Python files at the top of the large packages."""


@cache
def files() -> dict[str, Path]:
    """Return the files of the product by their module."""
    paths = [path.relative_to(ROOT) for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    return {".".join(path.with_suffix("").parts).removesuffix(".__init__"): path for path in paths}


def imported_by(path: Path) -> set[str]:
    """Return the modules that a file imports anywhere, also inside functions and for types alone."""
    modules = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            modules |= {name if name in files() else str(node.module) for name in names}
    return modules & files().keys()


def packages_of(module: str) -> set[str]:
    """Return the packages above a module, whose `__init__` runs first; the top ones import nothing when they load."""
    parts = module.split(".")
    return {".".join(parts[:end]) for end in range(2, len(parts))}


def test_no_files_import_each_other_in_a_circle() -> None:
    imports = {module: imported_by(path) - {module} for module, path in files().items()}
    for module, targets in imports.items():
        targets |= {package for target in targets for package in packages_of(target)} - packages_of(f"{module}._")

    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(reversed(error.args[1])))


def test_no_folder_is_crowded() -> None:
    counts = Counter(path.parent.as_posix() for path in files().values() if path.name != "__init__.py")

    assert {folder: count for folder, count in counts.items() if count > MOST_FILES} == {}


@pytest.mark.parametrize("package", ["dashboard", "engine", "engine/core"])
def test_few_files_lie_loose_in_a_large_package(package: str) -> None:
    loose = [path.name for path in files().values() if path.parent.as_posix() == package]

    assert len(loose) <= MOST_LOOSE, loose
