"""The workers: each examines the files of one work item, `{"folder", "files": [...]}`; results are of `over_files`.

A new check is a function here, an agent in `crew.yaml`, and its chapter in `chapters.py`.
"""

import ast
import hashlib
import re
from pathlib import PurePosixPath
from typing import Any, TypeAlias

from dashboard.demo.git import run_git
from dashboard.demo.source import SourceRefused, encoding_of, over_files, read_bytes, read_python

PROSE = (".md", ".rst", ".txt")
MAX_FUNCTIONS = 8
"""Functions of one file that are listed: the most complex ones."""
HARD = 10
"""Cyclomatic complexity above which a function is counted as hard to test."""
Item: TypeAlias = dict[str, Any]
Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_BRANCHES = (ast.If, ast.IfExp, ast.ExceptHandler, ast.For, ast.AsyncFor, ast.While, ast.match_case)


def functions(tree: ast.Module) -> list[Function]:
    """Every function of a module, nested ones and methods too."""
    return [node for node in ast.walk(tree) if isinstance(node, Function)]


def line_count(function: Function) -> int:
    """Lines of a function, without its decorators."""
    return (function.end_lineno or function.lineno) - function.lineno + 1


def scan_fast(value: Item) -> Item:
    """Kind, size, lines and encoding of each file."""
    return over_files(value, _counts)


def scan_thorough(value: Item) -> Item:
    """What `scan_fast` says, and a digest of the content."""

    def examine(folder: str, name: str) -> Item:
        return _counts(folder, name) | {"sha": hashlib.sha256(read_bytes(folder, name)).hexdigest()[:20]}

    return over_files(value, examine)


def _counts(folder: str, name: str) -> Item:
    """The counts of one file; its encoding is also `binary`, or `unknown` for text that does not fit."""
    data = read_bytes(folder, name)
    try:
        encoding = "binary" if b"\0" in data else encoding_of(name, data)
    except SourceRefused:
        encoding = "unknown"
    kind = PurePosixPath(name.lower()).suffix
    return {"kind": kind, "encoding": encoding, "bytes": len(data), "lines": len(data.splitlines())}


def parse_fast(value: Item) -> Item:
    """Functions, classes and cyclomatic complexity of each Python file; strict about the declared encoding."""
    return over_files(value, lambda folder, name: _measures(read_python(folder, name)))


def parse_thorough(value: Item) -> Item:
    """What `parse_fast` says; a file that does not fit its encoding is read as Latin-1, and `guessed`."""

    def examine(folder: str, name: str) -> Item:
        try:
            return _measures(read_python(folder, name))
        except SourceRefused:
            return _measures(read_python(folder, name, encoding="latin-1")) | {"guessed": True}

    return over_files(value, examine)


def _measures(tree: ast.Module) -> Item:
    rows: list[dict[str, Any]] = [
        {"name": each.name, "line": each.lineno, "lines": line_count(each), "complexity": cyclomatic(each)}
        for each in functions(tree)
    ]
    rows.sort(key=lambda row: (-row["complexity"], -row["lines"], row["line"]))
    return {
        "functions": len(rows),
        "classes": sum(isinstance(node, ast.ClassDef) for node in ast.walk(tree)),
        "hard": sum(row["complexity"] > HARD for row in rows),
        "top": [row for row in rows[:MAX_FUNCTIONS] if row["complexity"] > 4 or row["lines"] > 40],
    }


def cyclomatic(function: Function) -> int:
    """1 + the decisions: `if`, loops, `except`, `case`, ternaries, `and`/`or`, and `for`/`if` of comprehensions.

    Functions defined inside count for themselves.

    Source: T. J. McCabe, "A Complexity Measure", IEEE Transactions on Software Engineering SE-2, 1976.
    """
    decisions, stack = 0, [*ast.iter_child_nodes(function)]
    while stack:
        node = stack.pop()
        decisions += _decisions(node)
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            stack += ast.iter_child_nodes(node)
    return 1 + decisions


def _decisions(node: ast.AST) -> int:
    match node:
        case ast.BoolOp(values=values):
            return len(values) - 1
        case ast.comprehension(ifs=conditions):
            return 1 + len(conditions)
        case ast.match_case(pattern=ast.MatchAs(pattern=None)):
            return 0
    return isinstance(node, _BRANCHES)


def find_mentions(value: Item) -> Item:
    """The public functions and classes at the top of each Python file, and how many files mention each name."""
    search = ("grep", "--no-index", "--exclude-standard", "-lIwFz", "-e")  # in a repository or not

    def examine(folder: str, name: str) -> Item:
        rows: list[dict[str, Any]] = []
        for line, text in enumerate(read_bytes(folder, name).decode("utf-8", "replace").splitlines(), 1):
            if match := re.match(r"(?:async )?(?:def|class) ([^\W_]\w*)", text):
                files = run_git(folder, *search, match[1], statuses=(0, 1)).count(b"\0")
                rows.append({"name": match[1], "line": line, "files": files})
        return {"public": len(rows), "unused": sum(row["files"] < 2 for row in rows), "names": rows}

    return over_files(value, examine)


def read_documentation(value: Item) -> Item:
    """Words of each text; of Python files, which public functions have a docstring."""

    def examine(folder: str, name: str) -> Item:
        if not name.endswith(".py"):
            return {"kind": "prose", "words": len(read_bytes(folder, name).split())}
        public = [each for each in functions(read_python(folder, name)) if not each.name.startswith("_")]
        bare = sorted((line_count(each), each.lineno, each.name) for each in public if not ast.get_docstring(each))
        documented = len(public) - len(bare)
        return {"kind": "python", "public": len(public), "documented": documented, "bare": bare[-5:]}

    return over_files(value, examine)
