"""Workers that look for copied functions: `digests` for equal ones in any files, `compare` for nearly alike ones."""

import ast
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import product
from typing import Any, TypeAlias

from dashboard.demo.complexity import functions, own_nodes
from dashboard.demo.source import SourceRefused, over_files, read_python

MIN_LINES = 6
"""Shorter functions are equal by chance."""
MIN_SHARE = 0.85
"""Share of equal parts from which on two functions count as nearly alike."""
MIN_PARTS, MAX_PARTS = 40, 1_500
"""Of a function that is compared: shorter ones are alike by chance, longer ones take too long."""
MAX_ROWS = 3
"""Pairs of one comparison that are listed, the most alike first."""
Parts: TypeAlias = tuple[str, str, int, Sequence[str]]
"""File, name and line of a function, and the kinds of its syntax nodes in order, with attributes by name."""


def digests(value: dict[str, Any]) -> dict[str, Any]:
    """A digest of the syntax of each function of each file of a work item: `[digest, name, first, last line]`."""

    def entry(folder: str, name: str) -> dict[str, Any]:
        rows = []
        for label, function in functions(read_python(folder, name).tree):
            last = function.end_lineno or function.lineno
            if last - function.lineno + 1 >= MIN_LINES:
                syntax = "".join(map(ast.dump, (function.args, *function.body)))
                digest = hashlib.blake2b(syntax.encode("utf-8", "backslashreplace"), digest_size=8).hexdigest()
                rows.append([digest, label, function.lineno, last])
        return {"file": name, "functions": rows}

    return over_files(value, entry)


def compare(value: dict[str, Any]) -> dict[str, Any]:
    """Compare the functions of `lefts` with those of `rights`, in different files of `folder`.

    Returns `{"pairs", "alike"}`: how many were compared, and rows as of `nearly_alike`. A file that cannot be parsed is
    left out: who takes its digests says so.
    """
    lefts, rights = ([*_parts_in(value["folder"], value[side])] for side in ("lefts", "rights"))
    pairs = [(left, right) for left, right in product(lefts, rights) if left[0] < right[0]]
    return {"pairs": len(pairs), "alike": nearly_alike(pairs)}


def nearly_alike(pairs: Iterable[tuple[Parts, Parts]]) -> list[dict[str, Any]]:
    """Pairs of functions that could be one: `{"share", "left": [file, name, line], "right"}`, the most alike first."""
    rows: list[dict[str, Any]] = []
    matcher: SequenceMatcher[str] = SequenceMatcher(autojunk=False)
    for left, right in pairs:
        matcher.set_seqs(left[3], right[3])
        if all(ratio() >= MIN_SHARE for ratio in (matcher.real_quick_ratio, matcher.quick_ratio, matcher.ratio)):
            rows.append({"share": round(matcher.ratio(), 3), "left": [*left[:3]], "right": [*right[:3]]})
    return sorted(rows, key=lambda row: (-row["share"], row["left"]))[:MAX_ROWS]


def parts_of(file: str, tree: ast.Module) -> Iterator[Parts]:
    """The functions of a file that are neither too short nor too long to be compared."""
    for name, function in functions(tree):
        parts = [getattr(node, "attr", type(node).__name__) for node in own_nodes(function)]
        if MIN_PARTS <= len(parts) <= MAX_PARTS:
            yield file, name, function.lineno, parts


def _parts_in(folder: str, names: Iterable[str]) -> Iterator[Parts]:
    for name in names:
        try:
            yield from parts_of(name, read_python(folder, name).tree)
        except SourceRefused:
            continue
