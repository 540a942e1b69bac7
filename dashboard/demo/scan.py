"""Workers that read any file as bytes and text: `fast` counts, `thorough` also notes what is odd."""

import hashlib
import re
from collections import Counter
from pathlib import PurePosixPath
from typing import Any, Final

from dashboard.demo.source import SourceRefused, decode_python, over_files, read_bytes

MAX_LINE_BYTES = 5_000
"""A longer line is noted."""
_BOMS = {b"\xef\xbb\xbf": "UTF-8 with BOM", b"\xff\xfe": "UTF-16 LE", b"\xfe\xff": "UTF-16 BE"}
_CONTROLS = {"bidirectional control": "[\u202a-\u202e\u2066-\u2069]", "invisible character": "[\u200b-\u200d]"}
LANGUAGES: Final[dict[str, str]] = {
    ".py": "Python", ".pyi": "Python", ".js": "JavaScript", ".ts": "TypeScript", ".c": "C", ".h": "C", ".cpp": "C++",
    ".rs": "Rust", ".go": "Go", ".java": "Java", ".rb": "Ruby", ".sh": "Shell", ".sql": "SQL", ".html": "HTML",
    ".css": "CSS", ".md": "Markdown", ".rst": "reStructuredText", ".txt": "Text", ".json": "JSON", ".yaml": "YAML",
    ".yml": "YAML", ".toml": "TOML", ".xml": "XML", ".svg": "SVG",
}  # fmt: skip
_COMMENTS = {
    **dict.fromkeys(("Python", "Ruby", "Shell", "YAML", "TOML"), b"#"),
    **dict.fromkeys(("JavaScript", "TypeScript", "C", "C++", "Rust", "Go", "Java"), b"//"),
    "SQL": b"--",
}


def fast(value: dict[str, Any]) -> dict[str, Any]:
    """Size, lines, language and encoding of each file of a work item; the shape is `over_files`'s."""
    return over_files(value, lambda folder, name: _entry(name, read_bytes(folder, name)))


def thorough(value: dict[str, Any]) -> dict[str, Any]:
    """What `fast` says, and a hash, line endings, indentation and invisible characters."""

    def entry(folder: str, name: str) -> dict[str, Any]:
        data = read_bytes(folder, name)
        entry = _entry(name, data) | {"sha": hashlib.sha256(data).hexdigest()[:20]}
        entry["notes"] += _oddities(data) if entry["encoding"] != "binary" else []
        return entry

    return over_files(value, entry)


def encoding_of(name: str, data: bytes) -> str:
    """`ASCII`, `UTF-8`, another named encoding, `binary`, or `unknown` for text that fits none that is declared."""
    for mark, encoding in _BOMS.items():
        if data.startswith(mark):
            return encoding
    if b"\0" in data:
        return "binary"
    try:
        data.decode("utf-8")
        return "ASCII" if data.isascii() else "UTF-8"
    except UnicodeDecodeError:
        try:
            return decode_python(name, data, guess=False)[1] if name.endswith(".py") else "unknown"
        except SourceRefused:
            return "unknown"


def _entry(name: str, data: bytes) -> dict[str, Any]:
    """The counts of one file; binary files have no lines."""
    language, encoding = LANGUAGES.get(PurePosixPath(name.lower()).suffix, "other"), encoding_of(name, data)
    lines = [] if encoding == "binary" else data.splitlines()
    comments = sum(line.strip().startswith(_COMMENTS[language]) for line in lines) if language in _COMMENTS else 0
    notes = [f"a line of {len(line)} bytes" for line in lines if len(line) > MAX_LINE_BYTES][:1]
    if encoding == "unknown" or (encoding == "binary" and language != "other"):
        notes.append("bytes that are neither UTF-8 nor the declared encoding")
    return {
        "file": name,
        "language": language,
        "encoding": encoding,
        "bytes": len(data),
        "lines": len(lines),
        "comments": comments,
        "notes": notes,
    }


def _oddities(data: bytes) -> list[str]:
    """Oddities of a text, the most dangerous first."""
    text, notes = data.decode("utf-8", "replace"), []
    for label, pattern in _CONTROLS.items():
        if match := re.search(pattern, text):
            notes.append(f"{label} U+{ord(match[0]):04X} in line {text.count(chr(10), 0, match.start()) + 1}")
    crlf, lf = data.count(b"\r\n"), data.count(b"\n")
    if 0 < crlf < lf:
        notes.append(f"mixed line endings ({crlf} CRLF, {lf - crlf} LF)")
    indents = Counter(line[:1] for line in data.splitlines() if line[:1] in (b" ", b"\t"))
    if len(indents) == 2:
        notes.append(f"mixed indentation ({indents[b'	']} lines with tabs, {indents[b' ']} with spaces)")
    if data and not data.endswith(b"\n"):
        notes.append("no newline at the end")
    return notes
