"""The leads of the audit crew: each examines one aspect of the folder, and delegates the files to workers.

Every lead lists the files itself. A list in the journal would be longer than everything the crew reports, and files
that changed since are different work anyway.
"""

import re
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import anyio.to_thread

from dashboard.demo import chapters, documentation, history
from dashboard.demo.files import AuditedFiles, AuditTarget, list_files, target_of
from dashboard.demo.gathering import Gathered, LeadTimeLimit, gather, in_order, together
from dashboard.demo.report import report, sections_in, with_summary
from dashboard.demo.source import SourceRefused, read_bytes
from engine.core.records.values import pluralize
from engine.errors import DelegationFailed
from engine.runtimes.functions.context import BlockingContext, Context
from engine.runtimes.functions.task import Task

EDITOR_CHARS = 20_000
"""How much of a report an editor gets to sum up: about 5,000 tokens."""
ASK_S = 120.0
"""How long a person has to answer."""
LEAVE_OUT, MEASURE = "leave them out", "measure them too"
MAX_ITEMS = 1_200
"""Items a lead makes of one folder at most; larger folders get larger items."""
BLOCK_FILES = 6
"""Files on each side of a comparison."""
_GENERATED = re.compile(
    rb"\b(?:auto(?:matically)?[- ]generated|generated (?:by|from|automatically)|do not edit)\b", re.IGNORECASE
)


class Survey(NamedTuple):
    """What a lead examines."""

    ctx: Context
    target: AuditTarget
    listing: AuditedFiles
    clock: LeadTimeLimit

    async def gather(self, capability: str, names: Sequence[str], batch: int) -> Gathered:
        """Delegate files, `batch` in an item, or more where all of them would make more than MAX_ITEMS."""
        names = in_order(self.ctx, names)
        size = batch if self.clock.has_end else max(batch, -(-len(names) // MAX_ITEMS))
        batches = [names[at : at + size] for at in range(0, len(names), size)]
        titles = [files[0] + (f" and {len(files) - 1} more" if len(files) > 1 else "") for files in batches]
        folder = str(self.target.folder)
        items = [
            {"title": title, "folder": folder, "files": files} for title, files in zip(titles, batches, strict=True)
        ]
        return await gather(self.ctx, capability, items, clock=self.clock, total=len(items))


async def survey_of(task: Task, ctx: Context) -> Survey:
    """Resolve the request and list the files, off the loop; raises RequestRefused if it names nothing in the folder."""
    target = await anyio.to_thread.run_sync(target_of, str(task.request), str(task.folder))
    listing = await anyio.to_thread.run_sync(list_files, target.folder, target.under)
    return Survey(ctx, target, listing, LeadTimeLimit(ctx))


async def section(
    name: str, gathered: Gathered, chapter: Callable[..., dict[str, Any]], *data: object
) -> dict[str, Any]:
    """The output of a lead: its chapter, which is written off the loop, with what failed."""
    text = await anyio.to_thread.run_sync(chapter, gathered.entries, *data)
    failures = sorted(gathered.failures, key=lambda failure: failure["file"])[:40]
    return {"section": name, **text, "cut_short": gathered.cut_short, "failures": failures}


async def mapper(task: Task, ctx: Context) -> dict[str, Any]:
    """What is here: files, languages, sizes, odd encodings, and what was skipped and why."""
    survey = await survey_of(task, ctx)
    ctx.emit(f"{len(survey.listing.files)} files to read, {len(survey.listing.skipped)} entries skipped\n")
    scanned = await survey.gather("scan", survey.listing.names(), 8)
    return await section("map", scanned, chapters.what_is_here, survey.listing) | {"under": survey.target.under}


def historian(task: Task, ctx: BlockingContext) -> dict[str, Any]:
    """Git history: churn, authors, files that change together. Runs in a thread, because git is waited for."""
    target = target_of(str(task.request), str(task.folder))
    summary: dict[str, Any] = ctx.step("read history", history.read, str(target.folder), target.under)
    return {"section": "history", **summary}


async def librarian(task: Task, ctx: Context) -> dict[str, Any]:
    """What is imported from outside, and how modules hang together."""
    survey = await survey_of(task, ctx)
    read = await survey.gather("imports", survey.listing.names(".py"), 12)
    return await section("dependencies", read, chapters.dependencies)


async def metrician(task: Task, ctx: Context) -> dict[str, Any]:
    """Metrics of every Python file, one file an item, so that one bad file fails alone.

    With the option `asks` a person is asked about generated files; meanwhile the others are measured.
    """
    survey = await survey_of(task, ctx)
    names = survey.listing.names(".py")
    generated = await ctx.step("look for generated files", generated_among, str(survey.target.folder), names)
    asks = bool(generated and task.options.get("asks"))
    answer = MEASURE
    parsed = Gathered()

    async def ask() -> None:
        nonlocal answer
        example = generated[0] + (", …" if len(generated) > 1 else "")
        verb = "looks" if len(generated) == 1 else "look"
        question = f"{pluralize(len(generated), 'file')} {verb} generated ({example}). Measure them too?"
        answer = await ctx.ask(question, [LEAVE_OUT, MEASURE], LEAVE_OUT, ASK_S)

    async def measure() -> None:
        parsed.add(await survey.gather("parse", [name for name in names if not asks or name not in generated], 1))

    await together(*([ask] if asks else ()), measure)
    if asks and answer == MEASURE:
        parsed.add(await survey.gather("parse", generated, 1))
    return await section("metrics", parsed, chapters.hot_spots, generated if answer == LEAVE_OUT else [])


def generated_among(folder: str, names: Sequence[str]) -> list[str]:
    """Return the files that say at their beginning that a program wrote them; blocking."""

    def is_generated(name: str) -> bool:
        try:
            return bool(_GENERATED.search(read_bytes(folder, name)[:800]))
        except SourceRefused:
            return False

    return list(filter(is_generated, names))


async def hazard_lead(task: Task, ctx: Context) -> dict[str, Any]:
    """Hazards in code and notes in texts."""
    survey = await survey_of(task, ctx)
    scanned = await survey.gather("hazards", survey.listing.names(".py", *documentation.PROSE), 5)
    return await section("hazards", scanned, chapters.hazards)


async def duplicate_finder(task: Task, ctx: Context) -> dict[str, Any]:
    """Copied functions: equal ones by their digests, then nearly alike ones in the files that share some.

    With a time limit all files are compared with each other for as long as there is time, which is never enough.
    """
    survey = await survey_of(task, ctx)
    names = survey.listing.names(".py")
    digested = await survey.gather("fingerprints", names, 5)
    groups = chapters.same_functions(digested.entries)
    pairs = {pair for group in groups for pair in combinations(sorted({file for file, *_ in group})[:4], 2)}
    ctx.emit(f"{len(pairs)} pairs of files share a function\n")
    blocks = [([left], [right]) for left, right in sorted(pairs)]
    if survey.clock.has_end:
        ordered = in_order(ctx, names)
        parts = [ordered[at : at + BLOCK_FILES] for at in range(0, len(ordered), BLOCK_FILES)]
        blocks += [(left, right) for last, right in enumerate(parts) for left in parts[: last + 1]]
    folder = str(survey.target.folder)
    items = [
        {"title": f"{lefts[0]} × {rights[0]}", "folder": folder, "lefts": lefts, "rights": rights}
        for lefts, rights in blocks
    ]
    total = None if survey.clock.has_end else len(items)
    compared = await gather(ctx, "compare", items, clock=survey.clock, total=total)
    return await section("duplicates", digested, chapters.copies, compared.entries)


async def doc_checker(task: Task, ctx: Context) -> dict[str, Any]:
    """Documentation: readme, dead links, docstrings that are missing or wrong."""
    survey = await survey_of(task, ctx)
    read = await survey.gather("documentation", survey.listing.names(".py", *documentation.PROSE), 8)
    return await section("documentation", read, chapters.documentation, survey.listing.names())


async def writer(task: Task, ctx: Context) -> str:
    """The report, from whatever sections the rest of the crew has put out; an editor sums it up, where there is one."""
    text = await anyio.to_thread.run_sync(report, sections_in([earlier.output for earlier in task.inputs]))
    editor = task.options.get("editor")
    if isinstance(editor, str):
        try:
            summary = str(await ctx.delegate(editor, text[:EDITOR_CHARS]))
        except DelegationFailed as failed:
            summary = f"No summary by {editor}: {failed}"
        text = with_summary(text, summary)
    ctx.emit(text)
    return text
