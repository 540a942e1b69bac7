"""The core and the views read no clock, draw no randomness and do no I/O: their syntax trees say so.

import-linter has no list of what is allowed, so this reads the sources themselves.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAY_IMPORT = {
    "engine.core": {"engine.core", "msgspec", "pydantic", "pydantic_core", "snowballstemmer", "typing_extensions"},
    # What of engine and store is a contract in `pyproject.toml`.
    "dashboard.views": {"dashboard.clean", "dashboard.views", "engine", "markdown_it", "msgspec", "rich", "store"},
}
PURE = [path for package in MAY_IMPORT for path in sorted((ROOT / package.replace(".", "/")).rglob("*.py"))]
IMPURE = {
    "asyncio", "concurrent", "importlib", "io", "multiprocessing", "os", "pkgutil", "random", "secrets", "selectors",
    "shutil", "signal", "socket", "sqlite3", "ssl", "subprocess", "tempfile", "threading", "time", "urllib", "uuid",
}  # fmt: skip
DATA = {"engine.core.discovery.synonyms": "imports pkgutil"}
"""A module that reads its data when it is imported, as the module itself is read."""
IMPURE_NAMES = {"open", "input", "print", "exec", "eval", "__import__", "breakpoint"}
CLOCKS = {"now", "utcnow", "today"}
FILE_METHODS = {
    "read_text", "read_bytes", "write_text", "write_bytes", "touch", "unlink", "mkdir", "rmdir", "iterdir",
    "glob", "rglob", "stat", "exists", "is_file", "is_dir",
}  # fmt: skip


def impurities(source: str, module: str = "engine.core.example") -> list[str]:
    """Everything in a module that would tie it to the world."""
    return [f"line {line}: {what}" for line, what in _found(ast.parse(source), module)]


def _found(tree: ast.AST, module: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        for name in _imported(node, module):
            if (reason := _refused_import(name, module)) is not None:
                yield _line(node), reason
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in IMPURE_NAMES:
            yield node.lineno, f"uses {node.id}"
        if isinstance(node, ast.Attribute) and node.attr in CLOCKS and _last_name(node.value) in {"datetime", "date"}:
            yield node.lineno, f"reads the clock: .{node.attr}"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in FILE_METHODS:
            yield node.lineno, f"touches a file: .{node.func.attr}()"


def _imported(node: ast.AST, module: str) -> Iterator[str]:
    """Full dotted names that an import statement brings in."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        parts = module.split(".")[: -node.level] if node.level else []
        base = ".".join([*parts, *([node.module] if node.module else [])])
        yield from (f"{base}.{alias.name}" for alias in node.names)


def _refused_import(name: str, module: str) -> str | None:
    top = name.partition(".")[0]
    if top in IMPURE:
        return f"imports {name}"
    allowed = next(allowed for package, allowed in MAY_IMPORT.items() if f"{module}.".startswith(f"{package}."))
    if top in sys.stdlib_module_names or any(f"{name}.".startswith(f"{one}.") for one in allowed):
        return None
    return f"imports {name}, which is neither the standard library nor pure"


def _last_name(node: ast.AST) -> str | None:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


def _line(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 0))


@pytest.mark.parametrize("path", PURE, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_of_the_core_and_of_the_views_stays_pure(path: Path) -> None:
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)

    found = impurities(path.read_text(encoding="utf-8"), module)

    assert [one for one in found if DATA.get(module) != one.partition(": ")[2]] == []


@pytest.mark.parametrize(
    "source",
    [
        "import time",
        "import pkgutil",
        "import os.path",
        "from random import random",
        "import anyio",
        "from store import journal",
        "from engine import host",
        "from engine.host import Host",
        "from .. import host",
        "def late():\n    import litellm",
        "import datetime\ndatetime.datetime.now()",
        "from datetime import date\ndate.today()",
        "open('team.db')",
        "from pathlib import Path\nPath('x').read_text()",
    ],
)
def test_an_impure_line_is_found(source: str) -> None:
    assert impurities(source)


def test_a_view_may_import_what_the_core_may_not_but_no_screen() -> None:
    assert impurities("from rich.cells import cell_len", "dashboard.views.drawing.lines") == []
    assert impurities("from dashboard.deck.deck import Deck", "dashboard.views.drawing.lines")
    assert impurities("import time", "dashboard.views.drawing.lines")


@pytest.mark.parametrize(
    "source",
    [
        "from datetime import UTC, datetime\ndatetime.fromtimestamp(0, UTC)",
        "from pydantic import Field",
        "from engine.core import spec",
        "from engine.core.events import Event",
        "from .state import State",
        "import heapq, json, math, re",
    ],
)
def test_what_the_core_may_use_is_left_alone(source: str) -> None:
    assert impurities(source) == []
