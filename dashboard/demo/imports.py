"""Worker that lists what Python files import, and the cycles that follow from all lists together."""

import ast
from collections.abc import Iterable, Iterator
from typing import Any

from dashboard.demo.source import PythonSource, over_files, read_python


def read(value: dict[str, Any]) -> dict[str, Any]:
    """Imports of each file of a work item: `always` run when the module loads, `later` inside functions."""
    return over_files(value, lambda folder, name: _entry(read_python(folder, name)))


def module_name(file: str) -> str:
    """`a/b.py` and `a/b/__init__.py` are both `a.b`; a leading `src/` is dropped."""
    return file.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _entry(source: PythonSource) -> dict[str, Any]:
    package = module_name(source.name)
    if not source.name.endswith("__init__.py"):
        package = package.rpartition(".")[0]
    always = set(_names(_statements(source.tree.body), package))
    later = set(_names(ast.walk(source.tree), package)) - always
    return {"file": source.name, "always": sorted(always), "later": sorted(later)}


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.AST]:
    """What runs on import; not the branch for type checkers."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test):
            continue
        if isinstance(statement, ast.If | ast.Try | ast.With):
            for name in ("body", "orelse", "finalbody"):
                yield from _statements(getattr(statement, name, []))
            for handler in getattr(statement, "handlers", []):
                yield from _statements(handler.body)


def _names(nodes: Iterable[ast.AST], package: str) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".") if package else []
                base = ".".join([*parts[: len(parts) - node.level + 1], *filter(None, [base])])
            # `from a import b` may mean the module a.b; what is not a module is dropped when lists are joined.
            yield from (f"{base}.{alias.name}" if base else alias.name for alias in node.names if alias.name != "*")
            if base:
                yield base


def nearest(name: str, beside: str, modules: dict[str, str]) -> str:
    """The own module that a dotted name belongs to, or nothing; scripts import what lies beside them."""
    while name:
        for candidate in (name, f"{beside}.{name}"):
            if candidate in modules:
                return candidate
        name = name.rpartition(".")[0]
    return ""


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of modules that import each other in a circle, the smallest first; `graph` has what each imports.

    Source: S. R. Kosaraju (unpublished, 1978), in A. Aho, J. Hopcroft, J. Ullman, "Data Structures and Algorithms",
    1983; without recursion.
    """
    importers: dict[str, set[str]] = {}
    for name, targets in graph.items():
        for target in targets:
            importers.setdefault(target, set()).add(name)
    visited = set[str]()
    finished = [name for root in sorted(graph) for name in _postorder(root, graph, visited)]
    visited = set()
    groups = [sorted(_postorder(name, importers, visited)) for name in reversed(finished)]
    return sorted((group for group in groups if len(group) > 1), key=lambda group: (len(group), group))


def _postorder(root: str, graph: dict[str, set[str]], visited: set[str]) -> list[str]:
    """Visit what can be reached from `root` and was not visited; each after all that it leads to."""
    order, stack = [], [(root, False)]
    while stack:
        name, is_left = stack.pop()
        if is_left:
            order.append(name)
        elif name not in visited:
            visited.add(name)
            stack.append((name, True))
            stack += [(target, False) for target in sorted(graph.get(name, ()), reverse=True)]
    return order
