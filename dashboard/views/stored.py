"""Stored states of a team as rows: its snapshots, and the archives and forks beside its file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from dashboard.views.drawing.lines import Line, Span, cut_path, line, padded
from dashboard.views.drawing.plots import meter
from dashboard.views.drawing.row_pane import More, worded
from dashboard.views.drawing.rows import Cell, Column, Listing, labelled, matches, nothing
from dashboard.views.drawing.sections import EDGE, Section, beside
from dashboard.views.words.amounts import ago, duration, moment, pluralize, size
from dashboard.views.words.keyed import keyed
from engine.core.queries.team.tree import open_tasks
from engine.core.state import State
from store.journals.records import SnapshotInfo

NEWEST = "newest"
"""Key of the row that stands for the state of now."""
_COLUMNS = (
    Column("WHAT", 10),
    Column("SEQ", 12, right=True),
    Column("AT", 19),
    Column("AGO", 13, right=True, drop=2, calm=True),
    Column("SIZE", 9, right=True, drop=1),
    Column("ENTER", 26, grow=1),
)
BESIDE_FROM = 110
"""Cells from which on the kinds of events stand beside what a row holds."""

_COMPARES, _EXPORTS = "<diff:=> compares", " · <export:x> exports"


@dataclass(frozen=True, slots=True)
class Beside:
    """A file that was made of this team."""

    kind: Literal["archive", "fork"]
    path: str
    name: str
    at_ms: int
    """When it was written, UTC milliseconds."""
    bytes: int


@dataclass(frozen=True, slots=True)
class Stored:
    """What the file and its folder hold."""

    first_seq: int = 0
    last_seq: int = 0
    newest_ms: int = 0
    bytes: int = 0
    snapshots: Sequence[SnapshotInfo] = ()
    """The newest first."""
    beside: Sequence[Beside] = ()
    """The newest first."""


def stored(found: Stored, *, shown_seq: int, now_ms: int, needle: str = "", looked: bool = True) -> Listing:
    """Return the rows: the newest state, snapshots, archives, forks. Keys: `newest`, seqs, paths.

    Args:
        shown_seq: The event after which the screens show the team.
        looked: False until it has been read.
    """
    rows = {NEWEST: _newest(found, now_ms)}
    rows |= {str(one.seq): _snapshot(one, shown_seq, now_ms) for one in found.snapshots}
    rows |= {one.path: _beside(one, now_ms) for one in found.beside}
    keys = [key for key, cells in rows.items() if matches(needle, *(cell.text for cell in cells))]
    empty = nothing(needle, "row", "nothing is stored yet")
    return Listing(_COLUMNS, keys, lambda key: rows.get(key, ()), empty if looked else ("reading …",), len(rows))


def _newest(found: Stored, now_ms: int) -> tuple[Cell, ...]:
    return (
        Cell("● newest", "busy"),
        Cell(f"{found.last_seq:,}"),
        Cell(moment(found.newest_ms, now_ms) if found.newest_ms else "", "muted", rank=found.newest_ms),
        Cell(_ago(found.newest_ms, now_ms), "muted", rank=found.newest_ms),
        Cell(size(found.bytes) if found.bytes else "", "muted", rank=found.bytes),
        Cell("back to live", "faint"),
    )


def _snapshot(one: SnapshotInfo, shown_seq: int, now_ms: int) -> tuple[Cell, ...]:
    here = one.seq == shown_seq
    return (
        Cell("▾ snapshot", "past" if here else ""),
        Cell(f"{one.seq:,}", "past" if here else ""),
        Cell(moment(one.at_ms, now_ms), "muted", rank=one.at_ms),
        Cell(_ago(one.at_ms, now_ms), "muted", rank=one.at_ms),
        Cell(size(one.bytes), "muted", rank=one.bytes),
        Cell("is shown" if here else "go back to this moment", "past" if here else "faint"),
    )


def _beside(one: Beside, now_ms: int) -> tuple[Cell, ...]:
    archive = one.kind == "archive"
    return (
        Cell("▣ archive" if archive else "◫ fork", "accent"),
        Cell(""),
        Cell(moment(one.at_ms, now_ms), "muted", rank=one.at_ms),
        Cell(_ago(one.at_ms, now_ms), "muted", rank=one.at_ms),
        Cell(size(one.bytes), "muted", rank=one.bytes),
        Cell(f"{one.name} · {'look into it, import it' if archive else 'open it'}", "faint"),
    )


def of_stored(
    found: Stored,
    key: str,
    holds: Sequence[Line] | None,
    kinds: Mapping[str, int],
    *,
    shown_seq: int,
    now_ms: int,
    width: int,
    height: int,
) -> More | None:
    """Return what is stored under a row: where, how large, what it holds, and what can be done with it.

    Args:
        holds: What it holds, as `holdings` tells it; None while it is being read.
        kinds: How many events of each kind the journal has.
        shown_seq: The event after which the screens show the team.
    """
    file = next((one for one in found.beside if one.path == key), None)
    snapshot = next((one for one in found.snapshots if str(one.seq) == key), None)
    if file is not None:
        what, told = file.kind.upper(), _of_file(file, now_ms)
    elif snapshot is not None:
        what, told = "SNAPSHOT", _of_snapshot(snapshot, found, shown_seq, now_ms)
    else:
        what, told = (
            "NEWEST",
            [
                labelled("journal", f"seq {found.first_seq:,} to {found.last_seq:,}, {size(found.bytes)}"),
                labelled(
                    "does",
                    keyed(f"enter goes back to live · {_COMPARES} the moment that is shown with it{_EXPORTS} it"),
                ),
            ],
        )
    lines = worded(told, width)
    room = max(1, height - len(lines))
    left = width * 3 // 5 if width >= BESIDE_FROM and kinds and file is None else width  # kinds are of this journal
    held = Section("HOLDS", holds if holds is not None else [line(Span("reading …", "faint"))])
    panes = [([held], left)]
    if left < width:
        inner = width - left - EDGE
        panes.append(
            ([Section("EVENTS BY KIND", _kind_lines(kinds, inner, room - 1), "of the whole journal")], width - left)
        )
    return More(what, [*lines, *beside(panes, room)], "")


def _of_file(file: Beside, now_ms: int) -> list[Cell]:
    does = "switches to it; the team here goes on" if file.kind == "fork" else "looks into it, and can import it"
    return [
        Cell(file.name, "strong"),
        labelled("file", f"{file.path}, {size(file.bytes)}"),
        labelled("written", f"{moment(file.at_ms, now_ms)}, {ago(now_ms - file.at_ms)}"),
        labelled("does", keyed(f"enter {does} · {_COMPARES} it with what is shown")),
    ]


def _of_snapshot(snapshot: SnapshotInfo, found: Stored, shown_seq: int, now_ms: int) -> list[Cell]:
    later = found.last_seq - snapshot.seq
    enter = "is the moment that is shown" if snapshot.seq == shown_seq else "goes back to this moment"
    return [
        Cell(f"the team after seq {snapshot.seq:,}", "strong"),
        labelled("written", f"{moment(snapshot.at_ms, now_ms)}, {ago(now_ms - snapshot.at_ms)}"),
        labelled("size", f"{size(snapshot.bytes)}, packed; {pluralize(later, 'event')} since then"),
        labelled(
            "does",
            keyed(f"enter {enter} · {_COMPARES} it with what is shown · <fork:F> there forks it{_EXPORTS} the newest"),
        ),
    ]


def _kind_lines(kinds: Mapping[str, int], width: int, most: int) -> list[Line]:
    """Return the kinds of events that there are most of, each with its share."""
    total = sum(kinds.values()) or 1
    bar = max(4, width - 20 - 10 - 2)
    lines = []
    for kind, number in sorted(kinds.items(), key=lambda one: -one[1])[: max(0, most)]:
        name = padded(kind.replace("_", " "), 20)
        lines.append(line(Span(f"{name} "), *meter(number / total, bar, tone="plot-mid"), Span(f"{number:>10,}")))
    return lines


def _ago(at_ms: int, now_ms: int) -> str:
    return duration(max(0, now_ms - at_ms) // 1000 * 1000) if at_ms else ""


def stored_facts(state: State, found: Stored, *, db: str, width: int) -> list[Line]:
    """Return what the file is, what it holds, and what the team is made of, in as many lines as it needs."""
    kept = f"{size(found.bytes)}" if found.bytes else "…"
    events = found.last_seq - max(1, found.first_seq) + 1 if found.last_seq else 0
    from_seq = f" from seq {found.first_seq:,} on" if found.first_seq > 1 else ""
    parts = (
        (len(state.agents), "agent"),
        (len(state.supervisors), "supervisor"),
        (len(state.runs), "open run"),
        (open_tasks(state), "open task"),
        (len(state.finished), "finished run"),
        (len(state.registry), "registered spec"),
    )
    facts = (
        ("file", f"{cut_path(db, max(10, width - len(kept) - 18))}  {kept}"),
        (
            "journal",
            f"{pluralize(events, 'event')}{from_seq}, {pluralize(len(found.snapshots), 'snapshot')} of it",
        ),
        ("state", ", ".join(pluralize(number, noun) for number, noun in parts)),
        ("kept", "a snapshot every 5,000 events, archives (x), forks (F)"),
    )
    return worded([labelled(*fact) for fact in facts], width)
