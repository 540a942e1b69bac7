"""Workers that look at any file as bytes and text: `fast` counts, `thorough` also searches for what is odd."""

import hashlib
import math
import re
from collections import Counter, defaultdict
from pathlib import PurePosixPath
from typing import Any, Final

from dashboard.demo.source import SourceRefused, decode_python, over_files, read_bytes

ENDLESS_LINE = 5_000
"""A line with more characters than this is noted."""

_BOMS = {b"\xef\xbb\xbf": "UTF-8 with BOM", b"\xff\xfe": "UTF-16 LE", b"\xfe\xff": "UTF-16 BE"}
_TEXT_CONTROLS = frozenset(b"\t\n\r\f\x1b\b\v")
_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]")
_INVISIBLE = re.compile("[\u200b\u200c\u200d\u2060\u00ad]|(?<!^)\ufeff")
_PLACES = re.compile(r"\s*(\(.*\)|in line \d+|U\+\w+|\\x\w\w|\b\d+ (?=lines))\s*")
_HARMLESS = ("trailing blanks", "no newline", "CRLF line")
_CONTROL = re.compile("[\x01-\x08\x0e-\x1f\x7f]")

LANGUAGES: Final[dict[str, str]] = {
    ".py": "Python", ".pyi": "Python", ".pyx": "Cython", ".js": "JavaScript", ".mjs": "JavaScript",
    ".cjs": "JavaScript", ".jsx": "JavaScript",
    ".ts": "TypeScript", ".tsx": "TypeScript", ".c": "C", ".h": "C", ".cc": "C++", ".cpp": "C++",
    ".cxx": "C++", ".hpp": "C++", ".rs": "Rust", ".go": "Go", ".java": "Java", ".kt": "Kotlin", ".swift": "Swift",
    ".rb": "Ruby", ".php": "PHP", ".cs": "C#", ".sh": "Shell", ".bash": "Shell", ".zsh": "Shell", ".fish": "Shell",
    ".lua": "Lua", ".pl": "Perl", ".r": "R", ".sql": "SQL", ".html": "HTML", ".htm": "HTML", ".css": "CSS",
    ".scss": "CSS", ".tcss": "CSS", ".md": "Markdown", ".rst": "reStructuredText", ".txt": "Text", ".json": "JSON",
    ".yaml": "YAML", ".yml": "YAML", ".toml": "TOML", ".ini": "INI", ".cfg": "INI", ".xml": "XML", ".csv": "CSV",
    ".tcl": "Tcl", ".bat": "Batch", ".ps1": "PowerShell", ".vue": "Vue", ".svelte": "Svelte", ".scala": "Scala",
    ".ex": "Elixir", ".exs": "Elixir", ".hs": "Haskell", ".ml": "OCaml", ".zig": "Zig", ".dart": "Dart", ".nix": "Nix",
    ".tf": "Terraform", ".proto": "Protocol Buffers", ".ipynb": "Notebook", ".svg": "SVG",
}  # fmt: skip
NAMES: Final[dict[str, str]] = {
    "makefile": "Make", "dockerfile": "Docker", "license": "Text", "copying": "Text", "readme": "Text",
    "cmakelists.txt": "CMake", ".gitignore": "Git", ".gitattributes": "Git",
}  # fmt: skip
_HASH = (
    "Python", "Cython", "Shell", "Ruby", "R", "YAML", "TOML", "Perl", "Make", "Docker", "Tcl", "Elixir", "Nix", "Git",
    "PowerShell",
)  # fmt: skip
_SLASHES = (
    "JavaScript", "TypeScript", "C", "C++", "Rust", "Go", "Java", "Kotlin", "Swift", "C#", "Scala", "Zig", "Dart",
    "PHP", "Protocol Buffers",
)  # fmt: skip
COMMENTS: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(_HASH, ("#",)),
    **dict.fromkeys(_SLASHES, ("//", "/*", "*")),
    **dict.fromkeys(("SQL", "Lua", "Haskell"), ("--",)),
    "INI": ("#", ";"),
    "Terraform": ("#", "//"),
    "Batch": ("REM", "::"),
    "CSS": ("/*", "*"),
}
CODE: Final = frozenset(COMMENTS) - {"YAML", "TOML", "INI", "Git"} | {"OCaml", "Vue", "Svelte"}
"""Languages in which copied passages are worth finding."""


def language_of(name: str, head: bytes = b"") -> str:
    """The language of a file, or "other"; a `#!` line in its first bytes decides where the name does not."""
    path = PurePosixPath(name.lower())
    language = NAMES.get(path.name) or LANGUAGES.get(path.suffix)
    if language:
        return language
    first = head.split(b"\n", 1)[0] if head.startswith(b"#!") else b""
    if b"python" in first:
        return "Python"
    return "Shell" if first.endswith(b"sh") else "other"


def fast(value: dict[str, Any]) -> dict[str, Any]:
    """Size, lines, language and encoding of each file of a work item; the shape is `over_files`'s."""
    return over_files(value, lambda folder, name: _entry(name, read_bytes(folder, name)))


def thorough(value: dict[str, Any]) -> dict[str, Any]:
    """What `fast` says, and a hash, entropy, line endings, indentation and invisible characters."""

    def look(folder: str, name: str) -> dict[str, Any]:
        data = read_bytes(folder, name)
        entry = _entry(name, data)
        entry["sha"] = hashlib.sha256(data).hexdigest()[:20]
        entry["entropy"] = round(entropy_bits(data), 2)
        if entry["encoding"] != "binary":
            entry["notes"] += _oddities(data)
        return entry

    return over_files(value, look)


def entropy_bits(data: bytes) -> float:
    """Shannon entropy in bits a byte, from 0 (one byte over and over) to 8 (random or compressed)."""
    total = len(data)
    return -sum(n / total * math.log2(n / total) for n in Counter(data).values()) if data else 0.0


def encoding_of(name: str, data: bytes) -> str:
    """`ASCII`, `UTF-8`, another named encoding, `binary`, or `unknown` for text that fits none that is declared."""
    for mark, encoding in _BOMS.items():
        if data.startswith(mark):
            return encoding
    head = data[:8192]
    controls = sum(byte < 32 and byte not in _TEXT_CONTROLS for byte in head)
    if b"\0" in data or controls * 10 > len(head):
        return "binary"
    if data.isascii():
        return "ASCII"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return _declared(name, data)
    return "UTF-8"


def _declared(name: str, data: bytes) -> str:
    if name.endswith(".py"):
        try:
            return decode_python(name, data, guess=False)[1]
        except SourceRefused:
            return "unknown"
    return "unknown"


def _entry(name: str, data: bytes) -> dict[str, Any]:
    """The counts of one file; binary files have no lines."""
    language, encoding = language_of(name, data[:200]), encoding_of(name, data)
    entry: dict[str, Any] = {"file": name, "language": language, "encoding": encoding, "bytes": len(data), "notes": []}
    lines: list[bytes] = [] if encoding == "binary" else data.splitlines()
    marks = tuple(mark.encode() for mark in COMMENTS.get(language, ()))
    longest = max(map(len, lines), default=0)
    entry["lines"] = len(lines)
    entry["comments"] = sum(line.strip().startswith(marks) for line in lines) if marks else 0
    if encoding == "unknown":
        entry["notes"].append("bytes that are neither UTF-8 nor the declared encoding")
    if encoding == "binary" and language != "other":
        entry["notes"].append(f"binary content under a {language} name")
    if longest > ENDLESS_LINE:
        entry["notes"].append(f"a line of {longest} bytes")
    return entry


def _oddities(data: bytes) -> list[str]:
    """Oddities of a text, the most dangerous first."""
    text = data.decode("utf-8", "replace")
    notes = []
    for shape, what, sign in (
        (_BIDI, "bidirectional control", "U+{:04X}"),
        (_INVISIBLE, "invisible character", "U+{:04X}"),
        (_CONTROL, "control character", "\\x{:02x}"),
    ):
        if found := shape.search(text):
            notes.append(f"{what} {sign.format(ord(found[0]))} in line {text.count(chr(10), 0, found.start()) + 1}")
    crlf, lf = data.count(b"\r\n"), data.count(b"\n")
    if 0 < crlf < lf:
        notes.append(f"mixed line endings ({crlf} CRLF, {lf - crlf} LF)")
    elif crlf:
        notes.append("CRLF line endings")
    indents = Counter(line[:1] for line in data.splitlines() if line[:1] in (b" ", b"\t"))
    if len(indents) == 2:
        notes.append(f"mixed indentation ({indents[b'	']} lines with tabs, {indents[b' ']} with spaces)")
    if data and not data.endswith(b"\n"):
        notes.append("no newline at the end")
    if trailing := sum(line.endswith((b" ", b"\t")) for line in data.splitlines()):
        notes.append(f"{trailing} lines with trailing blanks")
    return notes


def summary(entries: list[dict[str, Any]], *, folders: int) -> dict[str, Any]:
    """Join the entries of all files, of both workers, into what the report needs."""
    languages: dict[str, Counter[str]] = defaultdict(Counter)
    for entry in entries:
        languages[entry["language"]].update(files=1, **{key: entry[key] for key in ("bytes", "lines", "comments")})
    by_size = sorted(entries, key=lambda entry: (-entry["bytes"], entry["file"]))
    notes = [{"file": entry["file"], "note": note} for entry in entries for note in entry["notes"]]
    return {
        "files": len(entries),
        "folders": folders,
        "bytes": sum(entry["bytes"] for entry in entries),
        "lines": sum(entry["lines"] for entry in entries),
        "languages": {
            name: dict(row) for name, row in sorted(languages.items(), key=lambda item: (-item[1]["bytes"], item[0]))
        },
        "encodings": dict(Counter(entry["encoding"] for entry in entries).most_common()),
        "largest": [{key: entry[key] for key in ("file", "bytes", "lines")} for entry in by_size[:10]],
        "thorough": sum("sha" in entry for entry in entries),
        # Blanks and missing newlines are common and harmless: last.
        "notes": sorted(notes, key=lambda row: (any(word in row["note"] for word in _HARMLESS), row["file"]))[:40],
        "note_kinds": dict(Counter(_PLACES.sub(" ", row["note"]).strip() for row in notes).most_common()),
        "same": _same_content(entries),
        "packed": [entry["file"] for entry in entries if entry.get("entropy", 0) > 7.5][:10],
        "modules": _modules(entries),
    }


def _same_content(entries: list[dict[str, Any]]) -> list[list[str]]:
    groups: dict[str, list[str]] = {}
    for entry in entries:
        if "sha" in entry and entry["bytes"] > 100:
            groups.setdefault(entry["sha"], []).append(entry["file"])
    return sorted(
        (sorted(group) for group in groups.values() if len(group) > 1), key=lambda group: (-len(group), group)
    )[:10]


def _modules(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The largest folders of the top level, by lines."""
    lines: Counter[str] = Counter()
    for entry in entries:
        head, _, rest = entry["file"].partition("/")
        lines[head if rest else "."] += entry["lines"]
    return [{"name": name, "lines": n} for name, n in sorted(lines.items(), key=lambda item: (-item[1], item[0]))[:12]]
