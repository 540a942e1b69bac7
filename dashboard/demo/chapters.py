"""The chapters of the report, one function each: from the entries of the workers to a headline and Markdown. Pure."""

import sys
import time
from collections import Counter
from collections.abc import Iterable
from typing import Any, TypeAlias

from dashboard.demo.files import AuditedFiles
from dashboard.demo.imports import cycles, module_name, nearest
from dashboard.demo.markdown import bullets, code, place, prose, share, size, table
from engine.core.records.values import pluralize

Entries: TypeAlias = list[dict[str, Any]]
_AT_THE_TOP = {"readme": (), "licence": ("license", "copying"), "changelog": ("changes", "history", "news")}
MAX_SKIPPED = 120
MAX_OF_A_RULE = 6
"""Findings of one rule that are listed."""


def _listed(title: str, cells: Iterable[str]) -> list[str]:
    """One line with all cells under a title; no line without cells."""
    text = ", ".join(cells)
    return [f"{title}: {text}"] if text else []


def _at(row: dict[str, Any]) -> str:
    return place(row["file"], row.get("line"))


def _alike(entries: Entries) -> str:
    rows = sorted((row for entry in entries for row in entry.get("alike", ())), key=lambda row: -row["share"])[:12]
    sides = [[f"{code(name)} {place(file, line)}" for file, name, line in (row["left"], row["right"])] for row in rows]
    cells = [(f"{row['share']:.0%}", *side) for row, side in zip(rows, sides, strict=True)]
    return f"\n### Nearly alike\n\n{table(('Alike', 'Here', 'And here'), cells)}" if cells else ""


def what_is_here(entries: Entries, listing: AuditedFiles) -> dict[str, Any]:
    """Files, languages, the largest files, and what is odd about their bytes."""
    languages: dict[str, Counter[str]] = {}
    for entry in entries:
        counts = {"files": 1} | {key: entry[key] for key in ("lines", "comments", "bytes")}
        languages.setdefault(entry["language"], Counter()).update(counts)
    by_size = sorted(entries, key=lambda entry: (-entry["bytes"], entry["file"]))
    same: dict[str, list[str]] = {}
    for entry in entries:
        if "sha" in entry and entry["bytes"] > 100:
            same.setdefault(entry["sha"], []).append(entry["file"])
    number, total = pluralize(len(entries), "file"), sum(languages.values(), Counter[str]())
    numbers = f"{total['lines']:,} lines, {size(total['bytes'])}"
    lines = [
        f"{number}, {numbers}",
        *_listed("Largest", (f"{_at(entry)} {size(entry['bytes'])}" for entry in by_size[:5])),
        *_listed("Encodings", (f"{prose(name)} {n:,}" for name, n in Counter(e["encoding"] for e in entries).items())),
        *(f"Same content: {', '.join(map(place, sorted(files)[:4]))}" for files in same.values() if len(files) > 1),
        f"{sum('sha' in entry for entry in entries):,} of {number} were read thoroughly",
    ]
    ranked = sorted(languages.items(), key=lambda item: (-item[1]["bytes"], item[0]))[:12]
    rows = [
        (prose(name), *(f"{n[key]:,}" for key in ("files", "lines", "comments")), size(n["bytes"]))
        for name, n in ranked
    ]
    notes = [(_at(entry), prose(note)) for entry in entries for note in entry["notes"]]
    odd = f"\n### Odd files\n\n{table(('File', 'What'), sorted(notes)[:20])}" if notes else ""
    return {
        "headline": f"**Read:** {number}, {numbers}, mostly {prose(ranked[0][0]) if ranked else 'nothing'}; "
        f"{pluralize(len(listing.skipped), 'entry', 'entries')} skipped",
        "text": table(("Language", "Files", "Lines", "Comments", "Size"), rows) + "\n" + bullets(lines) + odd,
        "skipped": skipped(listing.skipped),
    }


def skipped(entries: list[tuple[str, str]]) -> str:
    """What was not read, and why: every reason, and the names as far as they fit."""
    if not entries:
        return "Nothing was skipped.\n"
    reasons = bullets(f"{prose(reason)}: {n:,}" for reason, n in Counter(reason for _, reason in entries).items())
    rows = table(("Name", "Why"), [(code(name), prose(reason)) for name, reason in entries[:MAX_SKIPPED]])
    rest = len(entries) - MAX_SKIPPED
    return f"{reasons}\n{rows}" + (f"\n… and {pluralize(rest, 'entry', 'entries')} more.\n" if rest > 0 else "")


def hot_spots(entries: Entries, generated: Iterable[str] = ()) -> dict[str, Any]:
    """Functions and files that are hard to change."""
    tops = [{"file": entry["file"], **row} for entry in entries for row in entry["top"]]
    hot = sorted(tops, key=lambda row: (-row["complexity"], -row["lines"], row["file"], row["line"]))[:20]
    longest = sorted(tops, key=lambda row: (-row["lines"], row["file"], row["line"]))[:6]
    functions, classes, hard = (sum(entry[key] for entry in entries) for key in ("functions", "classes", "hard"))
    bins = [sum(entry["bins"][at] for entry in entries) for at in range(5)]
    thorough = [entry for entry in entries if entry["depth"] == "thorough"]
    lines = [
        f"{pluralize(functions, 'function')} and {pluralize(classes, 'class', 'classes')} in "
        f"{pluralize(len(entries), 'Python file')}; {hard:,} ({share(hard, functions)}) have a complexity above 10",
        "Complexity of functions: up to 5: {:,}, to 10: {:,}, to 20: {:,}, to 50: {:,}, more: {:,}".format(*bins),
        *_listed("Longest functions, in lines", (f"{_at(r)} {code(r['name'])} {r['lines']:,}" for r in longest)),
        *_listed("Read as Latin-1", (_at(entry) for entry in thorough if entry["guessed"])),
        *_listed("Left out as generated", map(code, generated)),
        f"Nesting and cognitive complexity are of the {len(thorough):,} files that were parsed thoroughly",
    ]
    head = ("Where", "Function", "Complexity", "Cognitive", "Nesting", "Lines")
    rows = [
        (
            _at(row),
            code(row["name"]),
            row["complexity"],
            row.get("cognitive", "–"),
            row.get("nesting", "–"),
            row["lines"],
        )
        for row in hot
    ]
    headline = (
        ""
        if not hot
        else (
            f"**Refactor first:** {code(hot[0]['name'])} in {_at(hot[0])}, complexity {hot[0]['complexity']}, "
            f"{hot[0]['lines']:,} lines; {hard:,} of {functions:,} functions are above 10"
        )
    )
    hot_files = sorted(entries, key=lambda entry: (-entry["complexity"], entry["file"]))[:80]
    return {
        "headline": headline,
        "text": bullets(lines) + "\n" + table(head, rows) + _alike(thorough),
        "hot_files": {entry["file"]: entry["complexity"] for entry in hot_files},
    }


def hazards(entries: Entries) -> dict[str, Any]:
    """Findings by rule, with their place; the rare rules first."""
    totals = Counter[str]()
    for entry in entries:
        totals.update(entry["counts"])
    by_rule: dict[str, list[tuple[str, str, str]]] = {}
    for entry in sorted(entries, key=lambda entry: str(entry["file"])):
        for rule, line, text in entry["findings"]:
            by_rule.setdefault(rule, []).append((place(entry["file"], line), prose(rule), prose(text)))
    ranked = sorted(by_rule, key=lambda rule: (totals[rule], rule))
    rows = [row for rule in ranked for row in by_rule[rule][:MAX_OF_A_RULE]]
    kinds = ", ".join(f"{prose(rule)} {n:,}" for rule, n in totals.most_common())
    worst = "; ".join(f"{where} {text}" for where, _, text in (by_rule[rule][0] for rule in ranked[:3]))
    return {
        "headline": f"**Hazards:** {totals.total():,}. {worst}" if rows else "**Hazards:** no rule matched",
        "text": f"By rule: {kinds or 'none'}; at most {MAX_OF_A_RULE} of each are listed.\n\n"
        + table(("Where", "Rule", "What"), rows),
    }


def copies(entries: Entries, compared: Entries) -> dict[str, Any]:
    """Functions that stand in two places, the longest first, and those that are nearly alike."""
    rows = []
    for left, *others in same_functions(entries):
        (file, name, first, last), (other, _, start, end) = left, others[0]
        rows.append((last - first + 1, code(name), code(f"{file}:{first}-{last}"), code(f"{other}:{start}-{end}")))
    rows.sort(key=lambda row: (-row[0], row[2]))
    lead = f"{pluralize(len(rows), 'function')} of six lines or more in two places.\n\n"
    pairs = sum(entry["pairs"] for entry in compared)
    return {
        "headline": "**Copied code:** {1} of {0:,} lines is {2} and {3}".format(*rows[0]) if rows else "",
        "text": lead
        + table(("Lines", "Function", "Here", "And here"), rows[:20])
        + f"\n{pluralize(pairs, 'pair')} of functions in different files were compared.\n"
        + _alike(compared),
    }


def same_functions(entries: Entries) -> list[list[tuple[str, str, int, int]]]:
    """Groups of functions of one digest in two files or more: file, name, first and last line."""
    groups: dict[str, list[tuple[str, str, int, int]]] = {}
    for entry in sorted(entries, key=lambda entry: str(entry["file"])):
        for digest, name, first, last in entry["functions"]:
            groups.setdefault(digest, []).append((entry["file"], name, first, last))
    return [group for group in groups.values() if len({file for file, *_ in group}) > 1]


def dependencies(entries: Entries) -> dict[str, Any]:
    """What is imported from outside, and how the folder's own modules depend on each other."""
    modules = {module_name(entry["file"]): entry["file"] for entry in entries}
    graph: dict[str, set[str]] = {}
    outside = Counter[str]()
    for entry in entries:
        name = module_name(entry["file"])
        targets = {
            imported: nearest(imported, name.rpartition(".")[0], modules)
            for imported in (*entry["always"], *entry["later"])
        }
        graph[name] = {targets[imported] for imported in entry["always"]} - {"", name}
        outside.update({imported.partition(".")[0] for imported, own in targets.items() if not own})
    own = {name.partition(".")[0] for name in modules} | set(sys.stdlib_module_names)
    ranked = [(name, n) for name, n in outside.most_common() if name not in own]
    most_imported = Counter(target for targets in graph.values() for target in targets).most_common(6)
    circles = cycles(graph)
    lines = [
        *(
            _listed("Imported from outside (files)", (f"{code(name)} ({n})" for name, n in ranked[:15]))
            or ["Nothing is imported from outside"]
        ),
        *_listed("Most imported", (f"{place(modules[name])} by {n}" for name, n in most_imported)),
        *([f"Import cycles ({len(circles)}):"] if circles else ()),
    ]
    paths = [" ↔ ".join(place(modules[name]) for name in circle[:5]) for circle in circles[:6]]
    return {
        "headline": pluralize(len(circles), "import cycle") if circles else "",
        "text": bullets(lines) + "".join(f"  - {path}\n" for path in paths),
    }


def documentation(entries: Entries, names: list[str]) -> dict[str, Any]:
    """What is documented, what is not, and what is documented wrongly; `names` are of every file."""
    texts = [entry for entry in entries if entry["kind"] == "prose"]
    python = [entry for entry in entries if entry["kind"] == "python"]
    public, documented, modules = (sum(entry[key] for entry in python) for key in ("public", "documented", "module"))
    problems = [(place(entry["file"], line), prose(text)) for entry in entries for line, text in entry["problems"]]
    bare = sorted((-n, entry["file"], line, name) for entry in python for line, name, n in entry["bare"])
    tops = {name.lower().partition(".")[0] for name in names if "/" not in name}
    absent = [label for label, others in _AT_THE_TOP.items() if not tops & {label, *others}]
    lines = [
        f"{pluralize(len(texts), 'text')} with {sum(entry['words'] for entry in texts):,} words",
        f"Docstrings on {documented:,} of {public:,} public functions ({share(documented, public)}) and on "
        f"{modules:,} of {pluralize(len(python), 'module')}",
        *_listed("Not at the top", absent),
        *_listed(
            "Longest public functions without a docstring",
            (f"{place(file, line)} {code(name)} ({-n} lines)" for n, file, line, name in bare[:10]),
        ),
    ]
    wrong = pluralize(len(problems), "dead link or wrong docstring", "dead links and wrong docstrings")
    parts = [f"{share(documented, public)} of public functions have a docstring", *([wrong] if problems else ())]
    # Dead links first: readers meet them.
    problems.sort(key=lambda row: (not row[1].startswith("dead"), row[0]))
    return {
        "headline": f"**To know:** {'; '.join(parts)}",
        "text": bullets(lines) + "\n" + table(("Where", "What"), problems[:20]),
    }


def history(summary: dict[str, Any], complexity: dict[str, int]) -> str:
    """How the folder came to be, and which complex files change most."""
    if "why_not" in summary:
        return f"No history was read: {prose(summary['why_not'])}.\n"
    first, last = (time.strftime("%Y-%m-%d", time.gmtime(summary[key])) for key in ("first_s", "last_s"))
    lines = [
        f"{pluralize(summary['commits'], 'commit')} by {pluralize(summary['authors'], 'author')} from {first} to {last}"
        f"{'' if summary['all_read'] else ' (older ones were not read)'}; {summary['last_90_days']:,} in the last 90 "
        "days of work",
        f"The busiest author made {summary['busiest_author_share']:.0%}; {summary['one_author_files']:,} of "
        f"{summary['files']:,} files were only ever touched by one person",
        *(
            f"{place(row['left'])} and {place(row['right'])} changed together {row['commits']} times "
            f"({row['share']:.0%})"
            for row in summary["together"]
        ),
    ]
    rows = [
        (_at(row), row["commits"], row["lines"], complexity.get(row["file"], "–"))
        for row in churn_by_complexity(summary, complexity)[:12]
    ]
    return bullets(lines) + "\n" + table(("File", "Commits", "Changed lines", "Complexity"), rows)


def churn_by_complexity(summary: dict[str, Any], complexity: dict[str, int]) -> Entries:
    """Files by commits times complexity, the ones where bugs are bred first; without complexity, by commits."""
    return sorted(
        summary.get("churn", []),
        key=lambda row: (-row["commits"] * complexity.get(row["file"], 0), -row["commits"], row["file"]),
    )


def failures(sections: Iterable[dict[str, Any]]) -> str:
    """Files that a worker could not process, and the sections that report them."""
    by_file: dict[tuple[str, str], list[str]] = {}
    cut_short = []
    for section in sections:
        if section.get("cut_short"):
            cut_short.append(f"**{section['section']}** ended before the last file: time was up, or it was cancelled.")
        for failure in section.get("failures", ()):
            # Without the name of the file in front, so that all sections say the same.
            reason = failure["error"].removeprefix(f"{failure['file']}: ")[:300]
            by_file.setdefault((failure["file"], reason), []).append(section["section"])
    rows = [(place(file), prose(error), ", ".join(names)) for (file, error), names in sorted(by_file.items())]
    text = bullets(cut_short) + table(("File", "What went wrong", "Seen by"), rows)
    return text or "Nothing failed.\n"
