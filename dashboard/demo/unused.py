"""Imports and parameters that a Python module never uses. Pure, and cautious: when in doubt, nothing is said."""

import ast
import re
from collections.abc import Iterator

from dashboard.demo.complexity import Function, functions

_WORD = re.compile(r"[^\W\d]\w*")


def unused_imports(tree: ast.Module, *, is_package: bool) -> list[tuple[int, str]]:
    """Line and name of imports at the top of a module that nothing refers to.

    Not counted: packages' own `__init__` (they re-export), imports inside `try` or `if` (feature tests), `import x as
    x`, `__future__`, names in `__all__`, and names in annotations written as strings.
    """
    if is_package:
        return []
    used = _used_names(tree)
    return [(line, name) for line, name in _imported(tree) if name not in used]


def unused_arguments(tree: ast.Module) -> list[tuple[int, str, str]]:
    """Line, function and parameter, where the body never mentions the parameter.

    Not counted: methods (an override must keep its signature), decorated functions, nested functions (callbacks),
    bodies that say nothing, names that start with `_`, and functions that call `locals()`.
    """
    found = []
    for name, function in functions(tree):
        if "." in name or function.decorator_list or _is_stub(function):
            continue
        mentioned = {
            node.id for statement in function.body for node in ast.walk(statement) if isinstance(node, ast.Name)
        }
        if "locals" not in mentioned:
            found += [
                (argument.lineno, name, argument.arg)
                for argument in _parameters(function)
                if argument.arg not in mentioned and not argument.arg.startswith("_")
            ]
    return found


def _imported(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                if alias.name not in ("*", "__all__") and alias.asname != alias.name:
                    yield node.lineno, alias.asname or alias.name.partition(".")[0]


def _used_names(tree: ast.Module) -> set[str]:
    used: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            used.add(node.id)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 200:
            # A short string may be an annotation, an entry of __all__ or a name for getattr.
            used.update(_WORD.findall(node.value))
    return used


def _is_stub(function: Function) -> bool:
    return all(map(_says_nothing, function.body))


def _says_nothing(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Return):
        return statement.value is None or isinstance(statement.value, ast.Constant | ast.Name)
    constant = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return constant or isinstance(statement, ast.Pass | ast.Raise)


def _parameters(function: Function) -> list[ast.arg]:
    arguments = function.args
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
