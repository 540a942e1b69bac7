"""Escapes untrusted text for Markdown: names and findings come from the audited folder. Pure."""

import re
from collections.abc import Iterable, Sequence

from dashboard.clean import clean


def code(text: str) -> str:
    """A code span; a name with backticks gets a longer fence."""
    content = clean(text)
    if "`" not in content:
        return f"`{content}`"
    fence = "`" * (max(map(len, re.findall(r"`+", content))) + 1)
    return f"{fence} {content} {fence}"


def prose(text: str) -> str:
    """Plain words of unknown origin, with what Markdown would take as markup escaped."""
    return re.sub(r"([\\`*_\[\]<>#~])", r"\\\1", clean(text))


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; numbers are right-aligned, empty without rows. Cells are Markdown already."""
    # Pipes are escaped; one behind a backslash is spelled out, because the two would cancel each other.
    texts = ([f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row] for row in rows)
    body = [[re.sub(r"(?<=\\)\|", "x7c", text).replace("|", "\\|") for text in row] for row in texts]
    if not body:
        return ""
    numeric = [all(re.fullmatch(r"[\d., %–-]*", row[at]) for row in body) for at in range(len(head))]
    rule = ["---:" if number else "---" for number in numeric]
    return "\n".join(f"| {' | '.join(row)} |" for row in [list(head), rule, *body]) + "\n"


def bullets(lines: Iterable[str]) -> str:
    """A list; empty without lines."""
    return "".join(f"- {line}\n" for line in lines)
