"""The table of bounds says what the code does: every reader of foreign bytes stops at the numbers that stand there."""

import importlib
import re
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs/reference/trust.md"
BOUND = re.compile(r"(MOST|LARGEST|MAX)_[A-Z_]+")
"""Names of constants that are bounds."""


class Row(NamedTuple):
    """A row of the table."""

    bytes_of: str
    value: str
    constants: list[str]


@cache
def rows() -> list[Row]:
    section = PAGE.read_text(encoding="utf-8").partition("\n## Bounds\n")[2].partition("\n## ")[0]
    cells = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")][1:]
    return [Row(row[0], row[1], re.findall(r"`([\w.]+)`", row[-1])) for row in cells]


def spellings(name: str, value: float) -> set[str]:
    """Return how a page may write a bound."""
    if name.endswith(("_S", "_s")):
        return {f"{value:g} s"}
    if "BYTES" not in name.upper():
        return {f"{value:,}"}
    units = {"kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2**10, "MiB": 2**20}
    return {f"{value / size:g} {unit}" for unit, size in units.items() if value % size == 0}


def test_there_is_a_row_for_each_kind_of_reader() -> None:
    readers = ["model", "MCP", "ACP", "jsonl", "archive", "team", "upload", "command", "database", "function"]

    assert [reader for reader in readers if not any(reader in row.bytes_of for row in rows())] == []
    assert all(row.constants for row in rows())


@pytest.mark.parametrize("name", sorted({name for row in rows() for name in row.constants}))
def test_the_table_has_the_number_of_the_code(name: str) -> None:
    value: Any = resolve_name(name)
    cells = [row.value for row in rows() if name in row.constants]

    pattern = "|".join(rf"(?<![\d,.]){re.escape(spelling)}(?!,?\d)" for spelling in spellings(name, value))
    assert all(re.search(pattern, cell) for cell in cells), (name, value, cells)


def test_every_bound_of_a_module_in_the_table_is_in_the_table() -> None:
    named = {name for row in rows() for name in row.constants}
    modules = {name.rpartition(".")[0] for name in named if ".DEFAULT_ALLOWANCE." not in name}
    bounds = {
        f"{module}.{name}"
        for module in modules
        for name, value in vars(importlib.import_module(module)).items()
        if BOUND.fullmatch(name) and isinstance(value, int | float)
    }
    imported = {name for name in bounds if any(other.endswith(name.rpartition(".")[2]) for other in named)}

    assert sorted(bounds - named - imported) == []
