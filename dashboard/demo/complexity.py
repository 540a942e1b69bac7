"""Complexity metrics of Python functions. Pure."""

import ast
from collections.abc import Iterator
from typing import TypeAlias

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_SCOPES = (*_FUNCTIONS, ast.ClassDef)
_BLOCKS = (*_LOOPS, ast.Try, ast.With, ast.AsyncWith, ast.Match)
_IN_SCOPE = -1_000
"""A nesting level that no statement of a function or class defined inside can raise above 0."""


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


def cognitive(function: Function) -> tuple[int, int]:
    """Effort to read, and the deepest level of control flow (0 for straight-line code; `elif` adds none).

    Each break in the flow costs 1, and 1 more for each level it is nested in; `elif` and `else` cost 1 at any level.

    Source: G. A. Campbell, "Cognitive Complexity", SonarSource white paper, 2017; without the increments for labels,
    which Python lacks, and with a run of one boolean operator as one increment.
    """
    effort = deepest = 0
    stack: list[tuple[ast.AST, int, int, bool]] = [(statement, 0, 0, False) for statement in function.body]
    while stack:
        node, level, depth, is_elif = stack.pop()
        deepest = max(deepest, depth)
        if isinstance(node, ast.If):
            # An `else:` whose only statement is an `if` reads the same in the tree unless it starts further right.
            chained = len(node.orelse) == 1 and (node.orelse[0].col_offset, ast.If) == (
                node.col_offset,
                type(node.orelse[0]),
            )
            effort += (1 if is_elif else 1 + level) + (bool(node.orelse) and not chained)
            stack.append((node.test, level, depth, False))
            stack += [(child, level + 1, depth + 1, False) for child in node.body]
            stack += [(child, level + (not chained), depth + (not chained), chained) for child in node.orelse]
            continue
        deeper = isinstance(node, (*_LOOPS, ast.ExceptHandler, ast.IfExp, ast.Match))
        calls_itself = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == function.name
        effort += (1 + level if deeper else 0) + calls_itself + (isinstance(node, ast.BoolOp) and depth >= 0)
        effort += bool(isinstance(node, _LOOPS) and node.orelse)
        level += deeper or isinstance(node, (*_FUNCTIONS, ast.Lambda))
        depth = _IN_SCOPE if isinstance(node, _SCOPES) else depth + isinstance(node, _BLOCKS)
        stack += [(child, level, depth, False) for child in ast.iter_child_nodes(node)]
    return effort, deepest
