"""Functions in two places that are nearly alike: candidates for one function with a parameter more.

Two functions are compared by what stands in their syntax trees, in order, without the names of their own variables. Of
a large folder there are more pairs than anybody has time for: `pairs_of` gives them in an order that can be cut off.
"""

import ast
from collections.abc import Iterator, Sequence
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
    """Do a work item of either kind: the passages that two files share, or the functions of two blocks of files."""
    return judge(value) if "seeds" in value else alike(value)


def alike(value: dict[str, Any]) -> dict[str, Any]:
    """Find functions of two blocks of files that are nearly alike; files that cannot be parsed are left out.

    `value` is `{"folder", "lefts": [file, ...], "rights": [...]}`; with the same block on both sides, each pair counts
    once.

    Returns:
        `{"functions", "alike": [{"share", "left": [file, name, line], "right": [...]}]}`; `functions` says how many
        pairs were compared.
    """
    lefts = [one for name in value["lefts"] for one in _functions(value["folder"], name)]
    same = value["lefts"] == value["rights"]
    rights = lefts if same else [one for name in value["rights"] for one in _functions(value["folder"], name)]
    pairs = combinations(lefts, 2) if same else product(lefts, rights)
    compared = 0
    found: list[dict[str, Any]] = []
    matcher: SequenceMatcher[str] = SequenceMatcher(autojunk=False)
    for one, two in pairs:
        compared += 1
        matcher.set_seqs(one[3], two[3])
        if matcher.real_quick_ratio() >= ALIKE and matcher.quick_ratio() >= ALIKE and matcher.ratio() >= ALIKE:
            found.append({"share": round(matcher.ratio(), 3), "left": [*one[:3]], "right": [*two[:3]]})
    found.sort(key=lambda row: (-row["share"], row["left"], row["right"]))
    return {"functions": compared, "alike": found[:KEPT]}


def _functions(folder: str, name: str) -> Iterator[_Parts]:
    try:
        tree = read_python(folder, name).tree
    except SourceRefused:
        return
    for function_name, function in functions(tree):
        parts = list(_named(function))
        if SHORTEST <= len(parts) <= LONGEST:
            yield name, function_name, function.lineno, parts


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
    rows = sorted((row for one in compared for row in one["alike"]), key=lambda row: (-row["share"], row["left"]))
    seen: set[tuple[Any, ...]] = set()
    kept = []
    for row in rows:
        sides = {tuple(row["left"]), tuple(row["right"])}
        if not sides & seen:
            seen |= sides
            kept.append(row)
    return {"pairs": sum(one["functions"] for one in compared), "found": len(kept), "items": kept[:12]}
