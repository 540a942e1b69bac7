"""The chapters of the report, one function each: from the entries of the workers to a headline and Markdown. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from dashboard.demo.markdown import bullets, code, prose, table
from dashboard.views.words.amounts import percent, pluralize, size

Entries: TypeAlias = list[dict[str, Any]]
Chapter: TypeAlias = dict[str, Any]
MAX_COMMITS = 3_000
"""Older commits are not read, and the chapter says so."""
MAX_NAMES = 20
"""Names of one kind that are listed."""


def _list_names(title: str, names: Sequence[str]) -> list[str]:
    """One line with names under a title; no line without names."""
    more = f", and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return [f"{title}: {', '.join(map(code, names[:MAX_NAMES]))}{more}"] if names else []


def _total(entries: Entries, key: str) -> int:
    return sum(entry[key] for entry in entries)


def what_is_here(entries: Entries, skipped: Sequence[str]) -> Chapter:
    """Kinds of files, and what is odd about their bytes."""
    by_kind: dict[str, Entries] = {}
    by_content: dict[str, list[str]] = {}
    by_encoding: dict[str, list[str]] = {}
    for entry in sorted(entries, key=lambda entry: str(entry["file"])):
        by_kind.setdefault(entry["kind"] or "no suffix", []).append(entry)
        by_encoding.setdefault(entry["encoding"], []).append(entry["file"])
        if "sha" in entry and entry["bytes"] > 100:
            by_content.setdefault(entry["sha"], []).append(entry["file"])
    ranked = sorted(by_kind.items(), key=lambda item: (-_total(item[1], "bytes"), item[0]))
    rows = [(code(kind), len(some), _total(some, "lines"), size(_total(some, "bytes"))) for kind, some in ranked[:12]]
    encodings = ", ".join(f"{prose(name)} {len(names):,}" for name, names in by_encoding.items())
    lines = [
        f"Encodings: {encodings or 'none'}",
        *_list_names("Neither UTF-8 nor the declared encoding", by_encoding.get("unknown", [])),
        *(line for same in by_content.values() if same[1:] for line in _list_names("Same content", same)),
        *_list_names("Skipped, because they are no files or cannot be read", skipped),
    ]
    return {
        "headline": f"**Read:** {pluralize(len(entries), 'file')}, {_total(entries, 'lines'):,} lines, "
        f"{size(_total(entries, 'bytes'))}; {len(skipped):,} skipped",
        "text": table(("Kind", "Files", "Lines", "Size"), rows) + f"\n{bullets(lines)}",
    }


def hot_spots(entries: Entries, generated: Sequence[str] = ()) -> Chapter:
    """Functions and files that are hard to change."""
    tops = [{"file": entry["file"], **row} for entry in entries for row in entry["top"]]
    hot = sorted(tops, key=lambda row: (-row["complexity"], -row["lines"], row["file"], row["line"]))[:20]
    functions, hard = _total(entries, "functions"), _total(entries, "hard")
    lines = [
        f"{pluralize(functions, 'function')} and {pluralize(_total(entries, 'classes'), 'class', 'classes')} in "
        f"{pluralize(len(entries), 'Python file')}; {hard:,} ({percent(hard / max(1, functions))}) have a complexity "
        "above 10",
        *_list_names("Read as Latin-1", sorted(entry["file"] for entry in entries if "guessed" in entry)),
        *_list_names("Left out as generated", generated),
    ]
    rows = [(code(f"{row['file']}:{row['line']}"), code(row["name"]), row["complexity"], row["lines"]) for row in hot]
    return {
        "headline": "".join(
            f"**Refactor first:** {name} in {place}, complexity {complexity}, {length:,} lines; {hard:,} of "
            f"{functions:,} functions are above 10"
            for place, name, complexity, length in rows[:1]
        ),
        "text": f"{bullets(lines)}\n" + table(("Where", "Function", "Complexity", "Lines"), rows),
    }


def used_names(entries: Entries) -> Chapter:
    """Public functions and classes that are mentioned everywhere, and those that no other file mentions."""
    rows = [(entry["file"], row) for entry in entries for row in entry["names"]]
    names = sorted((-row["files"], file, row["line"], row["name"]) for file, row in rows)
    unused = [f"{file}:{line} {name}" for n, file, line, name in names if n >= -1]
    most = [(code(f"{file}:{line}"), code(name), -n) for n, file, line, name in names[:12]]
    return {
        "headline": f"**Mentioned in no other file:** {len(unused):,} of {len(names):,} public functions and classes",
        "text": bullets(_list_names("Mentioned in no other file", unused))
        + "\n"
        + table(("Where", "Name", "Files"), most),
    }


def documentation(entries: Entries) -> Chapter:
    """What is documented and what is not."""
    texts = [entry for entry in entries if entry["kind"] == "prose"]
    python = [entry for entry in entries if entry["kind"] == "python"]
    public, documented = _total(python, "public"), _total(python, "documented")
    bare = sorted((-n, f"{entry['file']}:{line} {name}") for entry in python for n, line, name in entry["bare"])
    share = percent(documented / public if public else None)
    lines = [
        f"{pluralize(len(texts), 'text')} with {_total(texts, 'words'):,} words",
        f"Docstrings on {documented:,} of {public:,} public functions ({share})",
        *_list_names("Longest public functions without a docstring", [place for _, place in bare[:10]]),
    ]
    return {"headline": f"**To know:** {share} of public functions have a docstring", "text": bullets(lines)}


def history(commits: Sequence[str], files: Sequence[str]) -> Chapter:
    """Who worked on a folder and when, by date and author of each commit, and the files that change most."""
    if not files:
        return {"headline": "", "text": "No commit touches this folder.\n"}
    dates, authors = zip(*(commit.split(" ", 1) for commit in commits), strict=True)
    people = pluralize(len(set(authors)), "author")
    older = " (older ones were not read)" if len(commits) >= MAX_COMMITS else ""
    rows = [(code(file), n) for file, n in Counter(files).most_common(12)]
    return {
        "headline": f"Changes most: {rows[0][0]} ({pluralize(rows[0][1], 'commit')})",
        "text": f"- {pluralize(len(commits), 'commit')} by {people} from {min(dates)} to {max(dates)}{older}\n\n"
        + table(("File", "Commits"), rows),
    }


def failures(sections: Iterable[dict[str, Any]]) -> str:
    """Files that a worker could not process, and the sections that report them."""
    by_file: dict[tuple[str, str], list[str]] = {}
    cut_short = []
    for section in sections:
        if section.get("cut_short"):
            cut_short.append(f"**{section['section']}** ended before the last file: time was up, or it was cancelled.")
        for failure in section.get("failures", ()):
            by_file.setdefault((failure["file"], failure["error"][:300]), []).append(section["section"])
    rows = [(code(file), prose(error), ", ".join(names)) for (file, error), names in sorted(by_file.items())]
    parts = [bullets(cut_short), table(("File", "What went wrong", "Seen by"), rows)]
    return "\n".join(filter(None, parts)) or "Nothing failed.\n"
