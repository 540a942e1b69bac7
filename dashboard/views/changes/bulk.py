"""Previews of a change to several marked objects, one line for each, and the outcome for all of them."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from dashboard.views.changes.outcomes import rehearse
from dashboard.views.changes.targets import Target, is_in_trouble, target_of
from dashboard.views.drawing.lines import cut
from dashboard.views.drawing.rows import Cell
from dashboard.views.words.amounts import pluralize
from engine.core.commands import Cancel, Command, Pause, RemoveMember, Resume, RetryWork
from engine.core.queries.work.reach import work_of
from engine.core.state import State

MAX_SHOWN = 100
"""Objects that have a line of their own."""
MAX_NAME_WIDTH = 30
_IDS = re.compile(r"'[^']*'|@?\b[a-z]\d+\b|\b[0-9a-f]{32}\b")
"""Matches quoted names and ids; reasons that differ only in them are counted as one."""


class Bulk(NamedTuple):
    """One change for several objects."""

    does: str
    """The label of the button, such as `Cancel`."""
    done: str
    """The participle for the outcome, such as `cancelled`."""
    commands: tuple[Command, ...]
    names: tuple[str, ...] = ()
    """The name of each command's object when it was marked."""
    below: int = 0
    """Number of marked tasks below other marked ones: the change reaches them without a command of their own."""


class BulkChange(NamedTuple):
    """One of several changes."""

    name: str
    command: Command
    text: str
    """The effect, or the reason of the refusal."""
    refused: bool


class CommandReport(Protocol):
    """The outcome of one command."""

    @property
    def status(self) -> str:
        """`applied`, `refused` or `pending`."""
        ...

    @property
    def seq(self) -> int | None:
        """Seq of the event that applied it."""
        ...

    @property
    def reason(self) -> str | None:
        """Why it was refused."""
        ...


def plan_pause(state: State, keys: Sequence[str], *, stop: bool, now: bool = False) -> Bulk:
    """Plan to pause or to resume objects."""
    targets = targets_of(state, keys)
    commands = [
        Pause(target=target.reference, now=now) if stop else Resume(target=target.reference) for target in targets
    ]
    does, done = ("Pause", "paused") if stop else ("Resume", "resumed")
    return Bulk(does, done, tuple(commands), _names(targets))


def any_works(state: State, keys: Sequence[str]) -> bool:
    """Return whether one of these members or runs is neither paused nor in trouble."""
    members = [state.agents.get(key) or state.supervisors.get(key) or state.runs.get(key) for key in keys]
    return any(member and not member.paused and not is_in_trouble(state, member.id) for member in members)


def plan_cancel(state: State, keys: Sequence[str]) -> Bulk:
    """Plan to cancel work: also that of agents. Where only members at rest are marked, they are removed."""
    marked = targets_of(state, keys)
    if all(target.kind in ("agent", "supervisor") and not _has_work(state, target.id) for target in marked):
        return plan_removal(state, keys)
    ids = {target.id for target in marked}
    topmost = [target for target in marked if ids.isdisjoint(_ancestor_ids(state, target.id))]
    commands = [Cancel(target=target.reference) for target in topmost]
    return Bulk("Cancel", "cancelled", tuple(commands), _names(topmost), len(marked) - len(topmost))


def _has_work(state: State, agent_id: str) -> bool:
    agent = state.agents.get(agent_id)
    return agent is not None and bool(work_of(state, agent))


def plan_removal(state: State, keys: Sequence[str]) -> Bulk:
    """Plan to remove members; an agent finishes its attempts first."""
    members = [target for target in targets_of(state, keys) if target.kind in ("agent", "supervisor")]
    commands = [
        RemoveMember(target=target.reference, mode="drain" if target.kind == "agent" else None) for target in members
    ]
    return Bulk("Remove", "removed", tuple(commands), _names(members))


def _ancestor_ids(state: State, task_id: str) -> Iterator[str]:
    """Yield the ids of the tasks above a task, then the id of its run."""
    task = state.tasks.get(task_id)
    while task is not None:
        yield task.parent_id or task.run_id
        task = state.tasks.get(task.parent_id or "")


def plan_retry(state: State, keys: Sequence[str]) -> Bulk:
    """Plan to retry tasks, and to submit finished runs again."""
    targets = targets_of(state, keys)
    return Bulk("Retry", "retried", tuple(RetryWork(target=target.id) for target in targets), _names(targets))


def plan_change(targets: Sequence[Target], commands: Sequence[Command]) -> Bulk:
    """Plan a typed change; `commands` is empty until a line is typed."""
    return Bulk("Change", "changed", tuple(commands), _names(targets))


def targets_of(state: State, keys: Sequence[str]) -> list[Target]:
    """Return the objects of marked rows."""
    return [target for key in keys if (target := target_of(state, key)) is not None]


def _names(targets: Sequence[Target]) -> tuple[str, ...]:
    return tuple(f"{target.id} {target.name}" if target.kind in ("task", "run") else target.name for target in targets)


def rehearse_parts(state: State, bulk: Bulk, now_ms: int) -> list[BulkChange]:
    """Rehearse each command on its own."""
    parts = []
    for name, command in zip(bulk.names, bulk.commands, strict=True):
        rehearsal = rehearse(state, command, now_ms)
        refused = bool(rehearsal.refusal)
        parts.append(BulkChange(name, command, rehearsal.refusal or rehearsal.summary, refused))
    return parts


def part_lines(parts: Sequence[BulkChange]) -> list[Cell]:
    """Return a line for each change, up to `MAX_SHOWN`."""
    widest = min(MAX_NAME_WIDTH, max((len(part.name) for part in parts), default=0))
    cells = [
        Cell(
            f"would be refused: {part.text}" if part.refused else part.text,
            "error" if part.refused else "busy",
            f"{'✕' if part.refused else '✓'} {cut(part.name, widest):<{widest}}  ",
        )
        for part in parts[:MAX_SHOWN]
    ]
    more = len(parts) - MAX_SHOWN
    return [*cells, Cell(f"and {more:,} more", "muted")] if more > 0 else cells


def describe_reached(bulk: Bulk) -> str:
    """Return how many marked tasks are below others; empty for none."""
    verb = "is" if bulk.below == 1 else "are"
    return f"{pluralize(bulk.below, 'marked task')} below these {verb} reached too" if bulk.below else ""


def name_lines(names: Sequence[str]) -> list[Cell]:
    """Return a line for each object, before a change is typed."""
    more = [Cell(f"and {len(names) - MAX_SHOWN:,} more", "muted")] if len(names) > MAX_SHOWN else []
    return [*(Cell(name, "muted") for name in names[:MAX_SHOWN]), *more]


def describe_refused(parts: Sequence[BulkChange]) -> str:
    """Return how many are left out; empty for none or all."""
    refused = sum(part.refused for part in parts)
    if not refused:
        return ""
    return f"{refused:,} of {len(parts):,} would be refused, and are left out" if refused < len(parts) else ""


def describe_outcomes(bulk: Bulk, outcomes: Sequence[CommandReport], *, way_back: str = "") -> Cell:
    """Return one line: how many were changed, at which seqs, how many were refused and why."""
    applied = [outcome.seq for outcome in outcomes if outcome.status == "applied" and outcome.seq is not None]
    refused = [outcome.reason or "no reason given" for outcome in outcomes if outcome.status == "refused"]
    waiting = [outcome.reason or "no engine has taken them yet" for outcome in outcomes if outcome.status == "pending"]
    clauses = []
    if applied:
        at = f"{min(applied):,}" if len(applied) == 1 else f"{min(applied):,}–{max(applied):,}"
        clauses.append(f"✓ {len(applied):,} {bulk.done} at seq {at}")
    if refused:
        kinds = {_IDS.sub("", text) for text in refused}
        reason = refused[0] if len(kinds) == 1 else f"{refused[0]} (and {pluralize(len(kinds) - 1, 'other reason')})"
        clauses.append(f"{len(refused):,} refused: {reason}")
    if waiting:
        clauses.append(f"{len(waiting):,} queued; {waiting[0]}")
    tone = "error" if refused else "draining" if waiting else "busy"
    return Cell(", ".join(clauses) + way_back, tone)
