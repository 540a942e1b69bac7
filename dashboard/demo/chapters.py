"""The chapters of the report, one function each, from the section of the lead that found it. Pure."""

import time
from typing import Any, TypeAlias

from dashboard.demo.markdown import bullets, code, count, place, prose, share, size, table

Section: TypeAlias = dict[str, Any]


def what_is_here(found: Section) -> str:
    """Files, languages, the largest files and modules, what is odd about their bytes."""
    languages = [
        (prose(name), f"{row['files']:,}", f"{row['lines']:,}", f"{row['comments']:,}", size(row["bytes"]))
        for name, row in list(found["languages"].items())[:12]
    ]
    modules = ", ".join(f"{code(row['name'])} {row['lines']:,}" for row in found["modules"][:8])
    largest = ", ".join(f"{place(row['file'])} {size(row['bytes'])}" for row in found["largest"][:5])
    encodings = ", ".join(f"{prose(name)} {n:,}" for name, n in found["encodings"].items())
    lines = [
        f"{count(found['files'], 'file')} in {count(found['folders'], 'folder')}, {found['lines']:,} lines, "
        f"{size(found['bytes'])}",
        f"Lines by folder: {modules}",
        f"Largest: {largest}",
        f"Encodings: {encodings}",
    ]
    lines += [f"Same content: {', '.join(map(place, group[:4]))}{_more(len(group) - 4)}" for group in found["same"][:5]]
    lines += [f"Packed or encrypted: {', '.join(map(place, found['packed']))}"] if found["packed"] else []
    looked = (
        f"\n{found['thorough']:,} of {found['files']:,} files were looked at thoroughly (hash, entropy, line endings, "
        f"invisible characters).\n\n"
    )
    head = ("Language", "Files", "Lines", "Comments", "Size")
    return table(head, languages) + "\n" + bullets(lines) + looked + _odd_files(found)


def _odd_files(found: Section) -> str:
    if not found["notes"]:
        return ""
    kinds = ", ".join(f"{prose(kind)} ({n:,})" for kind, n in list(found["note_kinds"].items())[:8])
    rows = [(place(row["file"]), prose(row["note"])) for row in found["notes"][:20]]
    return f"### Odd files\n\nIn all: {kinds}\n\n" + table(("File", "What"), rows)


def hot_spots(found: Section) -> str:
    """Functions and files that are hard to change, and what nobody uses."""
    functions = [
        (place(row["file"], row["line"]), code(row["name"]), row["complexity"], row.get("cognitive", "–"),
         row.get("nesting", "–"), row["lines"])
        for row in found["hot_functions"]
    ]  # fmt: skip
    bins = found["bins"]
    lines = [
        f"{count(found['functions'], 'function')} and {count(found['classes'], 'class', 'classes')} in "
        f"{count(found['files'], 'Python file')}; {found['hard']:,} ({share(found['hard'], found['functions'])}) have "
        f"a complexity above 10",
        f"Complexity of functions: up to 5: {bins[0]:,}, to 10: {bins[1]:,}, to 20: {bins[2]:,}, to 50: {bins[3]:,}, "
        f"more: {bins[4]:,}",
    ]
    if found["hard_to_change"]:
        hard = ", ".join(f"{place(row['file'])} {row['maintainability']:.0f}" for row in found["hard_to_change"][:6])
        lines.append(f"Lowest maintainability index (0 to 100): {hard}")
    if found["long_functions"]:
        long = ", ".join(
            f"{place(row['file'], row['line'])} {code(row['name'])} {row['lines']:,}"
            for row in found["long_functions"][:6]
        )
        lines.append(f"Longest functions, in lines: {long}")
    lines += _unused(found)
    if found["guessed"]:
        lines.append(
            f"Read as Latin-1, because the declared encoding does not fit: {', '.join(map(place, found['guessed']))}"
        )
    head = ("Where", "Function", "Complexity", "Cognitive", "Nesting", "Lines")
    note = (
        f"\nNesting, cognitive complexity and unused names come from the {found['thorough']:,} of {found['files']:,} "
        f"files that were parsed thoroughly.\n"
    )
    return bullets(lines) + "\n" + table(head, functions) + note


def _unused(found: Section) -> list[str]:
    lines = []
    if found["unused_imports"]["total"]:
        items = ", ".join(
            f"{place(r['file'], r['line'])} {code(r['name'])}" for r in found["unused_imports"]["items"][:12]
        )
        lines.append(f"Unused imports ({found['unused_imports']['total']:,}): {items}")
    if found["unused_arguments"]["total"]:
        items = ", ".join(
            f"{place(r['file'], r['line'])} {code(r['function'])}({code(r['name'])})"
            for r in found["unused_arguments"]["items"][:8]
        )
        lines.append(f"Unused parameters ({found['unused_arguments']['total']:,}): {items}")
    return lines


def hazards(found: Section) -> str:
    """Findings by severity, with their place."""
    parts = []
    for severity, totals in found["totals"].items():
        rows = [row for row in found["findings"] if row["severity"] == severity]
        kinds = ", ".join(f"{prose(rule)} {n:,}" for rule, n in totals.items())
        listed = f"Rules: {kinds}" if kinds else "Nothing found."
        parts.append(f"### {severity.capitalize()}: {sum(totals.values()):,}\n\n{listed}\n\n")
        cells = [(place(row["file"], row["line"]), prose(row["rule"]), prose(row["what"])) for row in rows]
        parts.append(table(("Where", "Rule", "What"), cells) + "\n")
    parts.append("At most 6 of one rule are listed; the counts are of all.\n")
    return "".join(parts)


def copies(found: Section) -> str:
    """Copied passages, the longest first."""
    rows = [(row["tokens"], _passage(row["left"]), _passage(row["right"])) for row in found["items"]]
    if not rows:
        return f"No passage of 100 tokens or more stands twice in {count(found['files'], 'file')}.\n"
    stand = "stands" if found["copies"] == 1 else "stand"
    lead = (
        f"{count(found['copies'], 'passage')} of 100 tokens or more {stand} in two places, "
        f"{found['copied_lines']:,} lines in all ({found['compared']:,} pairs of files compared).\n\n"
    )
    return lead + table(("Tokens", "Here", "And here"), rows)


def _passage(where: list[Any]) -> str:
    file, first, last = where
    return code(f"{file}:{first}-{last}")


def dependencies(found: Section) -> str:
    """What is declared, what is imported, licences, and how the modules depend on each other."""
    outside = ", ".join(f"{code(name)} ({n})" for name, n in list(found["outside"].items())[:15])
    licences = ", ".join(f"{place(row['file'])} {prose(row['licence'])}" for row in found["licences"][:8])
    spdx = ", ".join(f"{prose(name)} ({n})" for name, n in found["spdx"].items())
    manifests = ", ".join(map(place, found["manifests"][:8]))
    lines = [f"Declared: {found['declared']:,} in {manifests}" if manifests else "No manifest declares dependencies"]
    lines.append(f"Imported from outside (files): {outside}" if outside else "Nothing is imported from outside")
    for key, words in (
        ("undeclared", "Imported but declared nowhere"),
        ("unseen", "Declared but never imported (plugins and tools may be meant)"),
        ("loose", "Any version will do for"),
        ("twice", "Declared with different conditions"),
    ):
        if found[key]:
            lines.append(f"{words}: {', '.join(map(code, found[key]))}")
    lines.append(f"Licences: {licences}" if licences else "No licence file")
    lines += [f"SPDX tags: {spdx}"] if spdx else []
    central = ", ".join(f"{place(row['file'])} by {row['by']}" for row in found["most_imported"][:6])
    lines += [f"Most imported: {central}"] if central else []
    if found["cycle_count"]:
        lines.append(f"Import cycles ({found['cycle_count']}):")
    return bullets(lines) + "".join(f"  - {_cycle(cycle)}\n" for cycle in found["cycles"][:6])


def _cycle(cycle: list[str]) -> str:
    return " ↔ ".join(map(place, cycle[:5])) + _more(len(cycle) - 5)


def documentation(found: Section) -> str:
    """What is documented, what is not, and what is documented wrongly."""
    covered = share(found["documented"], found["public"])
    lines = [
        f"{count(found['prose_files'], 'text')} with {found['words']:,} words",
        f"Docstrings on {found['documented']:,} of {found['public']:,} public functions ({covered}) and on "
        f"{found['module_docstrings']:,} of {count(found['python_files'], 'module')}; "
        f"{count(found['examples'], 'doctest line')}",
    ]
    absent = {"readme": "readme", "licen[cs]e|copying": "licence", "changelog|changes|history|news": "changelog"}
    if found["absent"]:
        lines.append(f"Not at the top: {', '.join(absent[what] for what in found['absent'])}")
    if found["bare"]:
        bare = ", ".join(
            f"{place(row['file'], row['line'])} {code(row['name'])} ({row['lines']} lines)"
            for row in found["bare"][:10]
        )
        lines.append(f"Longest public functions without a docstring: {bare}")
    rows = [(place(row["file"], row["line"]), prose(row["what"])) for row in found["problems"][:20]]
    return (
        bullets(lines)
        + (f"\n{count(found['problem_count'], 'thing is', 'things are')} wrong:\n\n" if rows else "")
        + table(("Where", "What"), rows)
    )


def history(found: Section, metrics: Section | None) -> str:
    """How the folder came to be, and which complex files change most."""
    if "why_not" in found:
        return f"No history was read: {prose(found['why_not'])}.\n"
    lines = [
        f"{count(found['commits'], 'commit')} by {count(found['authors'], 'author')} from {_day(found['first_s'])} to "
        f"{_day(found['last_s'])}{'' if found['all_read'] else ' (older ones were not read)'}; "
        f"{found['last_90_days']:,} in the last 90 days of work",
        f"The busiest author made {found['busiest_author_share']:.0%}; {found['one_author_files']:,} of "
        f"{found['files']:,} files were only ever touched by one person",
    ]
    rows = [
        (place(row["file"]), row["commits"], row["lines"], complexity or "–")
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
    """Files that a worker could not deal with, and who said so."""
    by_file: dict[tuple[str, str], list[str]] = {}
    for found in sections:
        for failure in found.get("failures", ()):
            by_file.setdefault((failure["file"], _reason(failure)), []).append(found["section"])
    rows = [(place(file), prose(error), ", ".join(names)) for (file, error), names in sorted(by_file.items())]
    cut = [
        f"**{found['section']}** was cancelled before it had seen every file."
        for found in sections
        if found.get("cut_short")
    ]
    total = sum(found.get("failure_count", 0) for found in sections)
    listed = sum(len(found.get("failures", ())) for found in sections)
    if not rows and not cut:
        return "Nothing failed.\n"
    return bullets(cut) + table(("File", "What went wrong", "Seen by"), rows) + _rest(total - listed, "failure")


def _reason(failure: dict[str, str]) -> str:
    """An error text without the name of the file in front, so that all sections say the same."""
    return failure["error"].removeprefix(f"{failure['file']}: ")[:300]


def _day(at_s: int) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(at_s))


def _more(number: int) -> str:
    return f" and {number:,} more" if number > 0 else ""


def _rest(number: int, word: str, many: str = "") -> str:
    return f"\n… and {count(number, word, many)} more.\n" if number > 0 else ""
