"""Small changes of the core, one at a time, each of which a test or a law should notice.

`changes_in` finds them in the syntax tree of a file: a statement left out, a condition turned round, a comparison or a
number moved by one. `drawn` makes mutants of a sample of them; `trial` runs what watches them. Tools such as mutmut and
cosmic-ray change every line, or keep their own list of work in the tree, and would bring their libraries into the
hashed lock; a sample of sixty needs none of that.
"""

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "engine" / "core"
NO_RULES = {"errors.py"}
"""Files of the core that hold words, not rules."""
_SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult,
}  # fmt: skip
_OTHER_NAME = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one file."""

    path: Path
    """Below the root of the tree."""
    function: int
    """In which line the function begins that is changed, with its decorators."""
    line: int
    column: int
    before: str
    after: str
    source: str
    """The whole file with the change."""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.before}  ->  {self.after}"


@dataclass(frozen=True, slots=True)
class Change:
    """What a mutant changes, before its text is made."""

    file: Path
    function: ast.FunctionDef
    node: ast.stmt | ast.expr
    after: ast.stmt | ast.expr

    def mutant(self) -> Mutant | None:
        """Return the file with the node written anew; None where that is no program."""
        node = self.node.test if isinstance(self.node, ast.If | ast.While) else self.node
        body = self.file.read_bytes()
        lines = body.splitlines(keepends=True)
        begin = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
        end = sum(map(len, lines[: (node.end_lineno or 0) - 1])) + (node.end_col_offset or 0)
        after = ast.unparse(self.after)
        written = after if isinstance(node, ast.stmt) else f"({after})"
        source = (body[:begin] + written.encode() + body[end:]).decode()
        try:
            ast.parse(source)
        except SyntaxError:
            return None
        first = min([self.function.lineno, *(one.lineno for one in self.function.decorator_list)])
        before = " ".join(body[begin:end].decode().split())
        return Mutant(self.file.relative_to(ROOT), first, node.lineno, node.col_offset + 1, before, after, source)


def changes_in(file: Path) -> Iterator[Change]:
    """Yield every change of a file, function by function."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for function in (one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)):
        for node in _places(function):
            for after in _changes(node):
                yield Change(file, function, node, after)


def _places(function: ast.FunctionDef) -> Iterator[ast.stmt | ast.expr]:
    """Yield what of a function may be changed: no annotations, no documentation, no assertions, no texts."""
    front: list[ast.AST] = list(reversed(function.body))
    while front:
        node = front.pop()
        if isinstance(node, ast.Assert | ast.Raise | ast.JoinedStr | ast.FunctionDef):
            continue
        if isinstance(node, ast.stmt | ast.expr):
            yield node
        front += reversed(
            [one for name, value in ast.iter_fields(node) if name not in ("annotation", "cause")
             for one in (value if isinstance(value, list) else [value]) if isinstance(one, ast.AST)]
        )  # fmt: skip


def _changes(node: ast.stmt | ast.expr) -> Iterator[ast.stmt | ast.expr]:
    match node:
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Delete():
            yield ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]) | ast.Continue():
            yield ast.Pass()
        case ast.If(test=ast.Compare(ops=[_])) | ast.IfExp(test=ast.Compare(ops=[_])):
            return  # its comparison is turned round
        case ast.If() | ast.While():
            yield ast.Expr(ast.UnaryOp(op=ast.Not(), operand=node.test))  # stands for the condition alone
        case ast.IfExp():
            chosen = copy.deepcopy(node)
            chosen.test = ast.UnaryOp(op=ast.Not(), operand=chosen.test)
            yield chosen
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand
        case ast.BoolOp() | ast.BinOp() if type(node.op) in _SWAPPED:
            changed_op = copy.deepcopy(node)
            changed_op.op = _SWAPPED[type(node.op)]()  # type: ignore[assignment]
            yield changed_op
        case ast.Compare(ops=[op]) if type(op) in _SWAPPED:
            compared = copy.deepcopy(node)
            compared.ops = [_SWAPPED[type(op)]()]  # type: ignore[list-item]
            yield compared
        case ast.Constant(value=bool(value)):
            yield ast.Constant(value=not value)
        case ast.Constant(value=int(value) | float(value)):
            yield ast.Constant(value=value + 1)
        case ast.Call(func=ast.Name(id=name)) if name in _OTHER_NAME:
            called = copy.deepcopy(node)
            called.func = ast.Name(id=_OTHER_NAME[name])
            yield called


def drawn(seed: int, count: int) -> list[Mutant]:
    """Return the mutants of a seed, from all rules of the core alike."""
    files = sorted(one for one in CORE.rglob("*.py") if one.name not in NO_RULES)
    changes = [change for file in files for change in changes_in(file)]
    Random(seed).shuffle(changes)
    return list(islice((mutant for one in changes if (mutant := one.mutant()) is not None), count))
