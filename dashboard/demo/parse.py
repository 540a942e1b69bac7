"""Workers that parse Python: `fast` counts and measures branches, `thorough` adds what takes a second look.

Entries of both have the same base, so that a crew may mix them and an operator may swap one for the other.
"""

import ast
import sys
from itertools import pairwise
from typing import Any

from dashboard.demo import complexity
from dashboard.demo.likeness import nearly_alike
from dashboard.demo.source import PythonSource, over_files, read_python

KEPT_FUNCTIONS = 8
"""Functions of one file that are listed: the most complex ones."""
KEPT_ALIKE = 3
"""Pairs of nearly equal functions of one file that are listed, the most alike first."""
HARD = 10
"""Cyclomatic complexity above which a function is counted as hard to test."""

_BINS = (0, 5, 10, 20, 50, sys.maxsize)


def fast(value: dict[str, Any]) -> dict[str, Any]:
    """Lines, functions, classes and cyclomatic complexity; strict about the declared encoding."""
    return over_files(value, lambda folder, name: _base(read_python(folder, name, guess=False)))


def thorough(value: dict[str, Any]) -> dict[str, Any]:
    """What `fast` says, and nesting, cognitive complexity, what is unused, docstrings, maintainability.

    Where the declared encoding does not fit, the file is read as Latin-1 and the entry says so.
    """
    return over_files(value, lambda folder, name: _thorough(read_python(folder, name, guess=True)))


def _base(source: PythonSource) -> dict[str, Any]:
    tree = source.tree
    measured: list[dict[str, Any]] = [
        {
            "name": name,
            "line": function.lineno,
            "lines": (function.end_lineno or function.lineno) - function.lineno + 1,
            "complexity": complexity.cyclomatic(function),
        }
        for name, function in complexity.functions(tree)
    ]
    measured.sort(key=lambda row: (-row["complexity"], -row["lines"], row["line"]))
    lines = source.text.splitlines()
    return {
        "file": source.name,
        "depth": "fast",
        "lines": len(lines),
        "code": sum(bool(line.strip()) and not line.lstrip().startswith("#") for line in lines),
        "functions": len(measured),
        "classes": sum(isinstance(node, ast.ClassDef) for node in ast.walk(tree)),
        "complexity": sum(row["complexity"] for row in measured),
        "hard": sum(row["complexity"] > HARD for row in measured),
        "bins": [sum(low < row["complexity"] <= high for row in measured) for low, high in pairwise(_BINS)],
        "top": [row for row in measured[:KEPT_FUNCTIONS] if row["complexity"] > 4 or row["lines"] > 40],
    }


def _thorough(source: PythonSource) -> dict[str, Any]:
    entry = _base(source)
    by_place = {(name, function.lineno): function for name, function in complexity.functions(source.tree)}
    for row in entry["top"]:
        function = by_place[row["name"], row["line"]]
        row["cognitive"], row["nesting"] = complexity.cognitive(function), complexity.nesting(function.body)
    parts = max(entry["functions"], 1)
    volume = complexity.halstead_volume(source.tree) / parts
    is_package = source.name.rpartition("/")[2] == "__init__.py"
    return entry | {
        "depth": "thorough",
        "guessed": source.guessed,
        "unused_imports": complexity.unused_imports(source.tree, is_package=is_package)[:20],
        "unused_arguments": complexity.unused_arguments(source.tree)[:20],
        "alike": nearly_alike(source.name, source.tree)[:KEPT_ALIKE],
        "maintainability": round(
            complexity.maintainability(volume, entry["complexity"] / parts, entry["code"] / parts), 1
        ),
    }


def summary(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Join the entries of all files, from either worker, into what the report needs."""
    deep = [entry for entry in entries if entry["depth"] == "thorough"]
    tops = [{"file": entry["file"], **row} for entry in entries for row in entry["top"]]
    hot = sorted(tops, key=lambda row: (-row["complexity"], -row["lines"], row["file"], row["line"]))
    long = sorted(tops, key=lambda row: (-row["lines"], row["file"], row["line"]))
    files = sorted(entries, key=lambda entry: (-entry["complexity"], entry["file"]))
    with_functions = [e for e in deep if e["functions"]]
    hard_to_change = sorted(with_functions, key=lambda e: (e["maintainability"], e["file"]))
    imports = [{"file": e["file"], "line": line, "name": name} for e in deep for line, name in e["unused_imports"]]
    arguments = [
        {"file": e["file"], "line": line, "function": function, "name": name}
        for e in deep
        for line, function, name in e["unused_arguments"]
    ]
    return {
        **{key: sum(e[key] for e in entries) for key in ("functions", "classes", "hard")},
        "files": len(entries),
        "thorough": len(deep),
        "bins": [sum(e["bins"][at] for e in entries) for at in range(len(_BINS) - 1)],
        "hot_functions": hot[:20],
        "long_functions": [row for row in long[:10] if row["lines"] > 60],
        "hot_files": [{key: e[key] for key in ("file", "complexity")} for e in files[:80]],
        "hard_to_change": [{k: e[k] for k in ("file", "maintainability", "lines")} for e in hard_to_change[:10]],
        "guessed": sorted(e["file"] for e in deep if e["guessed"])[:10],
        "alike": sorted(
            (row for e in deep for row in e.get("alike", ())), key=lambda row: (-row["share"], row["left"])
        )[:12],
        "unused_imports": {"total": len(imports), "items": imports[:25]},
        "unused_arguments": {"total": len(arguments), "items": arguments[:15]},
    }
