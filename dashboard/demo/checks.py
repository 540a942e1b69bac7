"""The workers: each examines the files of one work item, `{"folder", "files": [...]}`; results are of `over_files`.

A new check is a function here, an agent in `crew.yaml`, and its chapter in `chapters.py`.
"""

import ast
import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from itertools import product
from pathlib import Path, PurePosixPath
from typing import Any, Final, TypeAlias
from urllib.parse import unquote

from dashboard.demo.source import SourceRefused, decode, over_files, read_bytes, read_python

PROSE = (".md", ".rst", ".txt")
MAX_LINE_BYTES = 5_000
"""A longer line is noted."""
MAX_LISTED = 20
"""Findings of one file that are listed; all are counted."""
MAX_FUNCTIONS = 8
"""Functions of one file that are listed: the most complex ones."""
HARD = 10
"""Cyclomatic complexity above which a function is counted as hard to test."""
MIN_LINES = 6
"""Shorter functions and runs of lines are equal by chance."""
LANGUAGES: Final[dict[str, tuple[str, bytes | None]]] = {
    ".py": ("Python", b"#"),
    ".pyi": ("Python", b"#"),
    ".rb": ("Ruby", b"#"),
    ".sh": ("Shell", b"#"),
    ".yaml": ("YAML", b"#"),
    ".yml": ("YAML", b"#"),
    ".toml": ("TOML", b"#"),
    ".js": ("JavaScript", b"//"),
    ".ts": ("TypeScript", b"//"),
    ".c": ("C", b"//"),
    ".h": ("C", b"//"),
    ".cpp": ("C++", b"//"),
    ".rs": ("Rust", b"//"),
    ".go": ("Go", b"//"),
    ".java": ("Java", b"//"),
    ".sql": ("SQL", b"--"),
    ".html": ("HTML", None),
    ".css": ("CSS", None),
    ".md": ("Markdown", None),
    ".rst": ("reStructuredText", None),
    ".txt": ("Text", None),
    ".json": ("JSON", None),
    ".xml": ("XML", None),
    ".svg": ("SVG", None),
}
"""Language of a suffix, and what its line comments begin with."""
_ENCODINGS = {"utf-8": "UTF-8", "utf-8-sig": "UTF-8 with BOM"}
_NOTE = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b")
_LINK = re.compile(r"!?\[[^\]\n]{0,200}\]\(\s*<?([^)\s>\n]{1,400})>?[^)\n]{0,200}\)")
_HEADING = re.compile(r"(?m)^#{1,6} +(.{1,200})$")
_CODE = re.compile(r"(?ms)^ {0,3}(```|~~~).*?^ {0,3}\1|`[^`\n]{1,500}`")
Item: TypeAlias = dict[str, Any]
Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_BRANCHES = (ast.If, ast.IfExp, ast.ExceptHandler, ast.For, ast.AsyncFor, ast.While, ast.match_case)
_BLOCKS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.With, ast.AsyncWith, ast.Match)


def functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, Function]]:
    """Every function with its dotted name inside the module, nested ones and methods too."""
    for node in own_nodes(tree):
        if isinstance(node, _SCOPES):
            if not isinstance(node, ast.ClassDef):
                yield prefix + node.name, node
            yield from functions(node, f"{prefix}{node.name}.")


def own_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function, class or module without those of functions and classes defined inside it."""
    stack = list(ast.iter_child_nodes(tree))
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, _SCOPES):
            stack.extend(ast.iter_child_nodes(node))


def line_count(function: Function) -> int:
    """Lines of a function, without its decorators."""
    return (function.end_lineno or function.lineno) - function.lineno + 1


def scan_fast(value: Item) -> Item:
    """Size, lines, language and encoding of each file."""
    return over_files(value, lambda folder, name: _counts(name, read_bytes(folder, name)))


def scan_thorough(value: Item) -> Item:
    """What `scan_fast` says, and a digest of the content."""

    def examine(folder: str, name: str) -> Item:
        data = read_bytes(folder, name)
        return _counts(name, data) | {"sha": hashlib.sha256(data).hexdigest()[:20]}

    return over_files(value, examine)


def _counts(name: str, data: bytes) -> Item:
    """The counts of one file; binary files have no lines."""
    language, comment = LANGUAGES.get(PurePosixPath(name.lower()).suffix, ("other", None))
    encoding = encoding_of(name, data)
    lines = [] if encoding == "binary" else data.splitlines()
    notes = [f"a line of {len(line)} bytes" for line in lines if len(line) > MAX_LINE_BYTES][:1]
    if encoding == "unknown" or (encoding == "binary" and language != "other"):
        notes.append("bytes that are neither UTF-8 nor the declared encoding")
    return {
        "language": language,
        "encoding": encoding,
        "bytes": len(data),
        "lines": len(lines),
        "comments": sum(line.strip().startswith(comment) for line in lines) if comment else 0,
        "notes": notes,
    }


def encoding_of(name: str, data: bytes) -> str:
    """`ASCII`, `UTF-8`, another declared encoding, `binary`, or `unknown` for text that does not fit."""
    if b"\0" in data:
        return "binary"
    try:
        encoding = decode(name, data)[1]
    except SourceRefused:
        return "unknown"
    return "ASCII" if data.isascii() else _ENCODINGS.get(encoding, encoding)


def read_imports(value: Item) -> Item:
    """What each Python file imports: `always` when the module loads, `later` inside functions or for type checkers."""

    def examine(folder: str, name: str) -> Item:
        tree = read_python(folder, name)
        package = module_name(name) if name.endswith("__init__.py") else module_name(name).rpartition(".")[0]
        tests = (node for node in ast.walk(tree) if isinstance(node, ast.If))
        typed = {inner for node in tests if "TYPE_CHECKING" in ast.unparse(node.test) for inner in ast.walk(node)}
        always = set(_imported((node for node in own_nodes(tree) if node not in typed), package))
        return {"always": sorted(always), "later": sorted({*_imported(ast.walk(tree), package)} - always)}

    return over_files(value, examine)


def module_name(file: str) -> str:
    """`a/b.py` and `a/b/__init__.py` are both `a.b`; a leading `src/` is dropped."""
    return file.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _imported(nodes: Iterable[ast.AST], package: str) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".") if package and node.level else []
            base = ".".join([*parts[: len(parts) - node.level + 1], *filter(None, [node.module])])
            # `from a import b` may mean the module a.b; what is not a module is dropped when lists are joined.
            names = [f"{base}.{alias.name}".lstrip(".") for alias in node.names if alias.name != "*"]
            yield from filter(None, [base, *names])


def parse_fast(value: Item) -> Item:
    """Functions, classes and cyclomatic complexity of each Python file; strict about the declared encoding."""
    return over_files(value, lambda folder, name: _measures(read_python(folder, name)))


def parse_thorough(value: Item) -> Item:
    """What `parse_fast` says, and nesting; a file that does not fit its encoding is read as Latin-1, and `guessed`."""

    def examine(folder: str, name: str) -> Item:
        try:
            tree, guessed = read_python(folder, name), False
        except SourceRefused:
            tree, guessed = read_python(folder, name, encoding="latin-1"), True
        entry = _measures(tree)
        depth_by_place = {(name, function.lineno): nesting(function) for name, function in functions(tree)}
        for row in entry["top"]:
            row["nesting"] = depth_by_place[row["name"], row["line"]]
        return entry | {"depth": "thorough", "guessed": guessed}

    return over_files(value, examine)


def _measures(tree: ast.Module) -> Item:
    rows: list[dict[str, Any]] = [
        {"name": name, "line": each.lineno, "lines": line_count(each), "complexity": cyclomatic(each)}
        for name, each in functions(tree)
    ]
    rows.sort(key=lambda row: (-row["complexity"], -row["lines"], row["line"]))
    return {
        "depth": "fast",
        "functions": len(rows),
        "classes": sum(isinstance(node, ast.ClassDef) for node in ast.walk(tree)),
        "hard": sum(row["complexity"] > HARD for row in rows),
        "top": [row for row in rows[:MAX_FUNCTIONS] if row["complexity"] > 4 or row["lines"] > 40],
    }


def cyclomatic(function: Function) -> int:
    """1 + the decisions: `if`, loops, `except`, `case`, ternaries, `and`/`or`, and `for`/`if` of comprehensions.

    Functions defined inside count for themselves.

    Source: T. J. McCabe, "A Complexity Measure", IEEE Transactions on Software Engineering SE-2, 1976.
    """
    return 1 + sum(map(_decisions, own_nodes(function)))


def _decisions(node: ast.AST) -> int:
    match node:
        case ast.BoolOp(values=values):
            return len(values) - 1
        case ast.comprehension(ifs=conditions):
            return 1 + len(conditions)
        case ast.match_case(pattern=ast.MatchAs(pattern=None)):
            return 0
    return isinstance(node, _BRANCHES)


def nesting(function: Function) -> int:
    """The deepest level of control flow, 0 for straight-line code: blocks of one level begin in one column."""
    return len({node.col_offset for node in own_nodes(function) if isinstance(node, _BLOCKS)})


def find_hazards(value: Item) -> Item:
    """What is dangerous or likely wrong in each file: `counts` by rule, and `findings` as `[rule, line, text]`."""

    def examine(folder: str, name: str) -> Item:
        rows = [*hazards(read_python(folder, name))] if name.endswith(".py") else []
        for number, line in enumerate(read_bytes(folder, name).decode("utf-8", "replace").splitlines(), 1):
            if note := _NOTE.search(line):
                rows.append(("note", number, f"{note[0]} in a comment"))
        return {"counts": Counter(rule for rule, _, _ in rows), "findings": rows[:MAX_LISTED]}

    return over_files(value, examine)


def hazards(tree: ast.Module) -> Iterator[tuple[str, int, str]]:
    """Rule, line and text of each finding."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="eval" | "exec" as name), args=[argument, *_]):
                if not isinstance(argument, ast.Constant):
                    yield "code from data", node.lineno, f"{name}() of a value"
            case ast.ExceptHandler(type=None):
                if not any(isinstance(inner, ast.Raise) for inner in ast.walk(node)):
                    yield "bare except", node.lineno, "a bare except catches KeyboardInterrupt too"
            case ast.FunctionDef(name=name, args=ast.arguments(defaults=defaults)):
                if any(isinstance(default, ast.List | ast.Dict | ast.Set) for default in defaults):
                    yield "mutable default", node.lineno, f"a default of {name}() is shared by all calls"


def digest_functions(value: Item) -> Item:
    """A digest of the syntax of each function of each file: `[digest, name, first, last line]`."""

    def examine(folder: str, name: str) -> Item:
        rows = []
        for label, function in functions(read_python(folder, name)):
            if line_count(function) >= MIN_LINES:
                syntax = "".join(map(ast.dump, (function.args, *function.body)))
                digest = hashlib.sha256(syntax.encode("utf-8", "backslashreplace")).hexdigest()[:16]
                rows.append([digest, label, function.lineno, function.end_lineno])
        return {"functions": rows}

    return over_files(value, examine)


def compare_files(value: Item) -> Item:
    """The longest run of equal lines of each two files, one of `lefts` and one of `rights`.

    Returns `{"pairs", "blocks": [[lines, file, line, file, line], ...]}`: how many were compared, the longest first.
    """
    lefts, rights = (
        [(name, read_bytes(value["folder"], name).splitlines()) for name in value[side]] for side in ("lefts", "rights")
    )
    pairs = [(left, right) for left, right in product(lefts, rights) if left[0] < right[0]]
    blocks = []
    for (file, lines), (other, others) in pairs:
        match = SequenceMatcher(None, lines, others).find_longest_match()
        if match.size >= MIN_LINES:
            blocks.append([match.size, file, match.a + 1, other, match.b + 1])
    return {"pairs": len(pairs), "blocks": sorted(blocks, reverse=True)[:3]}


def read_documentation(value: Item) -> Item:
    """Words and dead links of each text; of Python files, which public functions have a docstring."""
    return over_files(value, lambda folder, name: (_docstrings if name.endswith(".py") else _links)(folder, name))


def _docstrings(folder: str, name: str) -> Item:
    tree = read_python(folder, name)
    public = [(label, each) for label, each in functions(tree) if not re.search(r"(^|\.)_", label)]
    bare = [(line_count(each), label, each.lineno) for label, each in public if not ast.get_docstring(each)]
    return {
        "kind": "python",
        "module": bool(ast.get_docstring(tree)),
        "public": len(public),
        "documented": len(public) - len(bare),
        "bare": sorted(bare, reverse=True)[:5],
    }


def _links(folder: str, name: str) -> Item:
    text = read_bytes(folder, name).decode("utf-8", "replace")
    dead = [*_dead_links(folder, name, text)] if name.lower().endswith(".md") else []
    return {"kind": "prose", "words": len(text.split()), "dead": dead[:MAX_LISTED]}


def _dead_links(folder: str, name: str, text: str) -> Iterator[tuple[int, str]]:
    """Links to files and headings of this folder that are not there; addresses elsewhere are not asked."""
    headings = (re.sub(r"[^\w\- ]", "", heading.strip().lower()) for heading in _HEADING.findall(text))
    anchors = {heading.replace(" ", "-") for heading in headings}  # the fragments that forges give them
    plain = _CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)  # every offset stays
    for match in _LINK.finditer(plain):
        target, _, anchor = match[1].partition("#")
        line = text.count("\n", 0, match.start()) + 1
        start = "" if target.startswith("/") else str(PurePosixPath(name).parent)
        path = os.path.normpath(f"{start}/{unquote(target)}".replace("\0", "").lstrip("/"))
        if re.match(r"[a-zA-Z][\w+.-]*:|//", target) or path.startswith(".."):
            continue
        if target and not os.path.lexists(Path(folder) / path):
            yield line, f"dead link to {path:.120}"
        if not target and anchor.lower() not in anchors and f'"{anchor}"' not in text:
            yield line, f"no heading for the link #{anchor:.80}"
