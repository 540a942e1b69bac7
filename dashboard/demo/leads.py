"""The leads of the audit crew: each asks its question of the whole folder, one worker's answer at a time.

Every lead lists the files itself. A list in the journal would be longer than everything the crew finds, and files
that changed since are different work anyway.
"""

from typing import Any

import anyio.to_thread

from dashboard.demo import dependencies, documentation, fingerprints, hazards, history, imports, parse, scan
from dashboard.demo.gather import Context, Task, gather, gather_files, section, survey_of
from dashboard.demo.languages import CODE, language_of
from dashboard.demo.report import report, sections_in
from dashboard.demo.source import SourceRefused, read_bytes
from dashboard.demo.targets import Target, target_of
from dashboard.demo.walk import Listing

SCAN_BATCH = 8
HAZARD_BATCH = 5
PRINTS_BATCH = 5
IMPORTS_BATCH = 12
DOCUMENTATION_BATCH = 8
SHOWN_SKIPPED = 120

_NOT_CODE = frozenset(("SVG", "CSV", "Notebook"))


async def mapper(task: Task, ctx: Context) -> dict[str, Any]:
    """What is here: files, languages, sizes, odd encodings, and what was skipped and why."""
    target, listing = await survey_of(task)
    ctx.emit(f"{len(listing.files)} files to read, {len(listing.skipped)} entries skipped\n")
    found = await gather_files(ctx, "scan", target, listing.names(), batch=SCAN_BATCH)
    summary = await anyio.to_thread.run_sync(lambda: scan.summary(found.entries, folders=len(listing.folders)))
    return section("map", found, {"under": target.under, **summary, "skipped": _skipped(listing)})


def _skipped(listing: Listing) -> dict[str, Any]:
    reasons: dict[str, int] = {}
    for each in listing.skipped:
        reasons[each.reason] = reasons.get(each.reason, 0) + 1
    items = [{"name": each.name, "reason": each.reason} for each in listing.skipped[:SHOWN_SKIPPED]]
    return {"total": len(listing.skipped), "reasons": reasons, "items": items}


def historian(task: Task, ctx: Any) -> dict[str, Any]:
    """Git history: churn, authors, files that change together. Runs in a thread, because git is waited for."""
    target = target_of(task.request, task.folder)
    found: dict[str, Any] = ctx.step("read history", history.read, str(target.folder), target.under)
    return {"section": "history", **found}


async def librarian(task: Task, ctx: Context) -> dict[str, Any]:
    """Dependencies and licences: what is declared, what is imported, how modules hang together."""
    target, listing = await survey_of(task)
    found = await gather_files(ctx, "imports", target, listing.names(".py"), batch=IMPORTS_BATCH)
    summary = await anyio.to_thread.run_sync(imports.summary, found.entries)
    manifests = [name for name in listing.names() if dependencies.is_manifest(name)]
    declared = await anyio.to_thread.run_sync(dependencies.declared_in, target.folder_text, manifests)
    found.failures += declared["failures"]
    texts = await anyio.to_thread.run_sync(_licences, target, listing)
    compared = dependencies.compared(declared["items"], summary["outside"], firm=summary["firm"])
    return section("dependencies", found, {**summary, **compared, "licences": texts})


def _licences(target: Target, listing: Listing) -> list[dict[str, str]]:
    found = []
    for name in [name for name in listing.names() if dependencies.is_licence_file(name)][:40]:
        try:
            text = read_bytes(target.folder_text, name).decode("utf-8", "replace")
        except SourceRefused:
            continue
        found.append({"file": name, "licence": dependencies.licence_of(text)})
    return found


async def metrician(task: Task, ctx: Context) -> dict[str, Any]:
    """Metrics of every Python file, one file an item, so that one bad file fails alone."""
    target, listing = await survey_of(task)
    found = await gather_files(ctx, "parse", target, listing.names(".py"), batch=1)
    return section("metrics", found, await anyio.to_thread.run_sync(parse.summary, found.entries))


async def hazard_lead(task: Task, ctx: Context) -> dict[str, Any]:
    """Hazards in code and credentials in any text."""
    target, listing = await survey_of(task)
    names = [file.name for file in listing.files if _is_text(file.name)]
    found = await gather_files(ctx, "hazards", target, names, batch=HAZARD_BATCH)
    return section("hazards", found, await anyio.to_thread.run_sync(hazards.summary, found.entries))


def _is_text(name: str) -> bool:
    return language_of(name) not in _NOT_CODE | {"other"} or name.rpartition("/")[2].startswith(".env")


async def duplicate_finder(task: Task, ctx: Context) -> dict[str, Any]:
    """Copied passages: fingerprints of every file first, then the suspicious pairs token by token."""
    target, listing = await survey_of(task)
    names = [name for name in listing.names() if language_of(name) in CODE]
    found = await gather_files(ctx, "fingerprints", target, names, batch=PRINTS_BATCH)
    pairs = await anyio.to_thread.run_sync(fingerprints.suspects, found.entries)
    ctx.emit(f"{len(pairs)} pairs of files look alike\n")
    items = [{"title": f"{pair['left']} ~ {pair['right']}", "folder": target.folder_text, **pair} for pair in pairs]
    judged = await gather(ctx, "compare", items, failed_as=lambda item: item["left"])
    summary = await anyio.to_thread.run_sync(fingerprints.summary, found.entries, judged.entries)
    found.failures += judged.failures
    found.items += judged.items
    found.cut_short |= judged.cut_short
    return section("duplicates", found, summary)


async def doc_checker(task: Task, ctx: Context) -> dict[str, Any]:
    """Documentation: readme, dead links, docstrings that are missing or lie."""
    target, listing = await survey_of(task)
    names = listing.names(".py", *documentation.PROSE)
    found = await gather_files(ctx, "documentation", target, names, batch=DOCUMENTATION_BATCH)
    everything = listing.names()
    summary = await anyio.to_thread.run_sync(lambda: documentation.summary(found.entries, names=everything))
    return section("documentation", found, summary)


async def writer(task: Task, ctx: Context) -> str:
    """The report, from whatever sections the rest of the crew has put out."""
    text = await anyio.to_thread.run_sync(report, sections_in([each.output for each in task.inputs]))
    ctx.emit(text)
    return text
