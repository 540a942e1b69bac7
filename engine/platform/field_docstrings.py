"""Docstrings of the fields of classes, which stand below each field in the source and are not kept at run time."""

import ast
import inspect
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any


def field_docstrings(cls: type) -> dict[str, str]:
    """Return the docstrings of the fields that a class declares itself, each in one line."""
    return _docstrings(cls.__module__).get(cls.__name__, {})


def describe_keys(schema: dict[str, Any], model: type) -> None:
    """Describe the keys of a pydantic model in its JSON Schema by the docstrings of its fields."""
    texts: dict[str, str] = {}
    for cls in model.__mro__[-3::-1]:  # without `object` and `BaseModel`
        texts |= field_docstrings(cls)
    for name, key in schema.get("properties", {}).items():
        if name in texts:
            key["description"] = texts[name]


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
