"""The engines of a file: who leads, who stands by, and who led before, with how each ended and who took over."""

from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.views.drawing.lines import Line, Span, hairline, padded
from dashboard.views.drawing.row_pane import More, under, worded
from dashboard.views.drawing.rows import Cell, Column, Listing, labelled, matches, nothing
from dashboard.views.event_log import Entry
from dashboard.views.header import leading_lines
from dashboard.views.situation import Situation
from dashboard.views.tail import Told, tail
from dashboard.views.words.amounts import UNKNOWN, duration, moment, pluralize, stopwatch
from dashboard.views.words.keyed import keyed
from engine.core.events import EngineStarted, EngineStopped
from engine.core.state import State
from store.journals.records import StandbyInfo

KINDS = ("engine_started", "engine_stopped")
_COLUMNS = (
    Column("TOKEN", 5, right=True),
    Column("PID", 7, right=True),
    Column("STATE", 12),
    Column("SINCE", 16),
    Column("FOR", 13, right=True, calm=True),
    Column("LAG", 8, right=True, drop=1, calm=True),
    Column("ENDED", 16, grow=1),
    Column("VERSION", 14, drop=2),
)
LAST_FROM = 20
"""Rows below its facts from which on half of them show what an engine did last."""
_WHO, _GAP = 16, 24
"""Cells before and behind the axis of time."""


@dataclass(frozen=True, slots=True)
class _Term:
    """The time that one engine led."""

    seq: int
    started: EngineStarted
    ended_ms: int | None
    reason: str | None
    """Why it stopped; None where it was killed, or still leads."""
    next_ms: int | None
    """When the next engine began."""
    leads: bool
    """Whether it leads at the moment that is shown."""


def engines(
    entries: Sequence[Entry], situation: Situation, *, needle: str = "", looked: bool = True, past: bool = False
) -> Listing:
    """Return the engines: those that stand by, then the leader, then those before, the newest first.

    Args:
        entries: Events of `KINDS`, the newest first.
        situation: Who leads and stands by now.
        looked: False until the events have been read.
        past: Whether a moment of the past is shown: of that the events alone say who led.
    """
    rows = {f"standby:{one.pid}": _standby(one, situation.now_ms) for one in situation.standbys}
    for place, term in enumerate(_terms(entries, situation, past=past)):
        rows[str(term.seq)] = _leader(term, situation, newest=place == 0)
    shown = [
        key for key, cells in rows.items() if matches(needle, *(cell.text for cell in cells), status=cells[2].text)
    ]
    empty = nothing(needle, "engine", "no engine has worked on this file", "E  starts one")
    return Listing(_COLUMNS, shown, lambda key: rows.get(key, ()), empty if looked else ("reading …",), len(rows))


def of_engine(
    entries: Sequence[Entry],
    situation: Situation,
    state: State,
    key: str,
    width: int,
    height: int,
    last: Sequence[Told] | None = None,
    *,
    past: bool = False,
) -> More | None:
    """Return what is known of an engine, when each engine led, and what this one did last, where there is room.

    Args:
        entries: Events of `KINDS`, the newest first.
        situation: Who leads and stands by now.
        last: Its last events, the newest last; None while they are being read.
        past: Whether a moment of the past is shown.
    """
    terms, now_ms = _terms(entries, situation, past=past), situation.now_ms
    term = next((one for one in terms if str(one.seq) == key), None)
    if term is None or (term.leads and not past):
        told = leading_lines(state, situation)
    else:
        until_ms = now_ms if term.leads else term.ended_ms
        until = f", for {stopwatch(until_ms - term.started.at_ms)}" if until_ms is not None else ""
        told = [
            labelled("leads" if term.leads else "led", f"engine {term.started.pid}, version {term.started.version}"),
            labelled("since", f"{moment(term.started.at_ms, now_ms)}{until}"),
            labelled("token", f"{term.started.token}, raised by each new engine"),
        ]
        if not term.leads:
            told.append(labelled("ended", _end(term), "" if term.reason is not None else "error"))
        if term.started.lost:
            told.append(labelled("lost", pluralize(term.started.lost, "acknowledged event"), "error"))
    lines = worded(told, width)
    room = max(0, height - len(lines) - 1)
    shown = terms[: room // 2 if room >= LAST_FROM else room]
    title = hairline("WHO LED WHEN", width, right=f"the last {len(shown)} of {len(terms)}")
    lines += [title, *_led_lines(shown, width, now_ms)]
    if room >= LAST_FROM:
        lines += _last_lines(last, width, height - len(lines))
    return More("ENGINE", lines) if terms else None


def ends_before(entries: Sequence[Entry], key: str) -> int:
    """Return the seq at which the next engine began after the one of a row; 0 of the last one."""
    later = [one.seq for one in entries if isinstance(one.event, EngineStarted) and str(one.seq) != key]
    return min((seq for seq in later if key.isdigit() and seq > int(key)), default=0)


def _last_lines(last: Sequence[Told] | None, width: int, height: int) -> list[Line]:
    lines = [hairline("WHAT IT DID LAST", width, right=keyed("<events:6> has all events"))]
    if not last:
        return [*lines, Line((Span(" reading …" if last is None else " nothing", "faint"),))]
    return [*lines, *under(tail(last[-(height - 1) :], width - 2, 0))]


def _led_lines(terms: Sequence[_Term], width: int, now_ms: int) -> list[Line]:
    """Return a line for each term on one axis of time, with the gap before it."""
    if not terms:
        return []
    room = max(1, width - _WHO - _GAP - 2)
    begin_ms = terms[-1].started.at_ms
    each_ms = max(1, now_ms - begin_ms) / room
    lines = []
    for place, term in enumerate(terms):
        leads = term.leads
        ended_ms = now_ms if leads else term.ended_ms or term.next_ms or now_ms
        first = min(room - 1, int((term.started.at_ms - begin_ms) / each_ms))
        lasts = round((ended_ms - term.started.at_ms) / each_ms)
        cells = room - first if leads else max(1, min(room - first, lasts))
        before = terms[place + 1] if place + 1 < len(terms) else None
        off_ms = term.started.at_ms - before.ended_ms if before is not None and before.ended_ms is not None else None
        who = f" {term.started.token:>4}  {term.started.pid}"
        end = "" if leads else "■" if term.reason is not None else "✕"
        bar = Span("━" * (cells - len(end)), "busy" if leads else "busy-before")
        sign = Span(end, "stopped" if term.reason is not None else "error")
        rest = room - first - cells
        took = "" if off_ms is None else f"began after {duration(off_ms)}"
        lines.append(
            Line(
                (
                    Span(padded(who, _WHO), "" if leads else "muted"),
                    Span("─" * first, "line"),
                    bar,
                    sign,
                    Span("─" * rest, "line"),
                    Span(padded(took, _GAP, right=True), "muted"),
                ),
                str(term.seq),
            )
        )
    return lines


def _terms(entries: Sequence[Entry], situation: Situation, *, past: bool) -> list[_Term]:
    """Return the terms of engines, the newest first."""
    found: list[_Term] = []
    info = situation.engine
    stop: tuple[int, str] | None = None
    next_ms: int | None = None
    for entry in entries:
        if isinstance(entry.event, EngineStopped):
            stop = (entry.at_ms, entry.event.reason)
        elif isinstance(entry.event, EngineStarted):
            ended_ms, reason = stop or (None, None)
            is_alive = info is not None and info.alive and info.token == entry.event.token
            leads = not found and (stop is None if past else is_alive)
            found.append(_Term(entry.seq, entry.event, ended_ms, reason, next_ms, leads))
            stop, next_ms = None, entry.at_ms
    return found


def _leader(term: _Term, situation: Situation, *, newest: bool) -> tuple[Cell, ...]:
    now_ms, started, info = situation.now_ms, term.started, situation.engine
    its = info if newest and info is not None and info.token == started.token else None
    ages = [age for age in (its.heartbeat_ms, its.loop_ms) if age is not None] if its is not None else []
    alive = term.leads
    ended_ms = now_ms if alive else term.ended_ms if its is None else its.ended_ms or its.heard_ms
    since_ms = its.since_ms if its is not None and alive else started.at_ms  # as the header says it
    hung = its is not None and its.hung
    if alive:
        state = Cell("✕ hangs", "error") if hung else Cell("● leads", "busy")
    else:
        stopped = term.reason is not None
        state = Cell("■ stopped", "stopped") if stopped else Cell("✕ gone", "error" if newest else "muted")
    return (
        Cell(str(started.token)),
        Cell(str(started.pid)),
        state,
        Cell(moment(since_ms, now_ms), "muted", rank=since_ms),
        _led(since_ms, ended_ms, "" if alive else "muted"),
        _lag(max(ages) if alive and ages else None, "error" if hung else "muted"),
        Cell("" if alive else _end(term), "muted"),
        Cell(started.version, "muted"),
    )


def _led(since_ms: int, until_ms: int | None, tone: str) -> Cell:
    if until_ms is None:
        return Cell(UNKNOWN, tone)
    return Cell(stopwatch(until_ms - since_ms), tone, rank=until_ms - since_ms)


def _lag(age_ms: float | None, tone: str) -> Cell:
    return Cell(UNKNOWN, tone) if age_ms is None else Cell(duration(age_ms, most=8), tone, rank=age_ms)


def _end(term: _Term) -> str:
    """How it ended, and for how long nobody led."""
    how = "killed, or its machine failed" if term.reason is None else term.reason
    if term.next_ms is None or term.ended_ms is None:
        return how
    return f"{how}; the next began after {duration(term.next_ms - term.ended_ms)}"


def _standby(one: StandbyInfo, now_ms: int) -> tuple[Cell, ...]:
    return (
        Cell(""),
        Cell(str(one.pid)),
        Cell("✕ silent", "error") if one.hung else Cell("◌ stands by", "waiting"),
        Cell(moment(one.since_ms, now_ms), "muted", rank=one.since_ms),
        _led(one.since_ms, now_ms, "muted"),
        _lag(one.beat_ms, "muted"),
        Cell("takes over from the leader", "muted"),
        Cell(""),
    )
