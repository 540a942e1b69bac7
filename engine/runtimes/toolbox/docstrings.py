"""Parses docstrings in the styles of Google, NumPy and Sphinx into a description and one for each parameter."""

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

_GOOGLE = re.compile(
    r"^(args|arguments|parameters|params|keyword args|keyword arguments|other parameters|returns|return|yields|raises|"
    r"examples?|notes?|warnings?|see also|todo|references|attributes|source)\s*:\s*$",
    re.IGNORECASE,
)
_NUMPY = re.compile(r"^\s*-{3,}\s*$")
_SPHINX = re.compile(r"^:(\w+)(?:\s+([^:]*))?:\s*(.*)$")
_PARAMETERS = ("args", "arguments", "parameters", "params", "keyword args", "keyword arguments", "other parameters")
_OF_PARAMETER = ("param", "parameter", "arg", "argument", "key", "keyword")
_ENTRY = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")
"""`name: text` or `name (type): text`."""
_NUMPY_ENTRY = re.compile(r"^\*{0,2}(\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")


@dataclass(slots=True)
class Described:
    """A parsed docstring."""

    text: str = ""
    """The text before the first section."""
    parameters: dict[str, str] = field(default_factory=dict)
    """One line for each described parameter."""


def described(function: Callable[..., Any]) -> Described:
    """Return the parsed docstring of a function; empty if it has none of its own."""
    said = inspect.getdoc(function) if getattr(function, "__doc__", None) else None
    return parsed(said or "")


def parsed(docstring: str) -> Described:
    """Return a parsed docstring; common indentation is ignored."""
    found = Described()
    text: list[str] = []
    lines = docstring.splitlines()
    at = 0
    section: str | None = None
    while at < len(lines):
        line = lines[at]
        if (sphinx := _SPHINX.match(line.strip())) is not None and not line[:1].isspace():
            block, at = _indented(lines, at + 1)
            _take_sphinx(found, sphinx, block)
            section = ""
        elif (name := _section(lines, at)) is not None:
            section, is_numpy = name
            at += 2 if is_numpy else 1
            if section in _PARAMETERS:
                block, at = _until_next(lines, at) if is_numpy else _indented(lines, at)
                found.parameters |= dict(_numpy(block) if is_numpy else _google(block))
        else:
            if section is None:
                text.append(line)
            at += 1
    found.text = "\n".join(text).strip()
    return found


def _section(lines: list[str], at: int) -> tuple[str, bool] | None:
    """Return the section that begins on a line, and whether it is in NumPy style."""
    line = lines[at]
    if line[:1].isspace() or not line.strip():
        return None
    if at + 1 < len(lines) and _NUMPY.match(lines[at + 1]):
        return line.strip().rstrip(":").lower(), True
    google = _GOOGLE.match(line)
    return None if google is None else (google[1].lower(), False)


def _indented(lines: list[str], at: int) -> tuple[list[str], int]:
    """Return the lines from `at` on that are indented or empty, and the index after them."""
    end = at
    while end < len(lines) and (not lines[end].strip() or lines[end][:1].isspace()):
        end += 1
    return lines[at:end], end


def _until_next(lines: list[str], at: int) -> tuple[list[str], int]:
    """Return the lines up to the next section, and the index after them."""
    end = at
    while end < len(lines) and _section(lines, end) is None:
        end += 1
    return lines[at:end], end


def _take_sphinx(found: Described, match: re.Match[str], block: list[str]) -> None:
    kind, what, said = match[1].lower(), (match[2] or "").split(), match[3]
    if kind in _OF_PARAMETER and what:
        found.parameters[what[-1].lstrip("*")] = _one_line([said, *block])


def _google(block: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the parameters of an indented block; deeper indented lines continue the parameter before."""
    filled = [line for line in block if line.strip()]
    if not filled:
        return
    indent = min(_indent(line) for line in filled)
    name, said = "", list[str]()
    for line in filled:
        entry = _ENTRY.match(line.strip()) if _indent(line) == indent else None
        if entry is None:
            said.append(line)
            continue
        if name:
            yield name, _one_line(said)
        name, said = entry[1], [entry[2]]
    if name:
        yield name, _one_line(said)


def _numpy(block: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the parameters of a block with names at the margin and their indented text below."""
    names, said = list[str](), list[str]()
    for line in block:
        entry = None if line[:1].isspace() or not line.strip() else _NUMPY_ENTRY.match(line)
        if entry is None:
            said.append(line)
            continue
        yield from ((name, _one_line(said)) for name in names)
        names, said = [one.strip().lstrip("*") for one in entry[1].split(",")], []
    yield from ((name, _one_line(said)) for name in names)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _one_line(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())
