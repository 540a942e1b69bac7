"""Previews of a change to several marked objects, one line for each, and the outcome for all of them."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from dashboard.views.changes.outcomes import rehearsed
from dashboard.views.changes.targets import Target, is_in_trouble, target_of
from dashboard.views.drawing.lines import cut
from dashboard.views.drawing.rows import Cell
from dashboard.views.words.amounts import pluralize
from engine.core.commands import Cancel, Command, Pause, RemoveMember, Resume, RetryWork
from engine.core.state import State

SHOWN = 100
"""Things of which each has a line."""
WIDEST = 30
_IDS = re.compile(r"'[^']*'|@?\b[a-z]\d+\b|\b[0-9a-f]{32}\b")
"""Two reasons that differ in these alone are one."""


class Bulk(NamedTuple):
    """One change for several things."""

    does: str
    """What the button says, such as `Cancel`."""
    done: str
    """What the outcome says, such as `cancelled`."""
    commands: tuple[Command, ...]
    names: tuple[str, ...] = ()
    """What each command is about, as it was called when it was marked."""
    below: int = 0
    """Marked tasks below others that are marked: what happens to those reaches them, and they need no command."""


class Part(NamedTuple):
    """One of several changes."""

    name: str
    command: Command
    told: str
    """What it would do, or why it would be refused."""
    refused: bool


class Ended(Protocol):
    """What became of one command."""

    @property
    def status(self) -> str:
        """`applied`, `refused` or `pending`."""
        ...

    @property
    def seq(self) -> int | None:
        """Of the event that says so."""
        ...

    @property
    def reason(self) -> str | None:
        """Why it was refused."""
        ...


def pausing(state: State, keys: Sequence[str], stop: bool | None) -> Bulk:
    """Return what pauses or resumes things; None pauses where one of them works, else resumes all."""
    found = targets(state, keys)
    if stop is None:
        stop = any(_works(state, target) for target in found)
    made = [Pause(target=one.at) if stop else Resume(target=one.at) for one in found]
    does, done = ("Pause", "paused") if stop else ("Resume", "resumed")
    return Bulk(does, done, tuple(made), _names(found))


def _works(state: State, target: Target) -> bool:
    member = state.agents.get(target.id) or state.supervisors.get(target.id) or state.runs.get(target.id)
    return member is not None and not member.paused and not is_in_trouble(state, target.id)


def cancelling(state: State, keys: Sequence[str]) -> Bulk:
    """Return what cancels work and removes members, an agent once its attempts have ended."""
    marked = targets(state, keys)
    ids = {one.id for one in marked}
    found = [one for one in marked if ids.isdisjoint(_above(state, one.id))]
    members = [one for one in found if one.kind in ("agent", "supervisor")]
    made: list[Command] = [
        RemoveMember(target=one.at, mode="drain" if one.kind == "agent" else None)
        if one in members
        else Cancel(target=one.at)
        for one in found
    ]
    does, done = ("Cancel", "cancelled") if not members else ("Stop", "stopped")
    if len(members) == len(found):
        does, done = "Remove", "removed"
    return Bulk(does, done, tuple(made), _names(found), len(marked) - len(found))


def _above(state: State, task_id: str) -> Iterator[str]:
    """Yield the ids of the tasks above a task, and that of its run."""
    task = state.tasks.get(task_id)
    while task is not None:
        yield task.parent_id or task.run_id
        task = state.tasks.get(task.parent_id or "")


def retrying(state: State, keys: Sequence[str]) -> Bulk:
    """Return what tries tasks again, and submits finished runs again."""
    found = targets(state, keys)
    return Bulk("Retry", "retried", tuple(RetryWork(target=one.id) for one in found), _names(found))


def changing(found: Sequence[Target], commands: Sequence[Command]) -> Bulk:
    """Return what a typed line means for each; without commands before it is typed."""
    return Bulk("Change", "changed", tuple(commands), _names(found))


def targets(state: State, keys: Sequence[str]) -> list[Target]:
    """Return what marked rows stand for."""
    return [target for key in keys if (target := target_of(state, key)) is not None]


def _names(found: Sequence[Target]) -> tuple[str, ...]:
    return tuple(f"{one.id} {one.name}" if one.kind in ("task", "run") else one.name for one in found)


def parts(state: State, bulk: Bulk, now_ms: int) -> list[Part]:
    """Return what each would come to now, one apart from the other."""
    found = []
    for name, command in zip(bulk.names, bulk.commands, strict=True):
        rehearsal = rehearsed(state, command, now_ms)
        refused = bool(rehearsal.refusal)
        found.append(Part(name, command, rehearsal.refusal or rehearsal.summary, refused))
    return found


def lines(found: Sequence[Part]) -> list[Cell]:
    """Return a line for each."""
    widest = min(WIDEST, max((len(one.name) for one in found), default=0))
    cells = [
        Cell(
            f"would be refused: {one.told}" if one.refused else one.told,
            "error" if one.refused else "busy",
            f"{'✕' if one.refused else '✓'} {cut(one.name, widest):<{widest}}  ",
        )
        for one in found[:SHOWN]
    ]
    more = len(found) - SHOWN
    return [*cells, Cell(f"and {more:,} more", "muted")] if more > 0 else cells


def reached(bulk: Bulk) -> str:
    """Return how many marked tasks are below others; empty where none is."""
    verb = "is" if bulk.below == 1 else "are"
    return f"{pluralize(bulk.below, 'marked task')} below these {verb} reached too" if bulk.below else ""


def untouched(names: Sequence[str]) -> list[Cell]:
    """Return a line for each before anything is asked of it."""
    more = [Cell(f"and {len(names) - SHOWN:,} more", "muted")] if len(names) > SHOWN else []
    return [*(Cell(one, "muted") for one in names[:SHOWN]), *more]


def counts(found: Sequence[Part]) -> str:
    """Return how many are left out; empty where none or all are."""
    refused = sum(one.refused for one in found)
    if not refused:
        return ""
    return f"{refused:,} of {len(found):,} would be refused, and are left out" if refused < len(found) else ""


def spoken(bulk: Bulk, outcomes: Sequence[Ended], *, way_back: str = "") -> Cell:
    """Return one line about all: how many were changed, at which seqs, how many were refused and why."""
    applied = [one.seq for one in outcomes if one.status == "applied" and one.seq is not None]
    refused = [one.reason or "no reason given" for one in outcomes if one.status == "refused"]
    waiting = [one.reason or "no engine has taken them yet" for one in outcomes if one.status == "pending"]
    said = []
    if applied:
        at = f"{min(applied):,}" if len(applied) == 1 else f"{min(applied):,}–{max(applied):,}"
        said.append(f"✓ {len(applied):,} {bulk.done} at seq {at}")
    if refused:
        kinds = {_IDS.sub("", one) for one in refused}
        why = refused[0] if len(kinds) == 1 else f"{refused[0]} (and {pluralize(len(kinds) - 1, 'other reason')})"
        said.append(f"{len(refused):,} refused: {why}")
    if waiting:
        said.append(f"{len(waiting):,} queued; {waiting[0]}")
    tone = "error" if refused else "draining" if waiting else "busy"
    return Cell(", ".join(said) + way_back, tone)
