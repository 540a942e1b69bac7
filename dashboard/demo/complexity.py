"""Complexity metrics of Python functions, and unused imports and parameters. Pure."""

import ast
import math
import re
from collections.abc import Iterator
from typing import TypeAlias

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_SCOPES = (*_FUNCTIONS, ast.ClassDef)


def functions(tree: ast.AST) -> Iterator[tuple[str, Function]]:
    """Every function with its dotted name inside the module, nested ones and methods too."""
    stack: list[tuple[str, ast.AST]] = [("", tree)]
    while stack:
        prefix, node = stack.pop()
        for child in ast.iter_child_nodes(node):
            name = f"{prefix}{child.name}" if isinstance(child, _SCOPES) else prefix
            if isinstance(child, _FUNCTIONS):
                yield name, child
            stack.append((f"{name}." if isinstance(child, _SCOPES) else prefix, child))


def own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function without those of functions and classes defined inside it."""
    stack = list(ast.iter_child_nodes(function))
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, _SCOPES):
            stack.extend(ast.iter_child_nodes(node))


def cyclomatic(function: ast.AST) -> int:
    """1 + the decisions: `if`, loops, `except`, `case`, ternaries, `and`/`or`, and `for`/`if` of comprehensions.

    Functions defined inside count for themselves.

    Source: T. J. McCabe, "A Complexity Measure", IEEE Transactions on Software Engineering SE-2, 1976.
    """
    return 1 + sum(map(_decisions, own_nodes(function)))


def _decisions(node: ast.AST) -> int:
    if isinstance(node, (ast.If, ast.IfExp, ast.ExceptHandler, *_LOOPS)):
        return 1
    if isinstance(node, ast.BoolOp):
        return len(node.values) - 1
    if isinstance(node, ast.comprehension):
        return 1 + len(node.ifs)
    if isinstance(node, ast.match_case):
        return int(not (isinstance(node.pattern, ast.MatchAs) and node.pattern.pattern is None))
    return 0


def nesting(body: list[ast.stmt]) -> int:
    """Deepest level of control flow in a list of statements: 0 for straight-line code; `elif` adds none."""
    return max((_nesting_of(statement) for statement in body), default=0)


def _nesting_of(statement: ast.stmt) -> int:
    if isinstance(statement, _SCOPES):
        return 0
    blocks = list(_blocks(statement))
    return 1 + max(map(nesting, blocks)) if blocks else 0


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks one level below, with an `elif` chain unrolled."""
    while isinstance(statement, ast.If):
        yield statement.body
        if not _is_elif(statement):
            yield statement.orelse
            return
        statement = statement.orelse[0]
    for name in ("body", "orelse", "finalbody"):
        if block := getattr(statement, name, None):
            yield block
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield part.body


def _is_elif(statement: ast.If) -> bool:
    """An `else:` whose only statement is an `if` reads the same in the tree unless it starts further right."""
    orelse = statement.orelse
    return len(orelse) == 1 and isinstance(orelse[0], ast.If) and orelse[0].col_offset == statement.col_offset


def cognitive(function: Function) -> int:
    """Effort to read: each break in the flow costs 1, and 1 more for each level it is nested in.

    Source: G. A. Campbell, "Cognitive Complexity", SonarSource white paper, 2017; without the increments for labels,
    which Python lacks, and with a run of one boolean operator as one increment.
    """
    flow = sum(_cognitive(statement, 0, function.name) for statement in function.body)
    return flow + sum(isinstance(node, ast.BoolOp) for node in own_nodes(function))


def _cognitive(node: ast.AST, level: int, name: str) -> int:
    if isinstance(node, _FUNCTIONS):
        return sum(_cognitive(child, level + 1, name) for child in node.body)
    if isinstance(node, ast.If):
        return _cognitive_if(node, level, name)
    if isinstance(node, (*_LOOPS, ast.ExceptHandler, ast.IfExp, ast.Match)):
        below = sum(_cognitive(child, level + 1, name) for child in ast.iter_child_nodes(node))
        return 1 + level + below + bool(isinstance(node, _LOOPS) and node.orelse)
    calls_itself = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
    deeper = isinstance(node, ast.Lambda)
    return calls_itself + sum(_cognitive(child, level + deeper, name) for child in ast.iter_child_nodes(node))


def _cognitive_if(node: ast.If, level: int, name: str) -> int:
    """`elif` and `else` cost 1 whatever the level; a loop, because chains can be longer than the stack."""
    total, cost = 0, 1 + level
    while True:
        total += cost + _cognitive(node.test, level, name)
        total += sum(_cognitive(child, level + 1, name) for child in node.body)
        if not _is_elif(node):
            break
        cost = 1
        following = node.orelse[0]
        assert isinstance(following, ast.If)
        node = following
    return total + bool(node.orelse) + sum(_cognitive(child, level + 1, name) for child in node.orelse)


def halstead_volume(tree: ast.AST) -> float:
    """Size in bits: uses of operators and operands times log2 of how many different ones there are.

    Source: M. H. Halstead, "Elements of Software Science", 1977.
    """
    different: set[str] = set()
    uses = 0
    for node in ast.walk(tree):
        word = _halstead_word(node)
        if word:
            different.add(word)
            uses += 1
    return uses * math.log2(len(different)) if len(different) > 1 else 0.0


def _halstead_word(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return f"name {node.id}"
    if isinstance(node, ast.Attribute):
        return f"attribute {node.attr}"
    if isinstance(node, ast.Constant):
        return f"constant {node.value!r:.40}"
    operators = (ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.stmt, ast.Call, ast.Subscript)
    return type(node).__name__ if isinstance(node, operators) else ""


def maintainability(volume: float, complexity: float, lines: float) -> float:
    """Maintainability index, 0 (worst) to 100, from averages over the functions of a module; the volume is in bits.

    Source: P. Oman and J. Hagemeister, "Metrics for Assessing a Software System's Maintainability", ICSM 1992, with
    the three-metric coefficients and scaled to 0..100.
    """
    if lines <= 0:
        return 100.0
    index = 171 - 5.2 * math.log(max(volume, 1.0)) - 0.23 * complexity - 16.2 * math.log(lines)
    return max(0.0, min(100.0, index * 100 / 171))


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
        if "." in name or function.decorator_list or all(map(_says_nothing, function.body)):
            continue
        mentioned = {
            node.id for statement in function.body for node in ast.walk(statement) if isinstance(node, ast.Name)
        }
        if "locals" not in mentioned:
            found += [
                (argument.lineno, name, argument.arg)
                for argument in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
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


def _says_nothing(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Return):
        return statement.value is None or isinstance(statement.value, ast.Constant | ast.Name)
    constant = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return constant or isinstance(statement, ast.Pass | ast.Raise)
