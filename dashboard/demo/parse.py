"""Workers that parse Python: `fast` counts and measures branches, `thorough` adds what takes a second pass.

Entries of both have the same base, so that a crew may mix them and an operator may swap one for the other.
"""

import ast
import sys
from itertools import combinations, pairwise
from typing import Any

from dashboard.demo import complexity
from dashboard.demo.copies import nearly_alike, parts_of
from dashboard.demo.source import PythonSource, over_files, read_python

MAX_FUNCTIONS = 8
"""Functions of one file that are listed: the most complex ones."""
HARD = 10
"""Cyclomatic complexity above which a function is counted as hard to test."""
BINS = (0, 5, 10, 20, 50, sys.maxsize)


def fast(value: dict[str, Any]) -> dict[str, Any]:
    """Functions, classes and cyclomatic complexity; strict about the declared encoding."""
    return over_files(value, lambda folder, name: _base(read_python(folder, name, guess=False)))


def thorough(value: dict[str, Any]) -> dict[str, Any]:
    """What `fast` says, and nesting, cognitive complexity, and functions of one file that are nearly alike.

    Where the declared encoding does not fit, the file is read as Latin-1 and the entry says so.
    """
    return over_files(value, lambda folder, name: _thorough(read_python(folder, name, guess=True)))


def _base(source: PythonSource) -> dict[str, Any]:
    measured: list[dict[str, Any]] = [
        {
            "name": name,
            "line": function.lineno,
            "lines": (function.end_lineno or function.lineno) - function.lineno + 1,
            "complexity": complexity.cyclomatic(function),
        }
        for name, function in complexity.functions(source.tree)
    ]
    measured.sort(key=lambda row: (-row["complexity"], -row["lines"], row["line"]))
    return {
        "file": source.name,
        "depth": "fast",
        "functions": len(measured),
        "classes": sum(isinstance(node, ast.ClassDef) for node in ast.walk(source.tree)),
        "complexity": sum(row["complexity"] for row in measured),
        "hard": sum(row["complexity"] > HARD for row in measured),
        "bins": [sum(low < row["complexity"] <= high for row in measured) for low, high in pairwise(BINS)],
        "top": [row for row in measured[:MAX_FUNCTIONS] if row["complexity"] > 4 or row["lines"] > 40],
    }


def _thorough(source: PythonSource) -> dict[str, Any]:
    entry = _base(source)
    by_place = {(name, function.lineno): function for name, function in complexity.functions(source.tree)}
    for row in entry["top"]:
        row["cognitive"], row["nesting"] = complexity.cognitive(by_place[row["name"], row["line"]])
    alike = nearly_alike(combinations(parts_of(source.name, source.tree), 2))
    return entry | {"depth": "thorough", "guessed": source.guessed, "alike": alike}
