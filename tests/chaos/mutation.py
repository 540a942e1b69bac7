"""Small changes of the core, one at a time, each of which a test or a law should notice.

`mutants_in` makes them from the syntax tree of a file: a statement left out, a condition turned round, a comparison or
a number moved by one. `Trial` runs what watches a file on a copy of the tree in which one mutant stands, so nothing
that anybody works on is changed. Tools such as mutmut and cosmic-ray change every line, or keep their own list of
work in the tree, and would bring their libraries into the hashed lock; a sample of sixty needs none of that.
"""

import ast
import copy
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "engine" / "core"
NO_RULES = {"synonyms.py", "errors.py"}
"""Files of the core that hold words, not rules."""
HISTORIES = """
import logging
from engine.simulation.history import live_through
from engine.simulation.report import plan_of
logging.disable(logging.CRITICAL)
for seed in range(1, {seeds} + 1):
    past = live_through(plan_of(seed, None, hours=3), patience_s=20)
    if past.broken is not None:
        raise SystemExit(f"seed {{seed}}: {{past.broken.law}}: {{past.broken.what}}")
"""
TESTS = ("-m", "pytest", "-qx", "-n0", "-p", "no:cacheprovider", "-m", "not chaos_long", "--hypothesis-seed=1")
"""How tests run: laws draw the same for each mutant as for the tree, so that nothing but the mutant is noticed."""
LIMIT_S = 240
"""How much time of a processor each of the programs that watch a mutant may take; more is noticed too."""
WAIT_S = 900.0
"""How long each of them may take in all, on a computer that has other work; only what waits for nothing comes there."""

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
    line: int
    before: str
    after: str
    source: str
    """The whole file with the change."""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.before}  ->  {self.after}"


def mutants_in(file: Path) -> Iterator[Mutant]:
    """Yield every mutant of a file, in the order of its lines."""
    source = file.read_text(encoding="utf-8")
    for function in (one for one in ast.walk(ast.parse(source)) if isinstance(one, ast.FunctionDef)):
        for place in _places(function):
            for after in _changes(place):
                mutant = _mutant(file, source, place, ast.unparse(after))
                if mutant is not None:
                    yield mutant


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


def _mutant(file: Path, source: str, node: ast.stmt | ast.expr, after: str) -> Mutant | None:
    """Return the file with one node written anew; None where that is no program."""
    if isinstance(node, ast.If | ast.While):
        node = node.test
    lines = source.encode().splitlines(keepends=True)
    begin = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, lines[: (node.end_lineno or 0) - 1])) + (node.end_col_offset or 0)
    body = source.encode()
    written = after if isinstance(node, ast.stmt) else f"({after})"
    changed = (body[:begin] + written.encode() + body[end:]).decode()
    try:
        ast.parse(changed)
    except SyntaxError:
        return None
    before = " ".join(body[begin:end].decode().split())
    return Mutant(file.relative_to(ROOT), node.lineno, before, after, changed)


def drawn(seed: int, count: int) -> list[Mutant]:
    """Return the mutants of a seed, from all rules of the core alike."""
    files = sorted(one for one in CORE.rglob("*.py") if one.name not in NO_RULES)
    every = [mutant for file in files for mutant in mutants_in(file)]
    return Random(seed).sample(every, count)


class Trial:
    """A copy of the tree, in which one mutant stands at a time.

    Args:
        folder: Where the copy is made.
        seeds: How many simulated histories look at each mutant.
    """

    def __init__(self, folder: Path, *, seeds: int) -> None:
        self._root = folder / "tree"
        self._seeds = seeds
        kept = shutil.ignore_patterns("__pycache__", ".*", "screenshots", "snapshot", "chaos")
        for name in ("engine", "store", "dashboard", "quarterdeck", "tests", "examples", "docs"):
            shutil.copytree(ROOT / name, self._root / name, ignore=kept)
        for one in ("pyproject.toml", "README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "CHANGELOG.md"):
            shutil.copy(ROOT / one, self._root)

    def noticed_by(self, mutant: Mutant | None) -> str | None:
        """Return what notices a mutant, in one line; None where it survives. Without one the copy is as the tree."""
        if mutant is None:
            return self._watched(CORE / "state.py")
        file = self._root / mutant.path
        original = file.read_text(encoding="utf-8")
        file.write_text(mutant.source, encoding="utf-8")
        try:
            return self._watched(ROOT / mutant.path)
        finally:
            file.write_text(original, encoding="utf-8")

    def _watched(self, file: Path) -> str | None:
        module = ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        texts = {
            one: one.read_text(encoding="utf-8") for one in sorted((self._root / "tests" / "unit").glob("test_*.py"))
        }
        near = [str(one) for one, text in texts.items() if module in text]
        others = [str(one) for one, text in texts.items() if "engine.core" in text and str(one) not in near]
        laws = [str(one) for one in sorted((self._root / "tests" / "simulation").glob("test_*_laws.py"))]
        programs = [
            *([(*TESTS, *near)] if near else []),
            ("-c", HISTORIES.format(seeds=self._seeds)),
            (*TESTS, *others, str(self._root / "tests" / "contract")),
            *((*TESTS, one) for one in laws),
            (*TESTS, str(self._root / "tests" / "meaning")),
        ]
        return next((said for one in programs if (said := self._said(one)) is not None), None)

    def _said(self, program: tuple[str, ...]) -> str | None:
        environment = {**os.environ, "PYTHONPATH": str(self._root), "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(
                [sys.executable, "-P", *program],
                cwd=self._root, env=environment, capture_output=True, text=True, timeout=WAIT_S,
                check=False, preexec_fn=_limit,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"takes longer than {WAIT_S:g} s"
        said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        failed = [line for line in said if line.startswith(("FAILED", "ERROR", "seed "))]
        return None if done.returncode == 0 else (failed or said or ["it ends at once"])[-1][:200]


def _limit() -> None:
    os.nice(5)
    resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_S, LIMIT_S))
