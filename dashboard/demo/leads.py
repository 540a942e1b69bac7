"""The leads of the audit crew: each asks its question of the whole folder, one worker's answer at a time.

Every lead lists the files itself. A list in the journal would be longer than everything the crew finds, and files that
changed since are different work anyway.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio.to_thread

from dashboard.demo import dependencies, documentation, fingerprints, hazards, history, imports, parse, scan
from dashboard.demo.report import report, sections_in, with_summary
from dashboard.demo.scan import CODE, language_of
from dashboard.demo.source import SourceRefused, read_bytes
from dashboard.demo.walk import Listing, Target, target_of, walk
from engine.errors import DelegationFailed
from engine.runtimes.context import BlockingContext, Context
from engine.runtimes.task import Task

SHOWN_SKIPPED = 120
FOR_THE_EDITOR = 20_000
"""How many characters of a report an editor gets to sum up: about 5,000 tokens."""

_NOT_TEXT = frozenset(("SVG", "CSV", "Notebook", "other"))
WAVE = 48
"""Items handed out at once: enough to keep every worker busy, few enough that cancelling is quick."""
MAX_ITEMS = 1_200
"""Items a lead makes of one folder at most; larger folders get larger items."""


@dataclass(slots=True)
class Gathered:
    """What came back from all items of one kind."""

    entries: list[dict[str, Any]] = field(default_factory=list)
    failures: list[dict[str, str]] = field(default_factory=list)
    """`{"file", "error"}` each, from failed items and from failed files of items that came back."""
    items: int = 0
    cut_short: bool = False
    """Cancelled before every item was handed out."""


async def survey_of(task: Task) -> tuple[Target, Listing]:
    """Resolve the request and list the files, off the loop; raises RequestRefused if it names nothing in the folder."""

    def survey() -> tuple[Target, Listing]:
        target = target_of(str(task.request), str(task.folder))
        return target, walk(target.folder, target.under)

    return await anyio.to_thread.run_sync(survey)


async def gather(
    ctx: Context, capability: str, items: Sequence[dict[str, Any]], *, failed_as: Callable[[dict[str, Any]], str]
) -> Gathered:
    """Hand items to the agents of a capability, in waves, and collect what comes back.

    A result with "entries" adds each of them, another counts as one entry. `failed_as` names the file to blame when an
    item fails as a whole.
    """
    gathered = Gathered()
    for at in range(0, len(items), WAVE):
        if ctx.cancelled:
            gathered.cut_short = True
            break
        wave = items[at : at + WAVE]
        results = await ctx.map(capability, wave, return_failures=True)
        for item, result in zip(wave, results, strict=True):
            _sort_in(gathered, result, failed_as(item))
        gathered.items += len(wave)
        ctx.progress(gathered.items, len(items))
    return gathered


def _sort_in(gathered: Gathered, result: Any, file: str) -> None:
    """A failed item comes back in its place as an error with `reason`; a result is a mapping."""
    if not isinstance(result, Mapping):
        # What a worker raises begins with the file; without it, the same reason from several leads is one line.
        reason = str(getattr(result, "reason", result)).removeprefix(f"{file}: ")
        gathered.failures.append({"file": file, "error": reason})
    elif "entries" in result:
        gathered.entries += result["entries"]
        gathered.failures += result["failures"]
    else:
        gathered.entries.append(dict(result))


async def gather_files(ctx: Context, capability: str, target: Target, names: Sequence[str], *, batch: int) -> Gathered:
    """`gather` for plain files, `batch` in an item, or more where that would make more than MAX_ITEMS."""
    size = max(batch, -(-len(names) // MAX_ITEMS))
    items = []
    for at in range(0, len(names), size):
        files = list(names[at : at + size])
        title = f"{files[0]} and {len(files) - 1} more" if len(files) > 1 else files[0]
        items.append({"title": title, "folder": target.folder_text, "files": files})
    return await gather(ctx, capability, items, failed_as=lambda item: item["title"])


def section(name: str, gathered: Gathered, found: dict[str, Any]) -> dict[str, Any]:
    """The output of a lead: its findings under a name, with what failed."""
    failures = sorted(gathered.failures, key=lambda failure: failure["file"])
    return {
        "section": name,
        **found,
        "cut_short": gathered.cut_short,
        "failure_count": len(failures),
        "failures": failures[:40],
    }


async def mapper(task: Task, ctx: Context) -> dict[str, Any]:
    """What is here: files, languages, sizes, odd encodings, and what was skipped and why."""
    target, listing = await survey_of(task)
    ctx.emit(f"{len(listing.files)} files to read, {len(listing.skipped)} entries skipped\n")
    found = await gather_files(ctx, "scan", target, listing.names(), batch=8)
    summary = await anyio.to_thread.run_sync(lambda: scan.summary(found.entries, folders=len(listing.folders)))
    reasons = dict(Counter(each.reason for each in listing.skipped))
    items = [{"name": each.name, "reason": each.reason} for each in listing.skipped[:SHOWN_SKIPPED]]
    skipped = {"total": len(listing.skipped), "reasons": reasons, "items": items}
    return section("map", found, {"under": target.under, **summary, "skipped": skipped})


def historian(task: Task, ctx: BlockingContext) -> dict[str, Any]:
    """Git history: churn, authors, files that change together. Runs in a thread, because git is waited for."""
    target = target_of(str(task.request), str(task.folder))
    found: dict[str, Any] = ctx.step("read history", history.read, str(target.folder), target.under)
    return {"section": "history", **found}


async def librarian(task: Task, ctx: Context) -> dict[str, Any]:
    """Dependencies and licences: what is declared, what is imported, how modules hang together."""
    target, listing = await survey_of(task)
    found = await gather_files(ctx, "imports", target, listing.names(".py"), batch=12)
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
    names = [
        name
        for name in listing.names()
        if language_of(name) not in _NOT_TEXT or name.rpartition("/")[2].startswith(".env")
    ]
    found = await gather_files(ctx, "hazards", target, names, batch=5)
    return section("hazards", found, await anyio.to_thread.run_sync(hazards.summary, found.entries))


async def duplicate_finder(task: Task, ctx: Context) -> dict[str, Any]:
    """Copied passages: fingerprints of every file first, then the suspicious pairs token by token."""
    target, listing = await survey_of(task)
    names = [name for name in listing.names() if language_of(name) in CODE]
    found = await gather_files(ctx, "fingerprints", target, names, batch=5)
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
    found = await gather_files(ctx, "documentation", target, names, batch=8)
    everything = listing.names()
    summary = await anyio.to_thread.run_sync(lambda: documentation.summary(found.entries, names=everything))
    return section("documentation", found, summary)


async def writer(task: Task, ctx: Context) -> str:
    """The report, from whatever sections the rest of the crew has put out; an editor sums it up, where there is one."""
    text = await anyio.to_thread.run_sync(report, sections_in([each.output for each in task.inputs]))
    editor = task.options.get("editor")
    if isinstance(editor, str):
        text = with_summary(text, await _summary(ctx, editor, text))
    ctx.emit(text)
    return text


async def _summary(ctx: Context, editor: str, text: str) -> str:
    """Return what an agent that a model plays says of a report; why it says nothing, where it does not."""
    try:
        return str(await ctx.delegate(editor, text[:FOR_THE_EDITOR]))
    except DelegationFailed as failed:
        return f"No summary by {editor}: {failed}"
