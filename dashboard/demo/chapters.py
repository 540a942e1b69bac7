"""The chapters of the report, one function each: from the entries of the workers to a headline and Markdown. Pure."""

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from dashboard.demo.checks import module_name
from dashboard.demo.files import AuditedFiles
from dashboard.demo.markdown import bullets, code, place, prose, share, size, table
from engine.core.records.values import pluralize

Entries: TypeAlias = list[dict[str, Any]]
Chapter: TypeAlias = dict[str, Any]
_AT_THE_TOP = {"readme": (), "licence": ("license", "copying"), "changelog": ("changes", "history", "news")}
MAX_SKIPPED = 120
MAX_OF_A_RULE = 6
"""Findings of one rule that are listed."""


def _listed(title: str, cells: Iterable[str]) -> list[str]:
    """One line with all cells under a title; no line without cells."""
    text = ", ".join(cells)
    return [f"{title}: {text}"] if text else []


def _total(entries: Entries, key: str) -> int:
    return sum(entry[key] for entry in entries)


def what_is_here(entries: Entries, listing: AuditedFiles) -> Chapter:
    """Files, languages, and what is odd about their bytes."""
    by_language: dict[str, Entries] = {}
    by_content: dict[str, list[str]] = {}
    for entry in entries:
        by_language.setdefault(entry["language"], []).append(entry)
        if "sha" in entry and entry["bytes"] > 100:
            by_content.setdefault(entry["sha"], []).append(entry["file"])
    ranked = sorted(by_language.items(), key=lambda item: (-_total(item[1], "bytes"), item[0]))[:12]
    rows = [
        (prose(name), len(some), _total(some, "lines"), _total(some, "comments"), size(_total(some, "bytes")))
        for name, some in ranked
    ]
    files = pluralize(len(entries), "file")
    numbers = f"{files}, {_total(entries, 'lines'):,} lines, {size(_total(entries, 'bytes'))}"
    encodings = Counter(entry["encoding"] for entry in entries)
    lines = [
        *_listed("Encodings", (f"{prose(name)} {n:,}" for name, n in encodings.items())),
        *(f"Same content: {', '.join(map(place, sorted(same)[:4]))}" for same in by_content.values() if same[1:]),
        f"{sum('sha' in entry for entry in entries):,} of {files} were read thoroughly",
    ]
    notes = sorted((place(entry["file"]), prose(note)) for entry in entries for note in entry["notes"])[:20]
    skipped_entries = pluralize(len(listing.skipped), "entry", "entries")
    return {
        "headline": f"**Read:** {numbers}, mostly {prose(ranked[0][0]) if ranked else 'nothing'}; "
        f"{skipped_entries} skipped",
        "text": table(("Language", "Files", "Lines", "Comments", "Size"), rows)
        + f"\n{bullets(lines)}\n"
        + table(("Odd file", "What"), notes),
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


def hot_spots(entries: Entries, generated: Sequence[str] = ()) -> Chapter:
    """Functions and files that are hard to change."""
    tops = [{"file": entry["file"], **row} for entry in entries for row in entry["top"]]
    hot = sorted(tops, key=lambda row: (-row["complexity"], -row["lines"], row["file"], row["line"]))[:20]
    functions, hard = _total(entries, "functions"), _total(entries, "hard")
    thorough = [entry for entry in entries if entry["depth"] == "thorough"]
    lines = [
        f"{pluralize(functions, 'function')} and {pluralize(_total(entries, 'classes'), 'class', 'classes')} in "
        f"{pluralize(len(entries), 'Python file')}; {hard:,} ({share(hard, functions)}) have a complexity above 10",
        *_listed("Read as Latin-1", (place(entry["file"]) for entry in thorough if entry["guessed"])),
        *_listed("Left out as generated", map(code, generated)),
        f"Nesting is of the {len(thorough):,} files that were parsed thoroughly",
    ]
    rows = [
        (place(row["file"], row["line"]), code(row["name"]), row["complexity"], row.get("nesting", "–"), row["lines"])
        for row in hot
    ]
    return {
        "headline": "".join(
            f"**Refactor first:** {name} in {where}, complexity {complexity}, {length:,} lines; {hard:,} of "
            f"{functions:,} functions are above 10"
            for where, name, complexity, _, length in rows[:1]
        ),
        "text": f"{bullets(lines)}\n" + table(("Where", "Function", "Complexity", "Nesting", "Lines"), rows),
    }


def hazards(entries: Entries) -> Chapter:
    """Findings by rule, with their place; the rare rules first."""
    totals = Counter[str]()
    by_rule: dict[str, list[tuple[str, str, str]]] = {}
    for entry in sorted(entries, key=lambda entry: str(entry["file"])):
        totals.update(entry["counts"])
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


def copies(entries: Entries, compared: Entries) -> Chapter:
    """Functions that stand in two places, and lines that two files share, the longest first."""
    rows = []
    for (file, name, first, last), (other, _, start, end), *_ in same_functions(entries):
        rows.append((last - first + 1, code(name), code(f"{file}:{first}-{last}"), code(f"{other}:{start}-{end}")))
    rows.sort(key=lambda row: (-row[0], row[2]))
    blocks = sorted({tuple(block) for entry in compared for block in entry["blocks"]}, reverse=True)[:12]
    lines = [(n, place(file, line), place(other, start)) for n, file, line, other, start in blocks]
    return {
        "headline": "**Copied code:** {1} of {0:,} lines is {2} and {3}".format(*rows[0]) if rows else "",
        "text": f"{pluralize(len(rows), 'function')} of six lines or more in two places.\n\n"
        + table(("Lines", "Function", "Here", "And here"), rows[:20])
        + f"\n{pluralize(_total(compared, 'pairs'), 'pair')} of files were compared line by line.\n\n"
        + table(("Equal lines", "Here", "And here"), lines),
    }


def same_functions(entries: Entries) -> list[list[tuple[str, str, int, int]]]:
    """Groups of functions of one digest in two files or more: file, name, first and last line."""
    groups: dict[str, list[tuple[str, str, int, int]]] = {}
    for entry in sorted(entries, key=lambda entry: str(entry["file"])):
        for digest, *function in entry["functions"]:
            groups.setdefault(digest, []).append((entry["file"], *function))
    return [group for group in groups.values() if len({file for file, *_ in group}) > 1]


def dependencies(entries: Entries) -> Chapter:
    """What is imported from outside, and which of the folder's own modules import each other in a circle."""
    modules = {module_name(entry["file"]): entry["file"] for entry in entries}
    graph: dict[str, set[str]] = {}
    outside = Counter[str]()
    for entry in entries:
        name = module_name(entry["file"])
        targets = {
            imported: _nearest(imported, name.rpartition(".")[0], modules)
            for imported in (*entry["always"], *entry["later"])
        }
        graph[name] = {targets[imported] for imported in entry["always"]} - {"", name}
        outside.update({imported.partition(".")[0] for imported, own in targets.items() if not own})
    own = {name.partition(".")[0] for name in modules} | set(sys.stdlib_module_names)
    ranked = [f"{code(name)} ({n})" for name, n in outside.most_common() if name not in own]
    circles = cycles(graph)
    lines = _listed("Imported from outside (files)", ranked[:15]) or ["Nothing is imported from outside"]
    lines += [f"Import cycles ({len(circles)}):"] if circles else []
    paths = [" ↔ ".join(place(modules[name]) for name in circle[:5]) for circle in circles[:6]]
    return {
        "headline": pluralize(len(circles), "import cycle") if circles else "",
        "text": bullets(lines) + "".join(f"  - {path}\n" for path in paths),
    }


def _nearest(name: str, beside: str, modules: dict[str, str]) -> str:
    """Return the own module that a dotted name belongs to, or nothing; scripts import what lies beside them."""
    while name:
        for candidate in (name, f"{beside}.{name}"):
            if candidate in modules:
                return candidate
        name = name.rpartition(".")[0]
    return ""


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of modules that import each other in a circle, the smallest first; `graph` has what each imports."""
    importers: dict[str, set[str]] = {}
    for name, targets in graph.items():
        for target in targets:
            importers.setdefault(target, set()).add(name)
    groups, remaining = [], set(graph)
    for name in sorted(graph):
        if name in remaining:
            group = _reached(name, graph, remaining) & _reached(name, importers, remaining)
            remaining -= group
            groups.append(sorted(group))
    return sorted((group for group in groups if len(group) > 1), key=lambda group: (len(group), group))


def _reached(start: str, graph: dict[str, set[str]], within: set[str]) -> set[str]:
    reached, stack = {start}, [start]
    while stack:
        new = (graph.get(stack.pop(), set()) & within) - reached
        reached |= new
        stack += new
    return reached


def documentation(entries: Entries, names: list[str]) -> Chapter:
    """What is documented and what is not, and dead links; `names` are of every file."""
    texts = [entry for entry in entries if entry["kind"] == "prose"]
    python = [entry for entry in entries if entry["kind"] == "python"]
    public, documented = _total(python, "public"), _total(python, "documented")
    dead = [(place(entry["file"], line), prose(text)) for entry in texts for line, text in entry["dead"]]
    bare = sorted((-n, entry["file"], line, name) for entry in python for n, name, line in entry["bare"])[:10]
    tops = {name.lower().partition(".")[0] for name in names if "/" not in name}
    lines = [
        f"{pluralize(len(texts), 'text')} with {_total(texts, 'words'):,} words",
        f"Docstrings on {documented:,} of {public:,} public functions ({share(documented, public)}) and on "
        f"{_total(python, 'module'):,} of {pluralize(len(python), 'module')}",
        *_listed("Not at the top", (label for label, others in _AT_THE_TOP.items() if not tops & {label, *others})),
        *_listed(
            "Longest public functions without a docstring",
            (f"{place(file, line)} {code(name)} ({-n} lines)" for n, file, line, name in bare),
        ),
    ]
    links = f"; {pluralize(len(dead), 'dead link')}" if dead else ""
    return {
        "headline": f"**To know:** {share(documented, public)} of public functions have a docstring{links}",
        "text": f"{bullets(lines)}\n" + table(("Where", "What"), sorted(dead)[:20]),
    }


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
    parts = [bullets(cut_short), table(("File", "What went wrong", "Seen by"), rows)]
    return "\n".join(filter(None, parts)) or "Nothing failed.\n"
