"""Names that the product assigns, and which of them are frozen, by the lists in `frozen/`.

An assigned name: a variable, also of a loop or comprehension, a parameter, an attribute that is set (`self.x = ...`), a
capture of `match`; underscores before it do not count. Frozen are the fields of records that are written, the
parameters of public functions and methods, and the public attributes of exported classes.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

FROZEN = Path(__file__).parent / "frozen"
RECORDS = ("commands", "events", "files", "records", "streams", "values")
PUBLIC = ("plugins", "python")


class Assigned(NamedTuple):
    """A place at which a name is assigned."""

    name: str
    """Without underscores before it."""
    line: int
    is_frozen: bool


class Frozen(NamedTuple):
    """Names that stay."""

    fields: frozenset[str]
    """`Class.field`, with the name of the class or the kind of its record."""
    shared: frozenset[str]
    """Names of fields alone: a base of records declares them for all of these."""
    parameters: frozenset[str]
    """`function(parameter)`; of a method without its class, which may be a part of the exported one."""
    attributes: frozenset[str]
    """`Class.attribute`."""


@cache
def frozen_names() -> Frozen:
    """Return the names that stand in the files of `frozen/`."""
    fields = set(re.findall(r"^(?:.* )?(\w+\.\w+): ", _text(RECORDS), re.MULTILINE))
    parameters = re.findall(r"^([\w.]+)\((\w+)\): ", _text(PUBLIC), re.MULTILINE)
    return Frozen(
        fields=frozenset(fields),
        shared=frozenset(field.partition(".")[2] for field in fields),
        parameters=frozenset(f"{function.rpartition('.')[2]}({name})" for function, name in parameters),
        attributes=frozenset(re.findall(r"^(\w+\.\w+): ", _text(PUBLIC), re.MULTILINE)),
    )


def _text(subjects: tuple[str, ...]) -> str:
    return "".join((FROZEN / f"{subject}.txt").read_text(encoding="utf-8") for subject in subjects)


def assigned_in(tree: ast.Module) -> Iterator[Assigned]:
    """Yield every name that a module assigns."""
    may_be_frozen = _words_of(frozen_names())
    waiting: list[tuple[ast.AST, ast.ClassDef | None, str | None]] = [(tree, None, None)]
    while waiting:
        node, owner, function = waiting.pop()
        name = _assigned_by(node)
        if name is not None and name.strip("_") and name not in ("self", "cls"):
            is_frozen = name in may_be_frozen and _is_frozen(node, name, owner, function)
            yield Assigned(name.lstrip("_"), node.lineno, is_frozen)  # type: ignore[attr-defined]  # each has a place
        if isinstance(node, ast.ClassDef):
            owner, function = node, None
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            function = owner.name if owner is not None and node.name == "__init__" else node.name
        elif isinstance(node, ast.Lambda):
            function = ""
        for part in vars(node).values():  # half the time of ast.iter_child_nodes
            if isinstance(part, list):
                waiting += [(child, owner, function) for child in part if isinstance(child, ast.AST)]
            elif isinstance(part, ast.AST) and not isinstance(part, ast.expr_context):
                waiting.append((part, owner, function))


@cache
def _words_of(frozen: Frozen) -> frozenset[str]:
    """Every name that may be frozen somewhere."""
    parameters = {each.partition("(")[2].rstrip(")") for each in frozen.parameters}
    return frozen.shared | parameters | {each.partition(".")[2] for each in frozen.fields | frozen.attributes}


def _assigned_by(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id if isinstance(node.ctx, ast.Store) else None
    if isinstance(node, ast.arg):
        return node.arg
    if isinstance(node, ast.Attribute):
        return node.attr if isinstance(node.ctx, ast.Store) else None
    return node.name if isinstance(node, ast.MatchAs | ast.MatchStar) else None


def _is_frozen(node: ast.AST, name: str, owner: ast.ClassDef | None, function: str | None) -> bool:
    frozen = frozen_names()
    if isinstance(node, ast.arg):
        return f"{function}({name})" in frozen.parameters
    if owner is None:
        return False
    if isinstance(node, ast.Attribute):
        return f"{owner.name}.{name}" in frozen.attributes
    if function is not None:
        return False
    kind = re.sub(r"(?<=.)(?=[A-Z])", "_", owner.name).lower()
    is_base = any(ast.unparse(each).endswith("shared_fields") for each in owner.decorator_list)
    places = {f"{owner.name}.{name}", f"{kind}.{name}"}
    return bool(places & (frozen.fields | frozen.attributes)) or (is_base and name in frozen.shared)
