"""Worker that checks what people read: prose files for dead links, docstrings for parameters that do not exist."""

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

from dashboard.demo.complexity import Function, functions
from dashboard.demo.hazards import is_test
from dashboard.demo.source import name_text, os_name, over_files, read_bytes, read_python

PROSE = (".md", ".rst", ".txt")
KEPT = 20
"""Findings of one kind that one file may contribute."""

_LINK = re.compile(r"!?\[[^\]\n]{0,200}\]\(\s*<?([^)\s>\n]{1,400})>?[^)\n]{0,200}\)")
_HEADING = re.compile(r"(?m)^#{1,6} +(.{1,200})$")
_FENCE = re.compile(r"(?m)^ {0,3}(```|~~~)")
_FIELD = re.compile(r"(?m)^\s*[:@]param\s+(?:[\w\[\].]+\s+)?\*{0,2}(\w+)\s*:")
_ARGS_BLOCK = re.compile(r"(?ms)^([ \t]*)(?:Args|Arguments|Parameters):[ \t]*\n((?:\1[ \t]+\S[^\n]*\n?|[ \t]*\n)+)")
_ARGS_NAME = re.compile(r"^\*{0,2}(\w+)(?:\s*\([^)]*\))?:(?:\s|$)")


def read(value: dict[str, Any]) -> dict[str, Any]:
    """Check each file of a work item, Python by its docstrings, everything else as prose."""

    def look(folder: str, name: str) -> dict[str, Any]:
        return _docstrings(folder, name) if name.endswith(".py") else _prose(folder, name)

    return over_files(value, look)


def _prose(folder: str, name: str) -> dict[str, Any]:
    text = read_bytes(folder, name).decode("utf-8", "replace")
    problems = []
    if name.lower().endswith(".md"):
        problems = [[line, said] for line, said in _dead_links(folder, name, text)]
        if len(_FENCE.findall(text)) % 2:
            problems.append([text.count("\n") + 1, "a code block is never closed"])
    return {
        "file": name,
        "kind": "prose",
        "words": len(text.split()),
        "problems": problems[:KEPT],
    }


def _dead_links(folder: str, name: str, text: str) -> Iterator[tuple[int, str]]:
    """Links to files and headings of this folder that are not there; addresses elsewhere are not asked."""
    headings = [re.sub(r"[^\w\- ]", "", heading.strip().lower()) for heading in _HEADING.findall(text)]
    anchors = {heading.replace(" ", "-") for heading in headings}  # the fragments that forges give them
    root = Path(os_name(folder))
    # Code blocks and spans are blanked out, keeping every offset.
    plain = re.sub(r"(?ms)^ {0,3}(```|~~~).*?^ {0,3}\1", lambda code: re.sub(r"[^\n]", " ", code[0]), text)
    plain = re.sub(r"`[^`\n]{1,500}`", lambda code: " " * len(code[0]), plain)
    for match in _LINK.finditer(plain):
        target, _, anchor = match[1].partition("#")
        line = text.count("\n", 0, match.start()) + 1
        if re.match(r"[a-zA-Z][\w+.-]*:|//", target):
            continue
        if not target:
            if anchor and anchor.lower() not in anchors and f'"{anchor}"' not in text:
                yield line, f"no heading for the link #{anchor:.80}"
            continue
        start = "" if target.startswith("/") else os_name(str(PurePosixPath(name).parent))
        path = os.path.normpath(f"{start}/{unquote(target).lstrip('/')}".replace("\0", "").lstrip("/"))
        if path.startswith(".."):
            continue
        if not os.path.lexists(root / path):
            yield line, f"dead link to {name_text(path)[:120]}"


def _docstrings(folder: str, name: str) -> dict[str, Any]:
    source = read_python(folder, name)
    bare: list[list[Any]] = []
    wrong: list[list[Any]] = []
    public = documented = examples = 0
    for label, function in functions(source.tree):
        docstring = ast.get_docstring(function)
        if docstring:
            examples += docstring.count(">>> ")
            ghosts = described(docstring) - parameters(function)
            wrong += [
                [function.lineno, f"{label}() describes {ghost}, which it does not take"] for ghost in sorted(ghosts)
            ]
        if not any(part.startswith("_") for part in label.split(".")):
            public += 1
            documented += bool(docstring)
            length = (function.end_lineno or function.lineno) - function.lineno
            if not docstring and length > 15:
                bare.append([function.lineno, label, length])
    bare.sort(key=lambda row: -row[2])
    return {
        "file": name,
        "kind": "python",
        "test": is_test(name),
        "module": bool(ast.get_docstring(source.tree)),
        "public": public,
        "documented": documented,
        "examples": examples,
        "problems": wrong[:KEPT],
        "bare": bare[:5],
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
    names |= {each.arg for each in (arguments.vararg, arguments.kwarg) if each}
    if arguments.kwarg or arguments.vararg:
        names |= described(ast.get_docstring(function) or "")
    return names


def summary(entries: list[dict[str, Any]], *, names: list[str]) -> dict[str, Any]:
    """Join the entries of all files; `names` of every file of the folder tell whether a readme is there."""
    prose = [entry for entry in entries if entry["kind"] == "prose"]
    python = [entry for entry in entries if entry["kind"] == "python" and not entry["test"]]
    problems = [{"file": e["file"], "line": line, "what": what} for e in entries for line, what in e["problems"]]
    # Dead links first: readers meet them.
    problems.sort(key=lambda row: (not row["what"].startswith("dead"), row["file"], row["line"]))
    bare = [{"file": e["file"], "line": line, "name": name, "lines": n} for e in python for line, name, n in e["bare"]]
    tops = {name.lower().partition(".")[0] for name in names if "/" not in name}
    return {
        "prose_files": len(prose),
        "words": sum(entry["words"] for entry in prose),
        "python_files": len(python),
        "module_docstrings": sum(entry["module"] for entry in python),
        "public": sum(entry["public"] for entry in python),
        "documented": sum(entry["documented"] for entry in python),
        "examples": sum(entry["examples"] for entry in python),
        "absent": [what for what in ("readme", "licen[cs]e|copying", "changelog|changes|history|news")
                   if not any(re.fullmatch(what, top) for top in tops)],
        "problem_count": len(problems),
        "problems": problems[:30],
        "bare": sorted(bare, key=lambda row: (-row["lines"], row["file"]))[:15],
    }  # fmt: skip
