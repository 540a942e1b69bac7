"""The report of the audit crew: the five lines that matter first, then a chapter for each lead. Pure."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from dashboard.demo import chapters
from dashboard.demo.markdown import code, place, prose
from engine.core.records.values import pluralize

Section: TypeAlias = dict[str, Any]
CHAPTERS: Final = {
    "What is here": "map",
    "Hot spots": "metrics",
    "Hazards": "hazards",
    "Copied code": "duplicates",
    "Dependencies": "dependencies",
    "Documentation": "documentation",
    "History": "history",
}


def report(sections: dict[str, Section]) -> str:
    """Write the report from sections by name, as the leads put them out; a chapter whose section is missing says so.

    It is Markdown in which no name or text from the folder is markup or reaches a terminal as a control sequence.
    """

    def chapter(name: str, key: str = "text") -> str:
        absent = f"No result came from the part of the crew that does this ({name}).\n"
        return str(sections[name][key]) if name in sections else absent

    under = sections.get("map", {}).get("under", "")
    texts = {heading: chapter(name) for heading, name in CHAPTERS.items()}
    texts["What was skipped"] = chapter("map", "skipped")
    texts["What failed"] = chapters.failures(sections.values())
    parts = [f"# Audit of {code(under)}" if under else "# Audit"]
    parts.append("\n".join(f"{at}. {line}." for at, line in enumerate(summary(sections), 1)))
    parts += [f"## {heading}\n\n{text}" for heading, text in texts.items()]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def summary(sections: dict[str, Section]) -> list[str]:
    """The five most urgent lines."""
    lines = {name: str(sections.get(name, {}).get("headline", "")) for name in CHAPTERS.values()}
    if lines["metrics"] and lines["history"]:
        lines["metrics"] += f". {lines['history']}"
    if lines["documentation"] and lines["dependencies"]:
        lines["documentation"] += f"; {lines['dependencies']}"
    failed = sorted({failure["file"] for section in sections.values() for failure in section.get("failures", ())})
    if failed and lines["map"]:
        names = ", ".join(map(place, failed[:3]))
        lines["map"] += f"; {pluralize(len(failed), 'file')} could not be read in full, {names} among them"
    ranked = [lines[name] for name in ("hazards", "metrics", "duplicates", "documentation", "map")]
    return [line for line in ranked if line]


def with_summary(text: str, summary: str) -> str:
    """Return a report with a summary below its title; what a model wrote is quoted, so that its markup is its own."""
    title, _, rest = text.partition("\n\n")
    quoted = "\n".join(f"> {line}".rstrip() for line in map(prose, summary.splitlines()))
    return f"{title}\n\n{quoted}\n\n{rest}"


def sections_in(value: Any) -> dict[str, Section]:
    """Every section inside the outputs of earlier nodes by its name, of two with one name the later.

    Texts are searched for JSON objects, because a supervisor may have joined outputs as text.
    """
    return {str(section["section"]): section for section in _sections(value)}


def _sections(value: Any) -> Iterator[Section]:
    if isinstance(value, dict) and "section" in value:
        yield value
    elif isinstance(value, dict | list | tuple):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _sections(inner)
    elif isinstance(value, str) and "section" in value:
        yield from _sections([*_objects(value)])


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
