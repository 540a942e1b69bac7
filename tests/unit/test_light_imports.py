"""What a person waits for at every start stays light: the heavy libraries load where they are first needed."""

import ast
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEAVY = {"litellm", "mcp", "opentelemetry", "ray", "textual"}
SCREEN = "textual"
"""Imported by many files of the dashboard, never on a path without a screen."""

SEEN = "import sys, json; print(json.dumps(sorted(set({heavy!r}) & set(sys.modules))))"


def loaded_by(program: str) -> list[str]:
    """Heavy libraries in `sys.modules` after `program` ran in an interpreter of its own."""
    code = f"{program}\n{SEEN.format(heavy=sorted(HEAVY))}"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    found: list[str] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("program", ["import engine, store", "import dashboard"])
def test_an_import_loads_no_heavy_library(program: str) -> None:
    assert loaded_by(program) == []


def test_heavy_libraries_are_imported_in_one_file_each_and_inside_a_function() -> None:
    files = defaultdict(set)
    at_import_time = []
    for package in ("dashboard", "engine", "store"):
        for path in (ROOT / package).rglob("*.py"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            for name in HEAVY - {SCREEN}:
                if name in _imports(list(ast.walk(tree))):
                    files[name].add(path.relative_to(ROOT).as_posix())
                if name in _imports(_outside_functions(tree)):
                    at_import_time.append(f"{path.relative_to(ROOT)}: {name}")

    assert at_import_time == []
    assert {name: paths for name, paths in files.items() if len(paths) > 1} == {}


def _imports(nodes: list[ast.AST]) -> set[str]:
    """Top-level names that these nodes import."""
    found = {alias.name.partition(".")[0] for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return found | {node.module.partition(".")[0] for node in nodes if isinstance(node, ast.ImportFrom) and node.module}


def _outside_functions(tree: ast.AST) -> list[ast.AST]:
    """Nodes that run when the module is imported; `if TYPE_CHECKING` never does."""
    found: list[ast.AST] = []
    waiting = [tree]
    while waiting:
        for node in ast.iter_child_nodes(waiting.pop()):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                continue
            if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
                waiting.extend(node.orelse)
                continue
            found.append(node)
            waiting.append(node)
    return found
