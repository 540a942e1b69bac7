"""The report of the audit crew: the lines that matter most first, then a chapter for each lead. Pure."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from dashboard.demo import chapters
from dashboard.demo.markdown import code, prose

Section: TypeAlias = dict[str, Any]
CHAPTERS: Final = {
    "Hot spots": "metrics",
    "Used names": "names",
    "Documentation": "documentation",
    "History": "history",
    "What is here": "map",
}
"""The most urgent first."""


def report(sections: dict[str, Section], summary: str = "") -> str:
    """Write the report from sections by name, as the leads put them out; a chapter whose section is missing says so.

    It is Markdown in which no name or text from the folder is markup or reaches a terminal as a control sequence. A
    summary that a model wrote is quoted below the title, so that its markup is its own.
    """
    under = sections.get("map", {}).get("under", "")
    parts = [f"# Audit of {code(under)}" if under else "# Audit"]
    parts.append("\n".join(f"> {line}".rstrip() for line in map(prose, summary.splitlines())))
    lines = [sections[name]["headline"] for name in CHAPTERS.values() if name in sections]
    parts.append("\n".join(f"{at}. {line}." for at, line in enumerate(filter(None, lines), 1)))
    for heading, name in CHAPTERS.items():
        absent = f"No result came from the part of the crew that does this ({name})."
        parts.append(f"## {heading}\n\n{sections[name]['text'] if name in sections else absent}")
    parts.append(f"## What failed\n\n{chapters.failures(sections.values())}")
    return "\n\n".join(part.rstrip("\n") for part in parts if part) + "\n"


def sections_in(value: Any) -> dict[str, Section]:
    """Every section inside the outputs of earlier nodes by its name, of two with one name the later.

    Texts are searched for JSON objects, because a supervisor may have joined outputs as text.
    """
    if isinstance(value, dict) and "section" in value:
        return {str(value["section"]): value}
    if isinstance(value, str):
        value = [*_objects(value)] if "section" in value else []
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return {name: section for part in inner for name, section in sections_in(part).items()}


def _objects(text: str) -> Iterator[Any]:
    """JSON objects and arrays that stand one after the other in a text, with anything between them."""
    decoder, at = json.JSONDecoder(), 0
    while match := re.compile(r"[{\[]").search(text, at):
        try:
            value, at = decoder.raw_decode(text, match.start())
        except ValueError:
            at = match.end()
        else:
            yield value
