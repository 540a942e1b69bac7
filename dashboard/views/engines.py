"""The engines of a file: standbys, the leader, and previous leaders with how each ended."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from dashboard.views.drawing.lines import Line, Span, hairline, pad
from dashboard.views.drawing.row_pane import RowDetails, indent_lines, labelled_paragraphs
from dashboard.views.drawing.rows import Cell, Column, Listing, empty_message, labelled_cell, make_cells, matches
from dashboard.views.event_log import Entry
from dashboard.views.header import leading_lines
from dashboard.views.situation import Situation
from dashboard.views.tail import TailLine, draw_tail
from dashboard.views.words.amounts import UNKNOWN, duration, moment, pluralize, stopwatch
from dashboard.views.words.help import STATE_MEANING
from dashboard.views.words.keyed import fill_keys
from engine.core.events import EngineStarted, EngineStopped
from engine.core.state import State
from store.journals.records import StandbyInfo

KINDS = ("engine_started", "engine_stopped")
LAST_EVENTS_MIN_ROWS = 20
"""Minimum rows below the facts to use half of them for the last events of an engine."""
_WHO, _GAP = 16, 24
"""Cells before and after the axis of time."""


@dataclass(frozen=True, slots=True)
class _Term:
    """The period for which one engine led."""

    seq: int
    started: EngineStarted
    ended_ms: int | None
    reason: str | None
    """Why it stopped; None if it was killed, or still leads."""
    next_ms: int | None
    """Start of the next engine."""
    leads: bool
    """Whether it leads at the moment shown."""


class EngineRow(NamedTuple):
    """An engine that leads, led, or stands by."""

    pid: int
    state: Cell
    since_ms: int
    until_ms: int | None
    """Its end, or now; None if it is unknown."""
    ended: str
    """How it ended, or what it waits for."""
    token: str = ""
    version: str = ""
    lag: Cell = Cell(UNKNOWN)
    leads: bool = False
    now_ms: int = 0


def _duration_cell(row: EngineRow) -> Cell:
    tone = "" if row.leads else "muted"
    if row.until_ms is None:
        return Cell(UNKNOWN, tone)
    return Cell(stopwatch(row.until_ms - row.since_ms), tone, rank=row.until_ms - row.since_ms)


COLUMNS: tuple[Column[EngineRow, Any], ...] = (
    Column("TOKEN", 5, right=True, meaning="number of the engine: each one that begins to lead adds one",
           cell=lambda row: Cell(row.token)),
    Column("PID", 7, right=True, meaning="the process of an engine", cell=lambda row: Cell(str(row.pid))),
    Column("STATE", 12, meaning=STATE_MEANING, cell=lambda row: row.state),
    Column("SINCE", 16, meaning="when it began",
           cell=lambda row: Cell(moment(row.since_ms, row.now_ms), "muted", rank=row.since_ms)),
    Column("FOR", 13, right=True, calm=True, meaning="how long an engine has led, or led", cell=_duration_cell),
    Column("LAG", 8, right=True, drop=1, calm=True, meaning="age of an engine's last heartbeat",
           cell=lambda row: row.lag),
    Column("ENDED", 16, grow=1, meaning="how an engine ended, and for how long none led",
           cell=lambda row: Cell(row.ended, "muted")),
    Column("VERSION", 14, drop=2, meaning="of the program that the engine runs",
           cell=lambda row: Cell(row.version, "muted")),
)  # fmt: skip


def engines(
    entries: Sequence[Entry], situation: Situation, *, needle: str = "", is_loaded: bool = True, past: bool = False
) -> Listing:
    """Return the engines: standbys, then the leader, then previous leaders, the newest first.

    Args:
        entries: Events of `KINDS`, the newest first.
        situation: The current leader and standbys.
        is_loaded: False until the events have been read.
        past: Whether a past moment is shown, for which only the events say who led.
    """
    engine_rows = {f"standby:{standby.pid}": _standby_row(standby, situation.now_ms) for standby in situation.standbys}
    for index, term in enumerate(_terms(entries, situation, past=past)):
        engine_rows[str(term.seq)] = _leader_row(term, situation, newest=index == 0)
    rows = {key: make_cells(COLUMNS, row) for key, row in engine_rows.items()}
    matching_keys = [
        key
        for key, cells in rows.items()
        if matches(needle, *(cell.text for cell in cells), status=engine_rows[key].state.text)
    ]
    empty = empty_message(needle, "engine", "no engine has worked on this file", "E  starts one")
    return Listing(
        COLUMNS, matching_keys, lambda key: rows.get(key, ()), empty if is_loaded else ("reading …",), len(rows)
    )


def describe_engine(
    entries: Sequence[Entry],
    situation: Situation,
    state: State,
    key: str,
    width: int,
    height: int,
    last: Sequence[TailLine] | None = None,
    *,
    past: bool = False,
) -> RowDetails | None:
    """Return the facts of an engine, the terms of all engines, and the last events of this one if they fit.

    Args:
        entries: Events of `KINDS`, the newest first.
        situation: The current leader and standbys.
        last: Its last events, the newest last; None while they are read.
        past: Whether a moment of the past is shown.
    """
    terms, now_ms = _terms(entries, situation, past=past), situation.now_ms
    term = next((term for term in terms if str(term.seq) == key), None)
    if term is None or (term.leads and not past):
        cells = leading_lines(state, situation)
    else:
        until_ms = now_ms if term.leads else term.ended_ms
        until = f", for {stopwatch(until_ms - term.started.at_ms)}" if until_ms is not None else ""
        cells = [
            labelled_cell(
                "leads" if term.leads else "led", f"engine {term.started.pid}, version {term.started.version}"
            ),
            labelled_cell("since", f"{moment(term.started.at_ms, now_ms)}{until}"),
            labelled_cell("token", f"{term.started.token}, raised by each new engine"),
        ]
        if not term.leads:
            cells.append(labelled_cell("ended", _describe_end(term), "" if term.reason is not None else "error"))
        if term.started.lost:
            cells.append(labelled_cell("lost", pluralize(term.started.lost, "acknowledged event"), "error"))
    lines = labelled_paragraphs(cells, width)
    room = max(0, height - len(lines) - 1)
    visible_terms = terms[: room // 2 if room >= LAST_EVENTS_MIN_ROWS else room]
    title = hairline("WHO LED WHEN", width, right=f"the last {len(visible_terms)} of {len(terms)}")
    lines += [title, *_term_lines(visible_terms, width, now_ms)]
    if room >= LAST_EVENTS_MIN_ROWS:
        lines += _last_lines(last, width, height - len(lines))
    return RowDetails("ENGINE", lines) if terms else None


def next_start_seq(entries: Sequence[Entry], key: str) -> int:
    """Return the seq of the start of the next engine; 0 for the last one."""
    later = [entry.seq for entry in entries if isinstance(entry.event, EngineStarted) and str(entry.seq) != key]
    return min((seq for seq in later if key.isdigit() and seq > int(key)), default=0)


def _last_lines(last: Sequence[TailLine] | None, width: int, height: int) -> list[Line]:
    lines = [hairline("WHAT IT DID LAST", width, right=fill_keys("<events:6> has all events"))]
    if not last:
        return [*lines, Line((Span(" reading …" if last is None else " nothing", "faint"),))]
    return [*lines, *indent_lines(draw_tail(last[-(height - 1) :], width - 2, 0))]


def _term_lines(terms: Sequence[_Term], width: int, now_ms: int) -> list[Line]:
    """Return a line for each term on a common axis of time, with the time without a leader before it."""
    if not terms:
        return []
    room = max(1, width - _WHO - _GAP - 2)
    begin_ms = terms[-1].started.at_ms
    each_ms = max(1, now_ms - begin_ms) / room
    lines = []
    for index, term in enumerate(terms):
        leads = term.leads
        ended_ms = now_ms if leads else term.ended_ms or term.next_ms or now_ms
        first = min(room - 1, int((term.started.at_ms - begin_ms) / each_ms))
        lasts = round((ended_ms - term.started.at_ms) / each_ms)
        cells = room - first if leads else max(1, min(room - first, lasts))
        before = terms[index + 1] if index + 1 < len(terms) else None
        off_ms = term.started.at_ms - before.ended_ms if before is not None and before.ended_ms is not None else None
        label = f" {term.started.token:>4}  {term.started.pid}"
        end = "" if leads else "■" if term.reason is not None else "✕"
        bar = Span("━" * (cells - len(end)), "busy" if leads else "busy-before")
        sign = Span(end, "stopped" if term.reason is not None else "error")
        rest = room - first - cells
        took = "" if off_ms is None else f"began after {duration(off_ms)}"
        lines.append(
            Line(
                (
                    Span(pad(label, _WHO), "" if leads else "muted"),
                    Span("─" * first, "line"),
                    bar,
                    sign,
                    Span("─" * rest, "line"),
                    Span(pad(took, _GAP, right=True), "muted"),
                ),
                str(term.seq),
            )
        )
    return lines


def _terms(entries: Sequence[Entry], situation: Situation, *, past: bool) -> list[_Term]:
    """Return the terms of engines, the newest first."""
    terms: list[_Term] = []
    info = situation.engine
    stop: tuple[int, str] | None = None
    next_ms: int | None = None
    for entry in entries:
        if isinstance(entry.event, EngineStopped):
            stop = (entry.at_ms, entry.event.reason)
        elif isinstance(entry.event, EngineStarted):
            ended_ms, reason = stop or (None, None)
            is_alive = info is not None and info.alive and info.token == entry.event.token
            leads = not terms and (stop is None if past else is_alive)
            terms.append(_Term(entry.seq, entry.event, ended_ms, reason, next_ms, leads))
            stop, next_ms = None, entry.at_ms
    return terms


def _leader_row(term: _Term, situation: Situation, *, newest: bool) -> EngineRow:
    now_ms, started, info = situation.now_ms, term.started, situation.engine
    its = info if newest and info is not None and info.token == started.token else None
    alive = term.leads
    ended_ms = now_ms if alive else term.ended_ms if its is None else its.ended_ms or its.heard_ms
    since_ms = its.since_ms if its is not None and alive else started.at_ms  # as in the header
    hung = its is not None and its.hung
    if alive:
        state = Cell("✕ hangs", "error") if hung else Cell("● leads", "busy")
    else:
        stopped = term.reason is not None
        state = Cell("■ stopped", "stopped") if stopped else Cell("✕ gone", "error" if newest else "muted")
    return EngineRow(
        started.pid,
        state,
        since_ms,
        ended_ms,
        "" if alive else _describe_end(term),
        str(started.token),
        started.version,
        _lag_cell(its.silent_ms if its is not None and alive else None, "error" if hung else "muted"),
        leads=alive,
        now_ms=now_ms,
    )


def _lag_cell(age_ms: float | None, tone: str) -> Cell:
    return Cell(UNKNOWN, tone) if age_ms is None else Cell(duration(age_ms, max_width=8), tone, rank=age_ms)


def _describe_end(term: _Term) -> str:
    """Describe how a term ended, and how long no engine led after it."""
    ending = "killed, or its machine failed" if term.reason is None else term.reason
    if term.next_ms is None or term.ended_ms is None:
        return ending
    return f"{ending}; the next began after {duration(term.next_ms - term.ended_ms)}"


def _standby_row(standby: StandbyInfo, now_ms: int) -> EngineRow:
    state = Cell("✕ silent", "error") if standby.hung else Cell("◌ stands by", "waiting")
    lag = _lag_cell(standby.beat_ms, "muted")
    return EngineRow(standby.pid, state, standby.since_ms, now_ms, "takes over from the leader", lag=lag, now_ms=now_ms)
