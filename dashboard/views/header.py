"""The first line: where am I, is the engine alive, how busy is it, who needs me."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.views.amounts import clock, counted, moment, stopwatch
from dashboard.views.digest import Digest, needs_person
from dashboard.views.program import program_line
from dashboard.views.rows import Cell
from engine.core.state import State
from store.records import EngineInfo, StandbyInfo

HUNG_AFTER_MS = 3_000


@dataclass(frozen=True, slots=True)
class Situation:
    """What the header is made from, beside the state."""

    db: str
    engine: EngineInfo | None
    now_ms: int
    """The engine's time: what is journaled is stamped with that."""
    events_per_s: float
    behind: int = 0
    """Events in the file that are not folded yet."""
    opening: bool = False
    """The state is not the file's yet: its events are being read."""
    trouble: str | None = None
    """Why the file cannot be read on, in one line."""
    readonly: bool = False
    looked: bool = True
    """False until the file was asked for its engine."""
    standbys: Sequence[StandbyInfo] = ()
    """Engines that stand by."""


def where(state: State, situation: Situation) -> list[Cell]:
    """The left side: name of the program and of the team."""
    roots = state.roots
    team = roots[0].name if roots else situation.db.rpartition("/")[2]
    more = f" +{len(roots) - 1}" if len(roots) > 1 else ""
    cells = [Cell("QUARTERDECK", "accent"), Cell(team + more, "strong")]
    if len(state.runs) == 1:
        cells.append(Cell(f"▸ {next(iter(state.runs.values())).title}", "muted"))
    elif state.runs:
        cells.append(Cell(f"▸ {counted(len(state.runs), 'run')}", "muted"))
    return cells


def condition(state: State, situation: Situation, counts: Digest) -> list[Cell]:
    """The right side: engine, rate, queue, people; those first that may not fall away."""
    waiting = needs_person(state)
    cells = [engine(state, situation)]
    if waiting:
        cells.append(Cell(f"⚑ {len(waiting):,} need{'s' if len(waiting) == 1 else ''} you", "attention"))
    cells.append(Cell(f"{situation.events_per_s:>5,.0f} ev/s", "muted"))
    cells.append(Cell(f"queue {counts.waiting:,}", "" if counts.waiting else "muted"))
    if situation.behind > 1_000:
        cells.append(Cell(f"reading, {situation.behind:,} to go", "draining"))
    if situation.readonly:
        cells.append(Cell("read-only", "paused"))
    return cells


def reading(situation: Situation) -> tuple[str, ...]:
    """What stands in place of rows while the file is being opened."""
    left = f"{counted(situation.behind, 'event')} to go" if situation.behind else ""
    return (f"reading {situation.db.rpartition('/')[2]} …", left)


def engine(state: State, situation: Situation) -> Cell:
    """Whether the engine lives and since when."""
    info = situation.engine
    if info is None:
        return Cell("○ no engine yet" if situation.looked else "…", "muted")
    if not info.alive:
        verb, tone = ("gone since", "error") if info.ended_ms is None else ("stopped", "muted")
        glyph = "✕" if info.ended_ms is None else "■"
        return Cell(f"{glyph} engine {info.pid} {verb} {clock(gone_since_ms(state, info))}", tone)
    ages = [age for age in (info.heartbeat_ms, info.loop_ms) if age is not None]
    if ages and max(ages) > HUNG_AFTER_MS:
        return Cell(f"✕ engine {info.pid} has not answered for {max(ages) // 1000} s", "error")
    up_ms = situation.now_ms - info.ahead_ms - info.since_ms
    return Cell(f"● engine {info.pid}  {stopwatch(up_ms)}{_waiting(situation)}", "busy")


def _waiting(situation: Situation) -> str:
    """Who takes over when it is gone."""
    ready = [each for each in situation.standbys if not each.hung]
    if not ready:
        return ""
    return f"  {ready[0].pid} stands by" if len(ready) == 1 else f"  {len(ready)} stand by"


def banner(state: State, situation: Situation, live_banner: str | None) -> Cell | None:
    """What a person must know at once, with what to do; None when all is well."""
    if situation.trouble is not None:
        return Cell(f"✕ {situation.trouble}", "error")
    if live_banner:
        return Cell(f"✕ {live_banner}", "error")
    return _without_engine(state, situation) if situation.looked else None


def _without_engine(state: State, situation: Situation) -> Cell | None:
    info = situation.engine
    key = "" if situation.readonly else "E or "
    go_on = "run its program again" if program_line(state) is not None else f"{key}{shell(situation)}"
    if info is None:
        return Cell(f"○ no engine has worked on this file · start one: {go_on}", "muted")
    if info.alive:
        return Cell(f"✕ engine {info.pid} is silent · take over: {go_on}", "error") if info.hung else None
    since = moment(gone_since_ms(state, info), situation.now_ms)
    if info.ended_ms is not None:
        return Cell(f"■ engine {info.pid} stopped at {since} · go on: {go_on}", "muted")
    return Cell(f"✕ engine {info.pid} gone since {since} · go on: {go_on}", "error")


def shell(situation: Situation) -> str:
    """The command that starts an engine, or one in place of an engine that hangs."""
    takeover = " --takeover" if situation.engine is not None and situation.engine.hung else ""
    return f"quarterdeck engine{takeover} --db {shlex.quote(situation.db)}"


def gone_since_ms(state: State, info: EngineInfo) -> int:
    """When it ended in order, or was last heard of: of a killed one nobody knows better."""
    return info.ended_ms if info.ended_ms is not None else max(info.since_ms, info.heard_ms or 0, state.at_ms)
