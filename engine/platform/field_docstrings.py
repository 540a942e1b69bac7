"""Docstrings of the fields of classes, which stand below each field in the source and are not kept at run time."""

import ast
import inspect
import sys
from collections.abc import Iterator
from functools import cache


def field_docstrings(cls: type) -> dict[str, str]:
    """Return the docstrings of the fields that a class declares itself, each in one line."""
    return _docstrings(cls.__module__).get(cls.__name__, {})


@cache
def _docstrings(module: str) -> dict[str, dict[str, str]]:
    """Return the docstrings of the fields of all classes of a module, by class and by field."""
    nodes = ast.parse(inspect.getsource(sys.modules[module])).body
    return {node.name: dict(_in_class(node)) for node in nodes if isinstance(node, ast.ClassDef)}


def _in_class(cls: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for field, after in zip(cls.body, cls.body[1:], strict=False):
        match field, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, " ".join(text.split())
