"""Private attributes of Textual stand in one file; everywhere else, a private name is one of our own classes."""

import ast
import importlib
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SEAMS = [ROOT / "dashboard" / name for name in ("widgets/textual_seams.py", "web/serve_seams.py")]
LIBRARIES = ("rich", "textual", "textual_serve")


def modules() -> list[Path]:
    """The files of the dashboard that are imported, but for the seams; templates of programs are not."""
    paths = sorted((ROOT / "dashboard").rglob("*.py"))
    return [path for path in paths if path not in SEAMS and "template" not in path.parts]


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def is_private(name: str) -> bool:
    return name.startswith("_") and name.strip("_") != "" and not name.startswith("__")


def defined_in(node: ast.AST) -> frozenset[str]:
    """Return the private names that the classes in a piece of code define, or assign to themselves."""
    names = set()
    for owner in (part for part in ast.walk(node) if isinstance(part, ast.ClassDef)):
        for part in owner.body:
            match part:
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                    names.add(name)
                case ast.Assign() | ast.AnnAssign():
                    targets = part.targets if isinstance(part, ast.Assign) else [part.target]
                    names |= {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
        for leaf in ast.walk(owner):
            match leaf:
                case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name, ctx=ast.Store()):
                    names.add(name)
    return frozenset(filter(is_private, names))


@cache
def defined_by(owner: type) -> frozenset[str]:
    """Return the private names that a class itself defines, by its source."""
    tree = tree_of(Path(inspect.getsourcefile(owner) or ""))
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == owner.__name__]
    return frozenset[str]().union(*map(defined_in, classes))


def is_foreign(owner: type) -> bool:
    return owner.__module__.partition(".")[0] in LIBRARIES


def classes_of(path: Path) -> Iterator[type]:
    """Yield the classes of a file."""
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for value in vars(importlib.import_module(name)).values():
        if isinstance(value, type) and value.__module__ == name:
            yield value


@cache
def own_names() -> frozenset[str]:
    """Return the private names that classes of the dashboard define."""
    return frozenset[str]().union(*(defined_in(tree_of(path)) for path in modules()))


def private_imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in LIBRARIES:
            names = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
            yield from filter(is_private, names)


def foreign_attributes(tree: ast.Module) -> Iterator[str]:
    """Yield private attributes that no class of ours has: of `self` any class, of something else one of this file."""
    here = defined_in(tree)
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="self" | "cls") | ast.Call(func=ast.Name(id="super")), attr=name):
                is_own = name in own_names()
            case ast.Attribute(value=ast.Name(id="os"), attr=name):
                is_own = True
            case ast.Attribute(attr=name):
                is_own = name in here or name == "_replace"  # of named tuples, and documented
            case ast.Call(func=ast.Name(id="getattr" | "setattr"), args=[_, ast.Constant(value=str(name)), *_]):
                is_own = False
            case _:
                continue
        if is_private(name) and not is_own:
            yield f"{name} in line {node.lineno}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_file_uses_what_is_private_to_textual(path: Path) -> None:
    tree = tree_of(path)

    assert [*private_imports(tree), *foreign_attributes(tree)] == []


def test_no_class_overrides_what_is_private_to_textual() -> None:
    """Of a class that is made of several, each part of ours counts, also one that is no widget itself."""
    seams = {owner for path in SEAMS for owner in classes_of(path)}
    overridden = {
        f"{part.__qualname__}.{name} of {base.__qualname__}"
        for path in modules()
        for owner in classes_of(path)
        for base in filter(is_foreign, owner.__mro__)
        for part in owner.__mro__
        if part.__module__.startswith("dashboard.") and part not in seams
        for name in defined_by(part) & defined_by(base)
    }

    assert overridden == set()


def test_a_private_attribute_of_something_else_is_noticed() -> None:
    source = """
from textual._compositor import Compositor

class Mine(Widget):
    def draw(self, other):
        self._place = other._place
        self._driver_of_another_library.go()
        return other._compositor, getattr(other, "_exit"), line._replace(text="")
"""
    tree = ast.parse(source)

    assert [*private_imports(tree)] == ["_compositor"]
    assert {name.partition(" ")[0] for name in foreign_attributes(tree)} == {
        "_driver_of_another_library",
        "_compositor",
        "_exit",
    }
