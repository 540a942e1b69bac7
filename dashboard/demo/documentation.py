"""Worker that checks what people read: prose files for dead links, docstrings for parameters that do not exist."""

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

from dashboard.demo.complexity import Function, functions
from dashboard.demo.source import over_files, read_bytes, read_python

PROSE = (".md", ".rst", ".txt")
MAX_PROBLEMS = 20
"""Findings of one kind that one file may contribute."""
_LINK = re.compile(r"!?\[[^\]\n]{0,200}\]\(\s*<?([^)\s>\n]{1,400})>?[^)\n]{0,200}\)")
_HEADING = re.compile(r"(?m)^#{1,6} +(.{1,200})$")
_CODE = re.compile(r"(?ms)^ {0,3}(```|~~~).*?^ {0,3}\1|`[^`\n]{1,500}`")
_FIELD = re.compile(r"(?m)^\s*[:@]param\s+(?:[\w\[\].]+\s+)?\*{0,2}(\w+)\s*:")
_ARGS_BLOCK = re.compile(r"(?ms)^([ \t]*)(?:Args|Arguments|Parameters):[ \t]*\n((?:\1[ \t]+\S[^\n]*\n?|[ \t]*\n)+)")
_ARGS_NAME = re.compile(r"^\*{0,2}(\w+)(?:\s*\([^)]*\))?:(?:\s|$)")


def read(value: dict[str, Any]) -> dict[str, Any]:
    """Check each file of a work item, Python by its docstrings, everything else as prose."""
    return over_files(value, lambda folder, name: (_docstrings if name.endswith(".py") else _prose)(folder, name))


def _prose(folder: str, name: str) -> dict[str, Any]:
    text = read_bytes(folder, name).decode("utf-8", "replace")
    problems = [*_dead_links(folder, name, text)] if name.lower().endswith(".md") else []
    return {"file": name, "kind": "prose", "words": len(text.split()), "problems": problems[:MAX_PROBLEMS]}


def _dead_links(folder: str, name: str, text: str) -> Iterator[tuple[int, str]]:
    """Links to files and headings of this folder that are not there; addresses elsewhere are not asked."""
    headings = [re.sub(r"[^\w\- ]", "", heading.strip().lower()) for heading in _HEADING.findall(text)]
    anchors = {heading.replace(" ", "-") for heading in headings}  # the fragments that forges give them
    plain = _CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)  # every offset stays
    for match in _LINK.finditer(plain):
        target, _, anchor = match[1].partition("#")
        line = text.count("\n", 0, match.start()) + 1
        if re.match(r"[a-zA-Z][\w+.-]*:|//", target):
            continue
        if not target:
            if anchor and anchor.lower() not in anchors and f'"{anchor}"' not in text:
                yield line, f"no heading for the link #{anchor:.80}"
            continue
        start = "" if target.startswith("/") else str(PurePosixPath(name).parent)
        path = os.path.normpath(f"{start}/{unquote(target).lstrip('/')}".replace("\0", "").lstrip("/"))
        if not path.startswith("..") and not os.path.lexists(Path(folder) / path):
            yield line, f"dead link to {path:.120}"


def _docstrings(folder: str, name: str) -> dict[str, Any]:
    tree = read_python(folder, name).tree
    bare, wrong, public = list[list[Any]](), list[tuple[int, str]](), list[bool]()
    for label, function in functions(tree):
        docstring = ast.get_docstring(function) or ""
        wrong += [
            (function.lineno, f"{label}() describes {parameter}, which it does not take")
            for parameter in sorted(described(docstring) - parameters(function))
        ]
        if not any(part.startswith("_") for part in label.split(".")):
            public.append(bool(docstring))
            if not docstring:
                bare.append([function.lineno, label, (function.end_lineno or function.lineno) - function.lineno])
    return {
        "file": name,
        "kind": "python",
        "module": bool(ast.get_docstring(tree)),
        "public": len(public),
        "documented": sum(public),
        "problems": wrong[:MAX_PROBLEMS],
        "bare": sorted(bare, key=lambda row: -row[2])[:5],
    }


def described(docstring: str) -> set[str]:
    """Parameters that a docstring describes, in the Sphinx or the Google style."""
    names = set(_FIELD.findall(docstring))
    for _, block in _ARGS_BLOCK.findall(docstring):
        lines = [line for line in block.splitlines() if line.strip()]
        indent = min((len(line) - len(line.lstrip()) for line in lines), default=0)
        entries = [line.strip() for line in lines if len(line) - len(line.lstrip()) == indent]
        names.update(match[1] for line in entries if (match := _ARGS_NAME.match(line)))
    return names


def parameters(function: Function) -> set[str]:
    """Names that may be described: the parameters, and anything at all where `**keywords` are taken."""
    arguments = function.args
    names = {each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    if arguments.kwarg or arguments.vararg:
        names |= {each.arg for each in (arguments.vararg, arguments.kwarg) if each}
        names |= described(ast.get_docstring(function) or "")
    return names
