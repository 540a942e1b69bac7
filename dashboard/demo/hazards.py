"""Worker that looks for what is dangerous or likely wrong in Python code, and for notes in any text."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from dashboard.demo.source import over_files, read_bytes, read_python

MAX_FINDINGS = 25
"""Findings of one file that are listed; all are counted."""
_NOTE = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b")


def scan(value: dict[str, Any]) -> dict[str, Any]:
    """Findings of each file of a work item: `counts` by rule, and `findings` as `[rule, line, text]`."""

    def entry(folder: str, name: str) -> dict[str, Any]:
        text = read_bytes(folder, name).decode("utf-8", "replace")
        rows = [
            ("note", number, f"{note[0]} in a comment")
            for number, line in enumerate(text.splitlines(), 1)
            if (note := _NOTE.search(line))
        ]
        if name.endswith(".py"):
            rows = [*findings(read_python(folder, name).tree), *rows]
        return {"file": name, "counts": Counter(rule for rule, _, _ in rows), "findings": rows[:MAX_FINDINGS]}

    return over_files(value, entry)


def findings(tree: ast.Module) -> Iterator[tuple[str, int, str]]:
    """Rule, line and text of each finding."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="eval" | "exec" as name), args=[first, *_]) if not isinstance(
                first, ast.Constant
            ):
                yield "code from data", node.lineno, f"{name}() of a value"
            case ast.ExceptHandler(type=None) if not any(isinstance(inner, ast.Raise) for inner in ast.walk(node)):
                yield "bare except", node.lineno, "a bare except catches KeyboardInterrupt too"
            case ast.ExceptHandler(type=ast.Name(id="Exception"), body=[ast.Pass()]):
                yield "dropped exception", node.lineno, "any exception is dropped without a trace"
            case ast.FunctionDef(name=name, args=arguments) if any(
                isinstance(default, ast.List | ast.Dict | ast.Set) for default in arguments.defaults
            ):
                yield "mutable default", node.lineno, f"a default of {name}() is shared by all calls"
            case ast.Compare(ops=[ast.Eq() | ast.NotEq()], comparators=[ast.Constant(value=None)]):
                yield "comparison", node.lineno, "None is compared with == instead of is"
            case ast.ImportFrom(names=[ast.alias(name="*")]):
                yield "wildcard import", node.lineno, f"every name of {node.module or 'a package'} is imported"
