"""The working folder of a program for an attempt: the team's folder, or a git worktree made for the attempt."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import anyio

from engine.core.records.records import JsonValue
from engine.runtimes.attempts.work import Work
from engine.runtimes.functions.threads import Threads
from engine.runtimes.programs.worktree import (
    GitFailed,
    Worktree,
    find_worktree,
    make_worktree,
    remove_worktree,
    repository_of,
)

STEP = "worktree"
"""Name of the steps that record the worktree of an attempt, and the work left in it."""
CLEANUP_TIMEOUT_S = 60.0
"""How long git may take to remove the worktree."""
STOPPED_CLEANUP_TIMEOUT_S = 1.5
"""The same after an attempt that was stopped; the worktree stays if that is not enough."""


class WorkPlace:
    """The working folder of an attempt."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.left: str | None = None
        """Description of the work left there, in one line; None if there is none."""

    def with_note(self, output: JsonValue) -> JsonValue:
        """Return an output; if it is a text, with a note about the work left in the worktree."""
        if self.left is None or not isinstance(output, str):
            return output
        return f"{output}\n\n{self.left}" if output else self.left


@asynccontextmanager
async def open_place(
    work: Work, folder: Path, *, threads: Threads, worktree: bool, resume: bool
) -> AsyncIterator[WorkPlace]:
    """Provide a working folder for an attempt; it is cleaned up afterwards.

    Args:
        folder: The working folder; with `worktree`, its repository gets a new worktree.
        threads: Threads for git.
        worktree: Use a worktree.
        resume: Use the worktree of an earlier attempt of the task, if it still exists.

    Raises:
        Unusable: If there is no repository.
        GitFailed: If the worktree cannot be made.
    """
    if not worktree:
        yield WorkPlace(folder)
        return
    tree = await _find_earlier_worktree(work, threads) if resume else None
    if tree is None:
        tree = await _create_worktree(work, folder, threads)
    place = WorkPlace(tree.inside(folder))
    try:
        yield place
    finally:
        with work.limits.move_on_after(STOPPED_CLEANUP_TIMEOUT_S if work.attempt.stopping else CLEANUP_TIMEOUT_S):
            await _tidy_up(work, tree, place, threads)


async def _tidy_up(work: Work, tree: Worktree, place: WorkPlace, threads: Threads) -> None:
    try:
        unmerged = await threads.run(partial(remove_worktree, tree))
        description = None if unmerged is None else unmerged.description
    except (GitFailed, FileNotFoundError) as error:
        description = f"work that git cannot tell ({error})"
    if description is not None:
        place.left = f"The branch {tree.branch} has {description} in {tree.path}"
        if not work.attempt.over:
            output: JsonValue = {"path": str(tree.path), "branch": tree.branch, "left": description}
            work.record_soon(work.finished_step("code", STEP, work.attempt.new_key(STEP), output, is_charged=False))


async def _find_earlier_worktree(work: Work, threads: Threads) -> Worktree | None:
    """Return the newest worktree of earlier attempts of the task, if it still exists."""
    keys = [key for key in work.effect.steps if key.startswith(f"{STEP}:")]
    for key in reversed(keys):
        step = await work.attempt.recorded_output(key)
        if isinstance(step, dict) and "top" in step:
            return await threads.run(partial(find_worktree, str(step["path"]), str(step["branch"]), str(step["top"])))
    return None


async def _create_worktree(work: Work, folder: Path, threads: Threads) -> Worktree:
    top = await threads.run(partial(repository_of, folder))
    name = f"{work.effect.task_id}-{work.effect.attempt}"
    with anyio.CancelScope(shield=True):  # a cancelled git would leave half a worktree
        tree = await threads.run(partial(make_worktree, top, name))
    output: JsonValue = {"path": str(tree.path), "branch": tree.branch, "top": str(tree.top)}
    await work.attempt.record(work.finished_step("code", STEP, work.attempt.new_key(STEP), output))
    return tree
