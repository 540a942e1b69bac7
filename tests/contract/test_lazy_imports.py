"""Imports inside functions: only of what is slow to load, and always fewer."""

import ast
from collections import Counter
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("dashboard", "engine", "quarterdeck", "store")
MOST = {"dashboard": 60, "engine": 38, "quarterdeck": 0, "store": 3}
"""Statements in each package; lower the number with each that goes."""
SLOW = {
    "Libraries": {
        "aiosqlite", "anyio", "ctypes", "difflib", "importlib.metadata", "json", "jsonschema", "litellm", "markdown_it",
        "mcp", "mcp_types", "pathlib", "pydantic", "pydantic_core", "referencing", "regex", "rich", "snowballstemmer",
        "subprocess", "tomllib",
    },
    "The command line, of which each command loads its part, and the screen": {
        "dashboard.app", "dashboard.cli", "dashboard.web",
    },
    "Screens that a key opens": {"dashboard.frame.page_screen", "dashboard.reading", "dashboard.views.graph"},
    "Readers and writers of team files and packs, which load pydantic and YAML": {
        "dashboard.user.specfile", "engine.catalogue", "engine.finding.documents", "engine.teamfile",
    },
    "The engine, which a process that only reads does not need": {
        "engine.core.preview", "engine.history", "engine.models.scripted", "engine.runtimes", "engine.simulation",
        "engine.supervisor",
    },
    "Guards": {"engine.core.specs.approval"},
    "Archives and the list of trusted files, with hashes and zip files": {"engine.archive", "engine.trusted_code"},
}  # fmt: skip
"""Modules that may be imported inside functions, with all below them, by the reason."""


@cache
def imports_in_functions(package: str) -> dict[str, list[str]]:
    """Return the modules that functions of a package import, one entry for each statement, by file."""
    files: dict[str, list[str]] = {}
    for path in sorted((ROOT / package).rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        statements = {
            node
            for function in functions
            for node in ast.walk(function)
            if isinstance(node, ast.Import | ast.ImportFrom)
        }
        modules = [node.module or "" if isinstance(node, ast.ImportFrom) else node.names[0].name for node in statements]
        if modules:
            files[path.relative_to(ROOT).as_posix()] = modules
    return files


def test_functions_import_ever_less() -> None:
    counts = {package: sum(map(len, imports_in_functions(package).values())) for package in PACKAGES}

    assert {package: count for package, count in counts.items() if count > MOST[package]} == {}


def test_functions_import_only_what_is_slow_to_load() -> None:
    slow = set().union(*SLOW.values())
    others = Counter(
        f"{file}: {module}"
        for package in PACKAGES
        for file, modules in imports_in_functions(package).items()
        for module in modules
        if not any(f"{module}.".startswith(f"{name}.") for name in slow)
    )

    assert not others, "\n".join(others)
