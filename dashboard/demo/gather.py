"""How a lead hands files to workers and gets their answers back, whatever fails on the way.

What a lead needs from the engine is spelled out here as protocols; the engine's own task and context fit them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import anyio.to_thread

from dashboard.demo.targets import Target, target_of
from dashboard.demo.walk import Listing, walk

WAVE = 48
"""Items handed out at once: enough to keep every worker busy, few enough that cancelling is quick."""
MAX_ITEMS = 1_200
"""Items a lead makes of one folder at most; larger folders get larger items."""


class Input(Protocol):
    """What an earlier node of the run put out."""

    agent: str
    output: Any


class Task(Protocol):
    """What the engine tells an agent about its task."""

    request: str
    folder: str
    inputs: Sequence[Input]


class Context(Protocol):
    """What the engine lets an agent do."""

    cancelled: bool

    async def map(self, capability: str, items: Sequence[Any], *, return_failures: bool) -> list[Any]: ...

    def progress(self, done: int, total: int) -> None: ...

    def emit(self, text: str) -> None: ...


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
    """Resolve the request and list the files, off the loop.

    Raises:
        RequestRefused: The request names nothing in the folder.
    """
    return await anyio.to_thread.run_sync(_survey, task.request, task.folder)


def _survey(request: str, folder: str) -> tuple[Target, Listing]:
    target = target_of(request, folder)
    return target, walk(target.folder, target.under)


def items_of(folder: str, names: Sequence[str], *, batch: int) -> list[dict[str, Any]]:
    """Work items of `batch` files each, or of more where that would make more than MAX_ITEMS."""
    size = max(batch, -(-len(names) // MAX_ITEMS))
    parts = [list(names[at : at + size]) for at in range(0, len(names), size)]
    return [{"title": _label(part), "folder": folder, "files": part} for part in parts]


async def gather(
    ctx: Context, capability: str, items: Sequence[dict[str, Any]], *, failed_as: Callable[[dict[str, Any]], str]
) -> Gathered:
    """Hand items to the agents of a capability, in waves, and collect what comes back.

    Args:
        ctx: The lead's context.
        capability: Specialty of the workers.
        items: Work items.
        failed_as: Names the file to blame when an item fails as a whole.

    Returns:
        The results; a result with "entries" adds each of them, another counts as one entry.
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
    """`gather` for plain files."""
    items = items_of(target.folder_text, names, batch=batch)
    return await gather(ctx, capability, items, failed_as=lambda item: item["title"])


def _label(files: Sequence[str]) -> str:
    return f"{files[0]} and {len(files) - 1} more" if len(files) > 1 else files[0]


def section(name: str, gathered: Gathered, found: dict[str, Any]) -> dict[str, Any]:
    """The output of a lead: its findings under a name, with what failed."""
    failures = sorted(gathered.failures, key=lambda failure: failure["file"])
    return {
        "section": name,
        **found,
        "work_items": gathered.items,
        "cut_short": gathered.cut_short,
        "failure_count": len(failures),
        "failures": failures[:40],
    }
