"""Worker that lists what Python files import, and what follows from all lists together: cycles, packages."""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from dashboard.demo.source import PythonSource, over_files, read_python

_INTERPRETERS = {"__main__", "test", "sitecustomize", "usercustomize", "org", "java"}
"""Names that come with one interpreter or another, though none lists them."""
_SPDX = re.compile(r"SPDX-License-Identifier:\s*([\w.+() -]{2,60})")


def read(value: dict[str, Any]) -> dict[str, Any]:
    """Imports of each file of a work item: `always` run when the module loads, `later` inside functions.

    `firm` are the packages that are imported somewhere outside a `try`: without them the file does not work.
    """
    return over_files(value, lambda folder, name: _look(read_python(folder, name)))


def module_name(file: str) -> str:
    """`a/b.py` and `a/b/__init__.py` are both `a.b`; a leading `src/` is dropped."""
    return file.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _look(source: PythonSource) -> dict[str, Any]:
    package = module_name(source.name)
    if not source.name.endswith("__init__.py"):
        package = package.rpartition(".")[0]
    always = set(_names(_statements(source.tree.body), package))
    later = set(_names(ast.walk(source.tree), package)) - always
    spdx = _SPDX.search(source.text[:3000])
    return {
        "file": source.name,
        "always": sorted(always),
        "later": sorted(later),
        "firm": sorted({name.partition(".")[0] for name in _names(_outside_try(source.tree), package)}),
        "spdx": spdx[1].strip() if spdx else "",
    }


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


def _outside_try(tree: ast.Module) -> Iterator[ast.AST]:
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, ast.Try):
            stack.extend(ast.iter_child_nodes(node))


def _names(nodes: Iterable[ast.AST], package: str) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".") if package else []
                kept = parts[: len(parts) - node.level + 1]
                base = ".".join([*kept, base]) if base else ".".join(kept)
            # `from a import b` may mean the module a.b; what is not a module is dropped when lists are joined.
            yield from (f"{base}.{alias.name}" if base else alias.name for alias in node.names if alias.name != "*")
            if base:
                yield base


def summary(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Outside packages by number of files that import them, and cycles among the folder's own modules."""
    modules = {module_name(entry["file"]): entry["file"] for entry in entries}
    own_tops = {name.partition(".")[0] for name in modules}
    users: dict[str, set[str]] = {}
    graph: dict[str, set[str]] = {}
    for entry in entries:
        here = module_name(entry["file"])
        beside = here.rpartition(".")[0]
        graph[here] = {_nearest(name, beside, modules) for name in entry["always"]} - {"", here}
        for name in (*entry["always"], *entry["later"]):
            top = name.partition(".")[0]
            if top and top not in own_tops and not _nearest(name, beside, modules):
                users.setdefault(top, set()).add(entry["file"])
    standard = {top for top in users if top in sys.stdlib_module_names or top in _INTERPRETERS or top.startswith("_")}
    outside = {top: len(files) for top, files in users.items() if top not in standard}
    imported = Counter(target for targets in graph.values() for target in targets)
    found = cycles(graph)
    return {
        "firm": sorted({top for entry in entries for top in entry["firm"]} & outside.keys()),
        "outside": dict(sorted(outside.items(), key=lambda item: (-item[1], item[0]))[:60]),
        "most_imported": [{"file": modules[name], "by": n} for name, n in imported.most_common(8)],
        "cycles": [[modules[name] for name in cycle] for cycle in found[:10]],
        "cycle_count": len(found),
        "spdx": dict(Counter(entry["spdx"] for entry in entries if entry["spdx"]).most_common(10)),
    }


def _nearest(name: str, beside: str, modules: dict[str, str]) -> str:
    """The own module that a dotted name belongs to, or nothing; scripts find what lies beside them."""
    while name:
        for candidate in (name, f"{beside}.{name}"):
            if candidate in modules:
                return candidate
        name = name.rpartition(".")[0]
    return ""


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of modules that import each other in a circle, the smallest first; `graph` has what each imports.

    Source: R. Tarjan, "Depth-First Search and Linear Graph Algorithms", SIAM Journal on Computing 1, 1972; without
    recursion.
    """
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    open_nodes: list[str] = []
    is_open: set[str] = set()
    groups: list[list[str]] = []
    for root in sorted(graph):
        if root in index:
            continue
        index[root] = low[root] = len(index)
        open_nodes.append(root)
        is_open.add(root)
        work = [(root, iter(sorted(graph[root])))]
        while work:
            node, targets = work[-1]
            target = next(targets, None)
            if target is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    group = open_nodes[open_nodes.index(node) :]
                    del open_nodes[-len(group) :]
                    is_open.difference_update(group)
                    groups.append(sorted(group))
            elif target not in index:
                index[target] = low[target] = len(index)
                open_nodes.append(target)
                is_open.add(target)
                work.append((target, iter(sorted(graph.get(target, ())))))
            elif target in is_open:
                low[node] = min(low[node], index[target])
    return sorted((group for group in groups if len(group) > 1), key=lambda group: (len(group), group))
