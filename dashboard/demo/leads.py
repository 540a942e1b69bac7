"""The leads of the audit crew: each examines one aspect of the folder, and delegates the files to workers.

Every lead lists the files itself. A list in the journal would be longer than everything the crew finds, and files that
changed since are different work anyway.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import anyio.to_thread

from dashboard.demo import dependencies, documentation, fingerprints, hazards, history, imports, likeness, parse, scan
from dashboard.demo.gathering import Clock, Gathered, gather, in_order, together
from dashboard.demo.generated import generated_among
from dashboard.demo.report import report, sections_in, with_summary
from dashboard.demo.scan import CODE, language_of
from dashboard.demo.source import SourceRefused, read_bytes
from dashboard.demo.walk import Listing, Target, target_of, walk
from engine.core.records.values import counted
from engine.errors import DelegationFailed
from engine.runtimes.functions.context import BlockingContext, Context
from engine.runtimes.functions.task import Task

SHOWN_SKIPPED = 120
FOR_THE_EDITOR = 20_000
"""How many characters of a report an editor gets to sum up: about 5,000 tokens."""

_NOT_TEXT = frozenset(("SVG", "CSV", "Notebook", "other"))
ASK_S = 120.0
"""How long a person has to answer."""
LEAVE_OUT, MEASURE = "leave them out", "measure them too"
MAX_ITEMS = 1_200
"""Items a lead makes of one folder at most; larger folders get larger items."""


async def survey_of(task: Task, ctx: Context) -> tuple[Target, Listing, Clock]:
    """Resolve the request and list the files, off the loop; raises RequestRefused if it names nothing in the folder."""

    def survey() -> tuple[Target, Listing]:
        target = target_of(str(task.request), str(task.folder))
        return target, walk(target.folder, target.under)

    return *await anyio.to_thread.run_sync(survey), Clock(ctx)


async def gather_files(
    ctx: Context, capability: str, target: Target, names: Sequence[str], *, batch: int, clock: Clock
) -> Gathered:
    """`gather` for plain files, `batch` in an item, or more where all of them would make more than MAX_ITEMS."""
    names = in_order(ctx, names)
    size = batch if clock.has_end else max(batch, -(-len(names) // MAX_ITEMS))
    items = []
    for at in range(0, len(names), size):
        files = names[at : at + size]
        title = f"{files[0]} and {len(files) - 1} more" if len(files) > 1 else files[0]
        items.append({"title": title, "folder": target.folder_text, "files": files})
    return await gather(ctx, capability, items, failed_as=lambda item: item["title"], clock=clock, total=len(items))


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
    target, listing, clock = await survey_of(task, ctx)
    ctx.emit(f"{len(listing.files)} files to read, {len(listing.skipped)} entries skipped\n")
    found = await gather_files(ctx, "scan", target, listing.names(), batch=8, clock=clock)
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
    target, listing, clock = await survey_of(task, ctx)
    found = await gather_files(ctx, "imports", target, listing.names(".py"), batch=12, clock=clock)
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
    """Metrics of every Python file, one file an item, so that one bad file fails alone.

    With the option `asks` a person is asked about generated files; meanwhile the others are measured.
    """
    target, listing, clock = await survey_of(task, ctx)
    names = listing.names(".py")
    made = await ctx.step("look for generated files", generated_among, target.folder_text, [*names])
    asks = bool(made and task.options.get("asks"))
    answer = "" if asks else MEASURE
    found = Gathered()

    async def ask() -> None:
        nonlocal answer
        answer = await ctx.ask(_about_generated(made), [LEAVE_OUT, MEASURE], LEAVE_OUT, ASK_S) if asks else MEASURE

    async def measure() -> None:
        found.add(
            await gather_files(
                ctx, "parse", target, [n for n in names if not asks or n not in made], batch=1, clock=clock
            )
        )

    await together(ask, measure)
    if asks and answer == MEASURE:
        found.add(await gather_files(ctx, "parse", target, made, batch=1, clock=clock))
    left_out = [] if answer == MEASURE else made
    measured = await anyio.to_thread.run_sync(parse.summary, found.entries)
    return section("metrics", found, {**measured, "generated": left_out})


def _about_generated(names: Sequence[str]) -> str:
    shown = f"{names[0]}, …" if len(names) > 1 else names[0]
    verb = "looks" if len(names) == 1 else "look"
    return f"{counted(len(names), 'file')} {verb} generated ({shown}). Measure them too?"


async def hazard_lead(task: Task, ctx: Context) -> dict[str, Any]:
    """Hazards in code and credentials in any text."""
    target, listing, clock = await survey_of(task, ctx)
    names = [
        name
        for name in listing.names()
        if language_of(name) not in _NOT_TEXT or name.rpartition("/")[2].startswith(".env")
    ]
    found = await gather_files(ctx, "hazards", target, names, batch=5, clock=clock)
    return section("hazards", found, await anyio.to_thread.run_sync(hazards.summary, found.entries))


async def duplicate_finder(task: Task, ctx: Context) -> dict[str, Any]:
    """Copied passages: fingerprints of every file first, then the suspicious pairs token by token."""
    target, listing, clock = await survey_of(task, ctx)
    names = [name for name in listing.names() if language_of(name) in CODE]
    found = await gather_files(ctx, "fingerprints", target, names, batch=5, clock=clock)
    pairs = await anyio.to_thread.run_sync(fingerprints.suspects, found.entries)
    ctx.emit(f"{len(pairs)} pairs of files look alike\n")
    items = [{"title": f"{pair['left']} ~ {pair['right']}", "folder": target.folder_text, **pair} for pair in pairs]
    judged = await gather(ctx, "compare", items, failed_as=lambda item: item["left"], clock=clock, total=len(items))
    summary = await anyio.to_thread.run_sync(fingerprints.summary, found.entries, judged.entries)
    found.failures += judged.failures
    found.cut_short |= judged.cut_short
    if "within_s" in task.options:
        summary["alike"] = await _alike(ctx, target, listing.names(".py"), clock)
    return section("duplicates", found, summary)


async def _alike(ctx: Context, target: Target, names: Sequence[str], clock: Clock) -> dict[str, Any]:
    """Compare functions of all files with each other for as long as there is time: nobody has time for all pairs."""
    blocks = likeness.blocks_of(in_order(ctx, names))
    items = (
        {"title": f"{left[0]} × {right[0]}", "folder": target.folder_text, "lefts": left, "rights": right}
        for left, right in likeness.pairs_of(blocks)
    )
    compared = await gather(ctx, "compare", items, failed_as=lambda item: str(item["title"]), clock=clock)
    return await anyio.to_thread.run_sync(likeness.summary, compared.entries)


async def doc_checker(task: Task, ctx: Context) -> dict[str, Any]:
    """Documentation: readme, dead links, docstrings that are missing or lie."""
    target, listing, clock = await survey_of(task, ctx)
    names = listing.names(".py", *documentation.PROSE)
    found = await gather_files(ctx, "documentation", target, names, batch=8, clock=clock)
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
