"""The chapters of the report, one function each, from the section of the lead that found it. Pure."""

import time
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from dashboard.demo.markdown import bullets, code, place, prose, share, size, table
from engine.core.records.values import counted

Section: TypeAlias = dict[str, Any]
ALIKE = ("Alike", "Here", "And here")


def _listed(title: str, rows: Iterable[Any], form: Callable[[Any], str] = code) -> list[str]:
    """One line with all rows under a title; no line without rows."""
    said = ", ".join(map(form, rows))
    return [f"{title}: {said}"] if said else []


def _at(row: dict[str, Any]) -> str:
    return place(row["file"], row.get("line"))


def what_is_here(found: Section) -> str:
    """Files, languages, the largest files and modules, what is odd about their bytes."""
    languages = [
        (prose(name), f"{row['files']:,}", f"{row['lines']:,}", f"{row['comments']:,}", size(row["bytes"]))
        for name, row in list(found["languages"].items())[:12]
    ]
    lines = [
        f"{counted(found['files'], 'file')} in {counted(found['folders'], 'folder')}, {found['lines']:,} lines, "
        f"{size(found['bytes'])}",
        *_listed("Lines by folder", found["modules"][:8], lambda row: f"{code(row['name'])} {row['lines']:,}"),
        *_listed("Largest", found["largest"][:5], lambda row: f"{_at(row)} {size(row['bytes'])}"),
        *_listed("Encodings", found["encodings"].items(), lambda pair: f"{prose(pair[0])} {pair[1]:,}"),
        *(f"Same content: {', '.join(map(place, group[:4]))}{_more(len(group) - 4)}" for group in found["same"][:5]),
        *_listed("Packed or encrypted", found["packed"]),
    ]
    looked = (
        f"\n{found['thorough']:,} of {found['files']:,} files were looked at thoroughly (hash, entropy, line endings, "
        f"invisible characters).\n\n"
    )
    head = ("Language", "Files", "Lines", "Comments", "Size")
    text = table(head, languages) + "\n" + bullets(lines) + looked
    if not found["notes"]:
        return text
    kinds = ", ".join(f"{prose(kind)} ({n:,})" for kind, n in list(found["note_kinds"].items())[:8])
    rows = [(_at(row), prose(row["note"])) for row in found["notes"][:20]]
    return f"{text}### Odd files\n\nIn all: {kinds}\n\n" + table(("File", "What"), rows)


def hot_spots(found: Section) -> str:
    """Functions and files that are hard to change, and unused names."""
    functions = [
        (_at(row), code(row["name"]), row["complexity"], row.get("cognitive", "–"), row.get("nesting", "–"),
         row["lines"])
        for row in found["hot_functions"]
    ]  # fmt: skip
    bins, imports, arguments = found["bins"], found["unused_imports"], found["unused_arguments"]
    lines = [
        f"{counted(found['functions'], 'function')} and {counted(found['classes'], 'class', 'classes')} in "
        f"{counted(found['files'], 'Python file')}; {found['hard']:,} ({share(found['hard'], found['functions'])}) "
        f"have a complexity above 10",
        f"Complexity of functions: up to 5: {bins[0]:,}, to 10: {bins[1]:,}, to 20: {bins[2]:,}, to 50: {bins[3]:,}, "
        f"more: {bins[4]:,}",
        *_listed(
            "Lowest maintainability index (0 to 100)", found["hard_to_change"][:6],
            lambda row: f"{_at(row)} {row['maintainability']:.0f}",
        ),
        *_listed(
            "Longest functions, in lines", found["long_functions"][:6],
            lambda row: f"{_at(row)} {code(row['name'])} {row['lines']:,}",
        ),
        *_listed(
            f"Unused imports ({imports['total']:,})", imports["items"][:12],
            lambda row: f"{_at(row)} {code(row['name'])}",
        ),
        *_listed(
            f"Unused parameters ({arguments['total']:,})", arguments["items"][:8],
            lambda row: f"{_at(row)} {code(row['function'])}({code(row['name'])})",
        ),
        *_listed("Read as Latin-1, because the declared encoding does not fit", found["guessed"]),
        *_listed("Left out as generated", found.get("generated", ())),
    ]  # fmt: skip
    head = ("Where", "Function", "Complexity", "Cognitive", "Nesting", "Lines")
    note = (
        f"\nNesting, cognitive complexity and unused names come from the {found['thorough']:,} of {found['files']:,} "
        f"files that were parsed thoroughly.\n"
    )
    alike = _alike_rows(found.get("alike", []))
    twins = f"\n### Nearly alike in one file\n\n{table(ALIKE, alike)}" if alike else ""
    return bullets(lines) + "\n" + table(head, functions) + note + twins


def hazards(found: Section) -> str:
    """Findings by severity, with their place."""
    parts = []
    for severity, totals in found["totals"].items():
        rows = [row for row in found["findings"] if row["severity"] == severity]
        kinds = ", ".join(f"{prose(rule)} {n:,}" for rule, n in totals.items())
        listed = f"Rules: {kinds}" if kinds else "Nothing found."
        parts.append(f"### {severity.capitalize()}: {sum(totals.values()):,}\n\n{listed}\n\n")
        cells = [(_at(row), prose(row["rule"]), prose(row["what"])) for row in rows]
        parts.append(table(("Where", "Rule", "What"), cells) + "\n")
    parts.append("At most 6 of one rule are listed; the counts are of all.\n")
    return "".join(parts)


def copies(found: Section) -> str:
    """Copied passages, the longest first."""
    rows = [
        (row["tokens"], *(code("{}:{}-{}".format(*row[side])) for side in ("left", "right"))) for row in found["items"]
    ]
    nearly = _nearly_alike(found["alike"]) if found.get("alike") else ""
    if not rows:
        return f"No passage of 100 tokens or more occurs twice in {counted(found['files'], 'file')}.\n{nearly}"
    stand = "stands" if found["copies"] == 1 else "stand"
    lead = (
        f"{counted(found['copies'], 'passage')} of 100 tokens or more {stand} in two places, "
        f"{found['copied_lines']:,} lines in all ({found['compared']:,} pairs of files compared).\n\n"
    )
    return lead + table(("Tokens", "Here", "And here"), rows) + nearly


def _nearly_alike(found: Section) -> str:
    """Functions of different files that could be one, the most alike first."""
    pairs = f"{counted(found['pairs'], 'pair')} of functions in different files compared, as many as there was time for"
    rows = _alike_rows(found["items"])
    if not rows:
        return f"\n### Nearly alike\n\n{pairs}; none are nearly alike.\n"
    told = f"{pairs}. Candidates for one function with a parameter more:"
    return f"\n### Nearly alike\n\n{told}\n\n" + table(ALIKE, rows)


def _alike_rows(rows: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    return [(f"{row['share']:.0%}", _function(*row["left"]), _function(*row["right"])) for row in rows]


def _function(file: str, name: str, line: int) -> str:
    return f"{code(name)} {place(file, line)}"


def dependencies(found: Section) -> str:
    """What is declared, what is imported, licences, and how the modules depend on each other."""
    outside = list(found["outside"].items())[:15]
    manifests = _listed(f"Declared: {found['declared']:,} in", found["manifests"][:8])
    lines = [
        manifests[0].replace(" in:", " in", 1) if manifests else "No manifest declares dependencies",
        *(
            _listed("Imported from outside (files)", outside, lambda pair: f"{code(pair[0])} ({pair[1]})")
            or ["Nothing is imported from outside"]
        ),
        *_listed("Imported but declared nowhere", found["undeclared"]),
        *_listed("Declared but never imported (plugins and tools may be meant)", found["unseen"]),
        *_listed("Any version will do for", found["loose"]),
        *_listed("Declared with different conditions", found["twice"]),
        *(
            _listed("Licences", found["licences"][:8], lambda row: f"{_at(row)} {prose(row['licence'])}")
            or ["No licence file"]
        ),
        *_listed("SPDX tags", found["spdx"].items(), lambda pair: f"{prose(pair[0])} ({pair[1]})"),
        *_listed("Most imported", found["most_imported"][:6], lambda row: f"{_at(row)} by {row['by']}"),
    ]
    if found["cycle_count"]:
        lines.append(f"Import cycles ({found['cycle_count']}):")
    cycles = [f"{' ↔ '.join(map(place, one[:5]))}{_more(len(one) - 5)}" for one in found["cycles"][:6]]
    return bullets(lines) + "".join(f"  - {cycle}\n" for cycle in cycles)


def documentation(found: Section) -> str:
    """What is documented, what is not, and what is documented wrongly."""
    covered = share(found["documented"], found["public"])
    lines = [
        f"{counted(found['prose_files'], 'text')} with {found['words']:,} words",
        f"Docstrings on {found['documented']:,} of {found['public']:,} public functions ({covered}) and on "
        f"{found['module_docstrings']:,} of {counted(found['python_files'], 'module')}; "
        f"{counted(found['examples'], 'doctest line')}",
    ]
    absent = {"readme": "readme", "licen[cs]e|copying": "licence", "changelog|changes|history|news": "changelog"}
    if found["absent"]:
        lines.append(f"Not at the top: {', '.join(absent[what] for what in found['absent'])}")
    lines += _listed(
        "Longest public functions without a docstring", found["bare"][:10],
        lambda row: f"{_at(row)} {code(row['name'])} ({row['lines']} lines)",
    )  # fmt: skip
    rows = [(_at(row), prose(row["what"])) for row in found["problems"][:20]]
    return (
        bullets(lines)
        + (f"\n{counted(found['problem_count'], 'thing is', 'things are')} wrong:\n\n" if rows else "")
        + table(("Where", "What"), rows)
    )


def history(found: Section, metrics: Section | None) -> str:
    """How the folder came to be, and which complex files change most."""
    if "why_not" in found:
        return f"No history was read: {prose(found['why_not'])}.\n"
    lines = [
        f"{counted(found['commits'], 'commit')} by {counted(found['authors'], 'author')} from {_day(found['first_s'])} "
        f"to {_day(found['last_s'])}{'' if found['all_read'] else ' (older ones were not read)'}; "
        f"{found['last_90_days']:,} in the last 90 days of work",
        f"The busiest author made {found['busiest_author_share']:.0%}; {found['one_author_files']:,} of "
        f"{found['files']:,} files were only ever touched by one person",
    ]
    rows = [
        (_at(row), row["commits"], row["lines"], complexity or "–")
        for row, complexity in churn_by_complexity(found, metrics)[:12]
    ]
    together = [
        f"{place(row['left'])} and {place(row['right'])} changed together {row['commits']} times ({row['share']:.0%})"
        for row in found["together"]
    ]
    head = ("File", "Commits", "Changed lines", "Complexity")
    return bullets(lines) + "\n" + table(head, rows) + ("\n" + bullets(together) if together else "")


def churn_by_complexity(found: Section, metrics: Section | None) -> list[tuple[dict[str, Any], int]]:
    """Files by commits times complexity, the ones where bugs are bred first; without metrics, by commits."""
    complexity = {row["file"]: row["complexity"] for row in metrics["hot_files"]} if metrics else {}
    rows = [(row, complexity.get(row["file"], 0)) for row in found["churn"]]
    return sorted(rows, key=lambda pair: (-pair[0]["commits"] * pair[1], -pair[0]["commits"], pair[0]["file"]))


def skipped(found: Section) -> str:
    """What was not read, and why; every reason, and the names as far as they fit."""
    rows = found["skipped"]
    if not rows["total"]:
        return "Nothing was skipped.\n"
    lines = [f"{prose(reason)}: {n:,}" for reason, n in rows["reasons"].items()]
    names = [(code(row["name"]), prose(row["reason"])) for row in rows["items"]]
    return (
        bullets(lines)
        + "\n"
        + table(("Name", "Why"), names)
        + _rest(rows["total"] - len(rows["items"]), "entry", "entries")
    )


def failures(sections: list[Section]) -> str:
    """Files that a worker could not process, and the sections that report them."""
    by_file: dict[tuple[str, str], list[str]] = {}
    for found in sections:
        for failure in found.get("failures", ()):
            # Without the name of the file in front, so that all sections say the same.
            reason = failure["error"].removeprefix(f"{failure['file']}: ")[:300]
            by_file.setdefault((failure["file"], reason), []).append(found["section"])
    rows = [(place(file), prose(error), ", ".join(names)) for (file, error), names in sorted(by_file.items())]
    cut = [
        f"**{found['section']}** ended before it had seen every file: time was up, or it was cancelled."
        for found in sections
        if found.get("cut_short")
    ]
    total = sum(found.get("failure_count", 0) for found in sections)
    listed = sum(len(found.get("failures", ())) for found in sections)
    if not rows and not cut:
        return "Nothing failed.\n"
    return bullets(cut) + table(("File", "What went wrong", "Seen by"), rows) + _rest(total - listed, "failure")


def _day(at_s: int) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(at_s))


def _more(number: int) -> str:
    return f" and {number:,} more" if number > 0 else ""


def _rest(number: int, word: str, many: str = "") -> str:
    return f"\n… and {counted(number, word, many)} more.\n" if number > 0 else ""
