"""Near-duplicate functions, in one file or in two: candidates for one function with a parameter more.

Two functions are compared by what stands in their syntax trees, in order, without the names of their own variables. Of
a large folder there are more pairs of files than anybody has time for: `pairs_of` gives them in an order that can be
cut off.
"""

import ast
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import combinations, product
from typing import Any, TypeAlias

from dashboard.demo.complexity import Function, functions, own_nodes
from dashboard.demo.fingerprints import judge
from dashboard.demo.source import SourceRefused, read_python

ALIKE = 0.85
"""Share of equal parts from which on two functions count as nearly alike."""
SHORTEST, LONGEST = 40, 1_500
"""Parts of a function that is compared: shorter ones are alike by chance, longer ones take too long."""
BLOCK = 6
"""Files on each side of a comparison."""
KEPT = 10
"""Pairs of one comparison that are listed, the most alike first."""

_Parts: TypeAlias = tuple[str, str, int, Sequence[str]]
"""File, name and line of a function, and what it is made of."""


def compare(value: dict[str, Any]) -> dict[str, Any]:
    """Process a work item of either kind: files with shared passages, or blocks of files with similar functions."""
    return judge(value) if "seeds" in value else alike(value)


def alike(value: dict[str, Any]) -> dict[str, Any]:
    """Find functions in two blocks of files that are nearly alike; files that cannot be parsed are left out.

    `value` is `{"folder", "lefts": [file, ...], "rights": [...]}`; with the same block on both sides each pair of files
    counts once. Functions of one file are not compared.

    Returns:
        `{"functions", "alike": [{"share", "left": [file, name, line], "right": [...]}]}`; `functions` says how many
        pairs were compared.
    """
    lefts = list(_functions(value["folder"], value["lefts"]))
    same = value["lefts"] == value["rights"]
    pairs = combinations(lefts, 2) if same else product(lefts, _functions(value["folder"], value["rights"]))
    apart = [pair for pair in pairs if pair[0][0] != pair[1][0]]
    return {"functions": len(apart), "alike": _compared(apart)[:KEPT]}


def nearly_alike(name: str, tree: ast.Module) -> list[dict[str, Any]]:
    """Return pairs of functions of one file, as `alike` does."""
    return _compared(combinations(_functions_of(name, tree), 2))


def _compared(pairs: Iterable[tuple[_Parts, _Parts]]) -> list[dict[str, Any]]:
    found = []
    matcher: SequenceMatcher[str] = SequenceMatcher(autojunk=False)
    for one, two in pairs:
        matcher.set_seqs(one[3], two[3])
        if matcher.real_quick_ratio() >= ALIKE and matcher.quick_ratio() >= ALIKE and matcher.ratio() >= ALIKE:
            found.append({"share": round(matcher.ratio(), 3), "left": [*one[:3]], "right": [*two[:3]]})
    return sorted(found, key=_rank)


def _rank(row: dict[str, Any]) -> tuple[Any, ...]:
    return -row["share"], row["left"], row["right"]


def _functions(folder: str, names: Sequence[str]) -> Iterator[_Parts]:
    for name in names:
        try:
            yield from _functions_of(name, read_python(folder, name).tree)
        except SourceRefused:
            continue


def _functions_of(file: str, tree: ast.Module) -> Iterator[_Parts]:
    for name, function in functions(tree):
        parts = list(_named(function))
        if SHORTEST <= len(parts) <= LONGEST:
            yield file, name, function.lineno, parts


def _named(function: Function) -> Iterator[str]:
    for node in own_nodes(function):
        yield type(node).__name__
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Constant):
            yield type(node.value).__name__


def blocks_of(names: Sequence[str]) -> list[list[str]]:
    """Return files in blocks, the last one perhaps shorter."""
    return [list(names[at : at + BLOCK]) for at in range(0, len(names), BLOCK)]


def pairs_of(blocks: Sequence[list[str]]) -> Iterator[tuple[list[str], list[str]]]:
    """Yield every pair of blocks, those among the first blocks first; a block with itself too."""
    for last, right in enumerate(blocks):
        for left in blocks[: last + 1]:
            yield left, right


def summary(compared: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Join what all comparisons found: the most alike first, each function in one row only."""
    seen: set[tuple[Any, ...]] = set()
    kept = []
    for row in sorted((row for one in compared for row in one["alike"]), key=_rank):
        sides = {tuple(row["left"]), tuple(row["right"])}
        if not sides & seen:
            seen |= sides
            kept.append(row)
    return {"pairs": sum(one["functions"] for one in compared), "items": kept[:12]}
