"""The report of the audit crew: the five lines that matter first, then a chapter for each lead. Pure."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from dashboard.demo import chapters
from dashboard.demo.chapters import Section
from dashboard.demo.markdown import code, place, prose, share, size
from engine.core.records.values import counted

CHAPTERS: Final = (
    ("What is here", "map", chapters.what_is_here),
    ("Hot spots", "metrics", chapters.hot_spots),
    ("Hazards", "hazards", chapters.hazards),
    ("Copied code", "duplicates", chapters.copies),
    ("Dependencies and licences", "dependencies", chapters.dependencies),
    ("Documentation", "documentation", chapters.documentation),
)


def report(findings: dict[str, Section]) -> str:
    """Write the report from sections by name, as the leads put them out; a chapter whose section is missing says so.

    It is Markdown in which no name or text from the folder is markup or reaches a terminal as a control sequence.
    """
    under = findings.get("map", {}).get("under", "")
    title = f"# Audit of {code(under)}" if under else "# Audit"
    parts = [title, "\n".join(f"{at}. {line}" for at, line in enumerate(summary(findings), 1))]
    for heading, name, chapter in CHAPTERS:
        parts.append(f"## {heading}\n\n{chapter(findings[name]) if name in findings else _absent(name)}")
    history = findings.get("history")
    past = chapters.history(history, findings.get("metrics")) if history else _absent("history")
    parts.append(f"## History\n\n{past}")
    parts.append(f"## What was skipped\n\n{chapters.skipped(findings['map']) if 'map' in findings else _absent('map')}")
    parts.append(f"## What failed\n\n{chapters.failures(list(findings.values()))}")
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def with_summary(text: str, summary: str) -> str:
    """Return a report with a summary below its title; what a model wrote is quoted, so that its markup is its own."""
    title, _, rest = text.partition("\n\n")
    quoted = "\n".join(f"> {line}".rstrip() for line in map(prose, summary.splitlines()))
    return f"{title}\n\n{quoted}\n\n{rest}"


def sections_in(value: Any) -> dict[str, Section]:
    """Every section inside the outputs of earlier nodes by its name, of two with one name the later.

    Texts are searched for JSON objects, because a supervisor may have joined outputs as text.
    """
    return {str(found["section"]): found for found in _sections(value)}


def _sections(value: Any) -> Iterator[Section]:
    if isinstance(value, dict):
        if "section" in value:
            yield value
        else:
            yield from (found for inner in value.values() for found in _sections(inner))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        yield from (found for inner in value for found in _sections(inner))
    elif isinstance(value, str) and "section" in value:
        yield from (found for inner in _objects(value) for found in _sections(inner))


def _objects(text: str) -> Iterator[Any]:
    """JSON objects and arrays that stand one after the other in a text, with anything between them."""
    decoder = json.JSONDecoder()
    at = 0
    while (at := min((found for found in (text.find("{", at), text.find("[", at)) if found >= 0), default=-1)) >= 0:
        try:
            value, at = decoder.raw_decode(text, at)
        except ValueError:
            at += 1
        else:
            yield value


def _absent(name: str) -> str:
    return f"No result came from the part of the crew that does this ({name}).\n"


def summary(findings: dict[str, Section]) -> list[str]:
    """The five most urgent lines."""
    lines = [_urgent(findings), _hot(findings), _copied(findings), _known(findings), _left(findings)]
    return [line for line in lines if line]


def _urgent(findings: dict[str, Section]) -> str:
    found = findings.get("hazards")
    if not found:
        return ""
    high, medium = (sum(found["totals"][severity].values()) for severity in ("high", "medium"))
    worst = [row for row in found["findings"] if row["severity"] == "high"] or found["findings"]
    if not worst:
        return "**Hazards:** none of the rules found anything."
    named = "; ".join(f"{place(row['file'], row['line'])} {prose(row['what'])}" for row in _different(worst)[:3])
    return f"**Hazards:** {high:,} high and {medium:,} medium. {named}."


def _different(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first of each rule."""
    first: dict[str, dict[str, Any]] = {}
    for row in rows:
        first.setdefault(row["rule"], row)
    # A credential in the open is the one to act on today.
    return sorted(first.values(), key=lambda row: row["rule"] != "credential")


def _hot(findings: dict[str, Section]) -> str:
    found = findings.get("metrics")
    if not found or not found["hot_functions"]:
        return ""
    top = found["hot_functions"][0]
    line = (
        f"**Refactor first:** {code(top['name'])} in {place(top['file'], top['line'])}, "
        f"complexity {top['complexity']}, {top['lines']:,} lines; "
        f"{found['hard']:,} of {found['functions']:,} functions are above 10."
    )
    history = findings.get("history", {})
    pairs = chapters.churn_by_complexity(history, found) if "churn" in history else []
    if pairs and pairs[0][1]:
        row, complexity = pairs[0]
        line += (
            f" Complex and always changing: {place(row['file'])} ({row['commits']} commits, complexity {complexity})."
        )
    return line


def _copied(findings: dict[str, Section]) -> str:
    found = findings.get("duplicates")
    if not found or not found["items"]:
        return ""
    longest = found["items"][0]
    return (
        f"**Copied code:** {found['copied_lines']:,} lines occur in two places; the longest passage is "
        f"{code('{}:{}-{}'.format(*longest['left']))} and {code('{}:{}-{}'.format(*longest['right']))}."
    )


def _known(findings: dict[str, Section]) -> str:
    documentation, dependencies = findings.get("documentation"), findings.get("dependencies")
    parts = []
    if documentation:
        parts.append(
            f"{share(documentation['documented'], documentation['public'])} of public functions have a docstring"
        )
        if documentation["problem_count"]:
            wrong = ("dead link or wrong docstring", "dead links and wrong docstrings")
            parts.append(counted(documentation["problem_count"], *wrong))
    if dependencies:
        if dependencies["undeclared"]:
            parts.append(f"imported but not declared: {', '.join(map(code, dependencies['undeclared'][:4]))}")
        if dependencies["cycle_count"]:
            parts.append(counted(dependencies["cycle_count"], "import cycle"))
    return f"**To know:** {'; '.join(parts)}." if parts else ""


def _left(findings: dict[str, Section]) -> str:
    found = findings.get("map")
    failed = {failure["file"] for section in findings.values() for failure in section.get("failures", ())}
    if not found:
        return f"**Read:** {counted(len(failed), 'file')} failed." if failed else ""
    worst = f", {', '.join(map(place, sorted(failed)[:3]))} among them" if failed else ""
    main = next(iter(found["languages"]), "nothing")
    return (
        f"**Read:** {counted(found['files'], 'file')}, {found['lines']:,} lines, {size(found['bytes'])}, "
        f"mostly {prose(main)}; {counted(len(failed), 'file')} could not be read in full{worst}; "
        f"{counted(found['skipped']['total'], 'entry', 'entries')} skipped."
    )
