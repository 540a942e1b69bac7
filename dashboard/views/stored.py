"""Stored states of a team as rows: its snapshots, and the archives and forks beside its file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from dashboard.views.drawing.lines import Line, Span, cut_path, line, pad
from dashboard.views.drawing.plots import meter
from dashboard.views.drawing.row_pane import RowDetails, labelled_paragraphs
from dashboard.views.drawing.rows import Cell, Column, Listing, empty_message, labelled_cell, make_cells, matches
from dashboard.views.drawing.sections import EDGE_WIDTH, Section, draw_side_by_side
from dashboard.views.words.amounts import ago, duration, moment, pluralize, size
from dashboard.views.words.help import SEQ_MEANING
from dashboard.views.words.keyed import fill_keys
from engine.core.queries.team.tree import open_tasks
from engine.core.state import State
from store.journals.records import SnapshotInfo

NEWEST = "newest"
"""Key of the row of the current state."""
SIDE_BY_SIDE_MIN_WIDTH = 110
"""Minimum cells to show the kinds of events beside the contents of a row."""

_COMPARES, _EXPORTS = "<diff:=> compares", " · <export:x> exports"


@dataclass(frozen=True, slots=True)
class SiblingFile:
    """An archive or a fork of this team."""

    kind: Literal["archive", "fork"]
    path: str
    name: str
    at_ms: int
    """When it was written, UTC milliseconds."""
    bytes: int


@dataclass(frozen=True, slots=True)
class StoredStates:
    """The stored states in the file and its folder."""

    first_seq: int = 0
    last_seq: int = 0
    newest_ms: int = 0
    bytes: int = 0
    snapshots: Sequence[SnapshotInfo] = ()
    """The newest first."""
    files: Sequence[SiblingFile] = ()
    """The newest first."""


class StoredRow(NamedTuple):
    """A stored state, with what its cells are made from."""

    kind: str
    enter: str
    """What enter does with it."""
    at_ms: int
    bytes: int
    now_ms: int
    seq: int | None = None
    tone: str = ""
    is_shown: bool = False
    """Whether the screens show the team as it was then."""


def _ago_cell(row: StoredRow) -> Cell:
    age = duration(max(0, row.now_ms - row.at_ms) // 1000 * 1000) if row.at_ms else ""
    return Cell(age, "muted", rank=row.at_ms)


COLUMNS: tuple[Column[StoredRow, Any], ...] = (
    Column("WHAT", 10, meaning="● the newest state, ▾ a snapshot, ▣ an archive, ◫ a fork",
           cell=lambda row: Cell(row.kind, row.tone)),
    Column("SEQ", 12, right=True, meaning=SEQ_MEANING,
           cell=lambda row: Cell("" if row.seq is None else f"{row.seq:,}", "past" if row.is_shown else "")),
    Column("AT", 19, meaning="when it was written, by the clock of the engine",
           cell=lambda row: Cell(moment(row.at_ms, row.now_ms) if row.at_ms else "", "muted", rank=row.at_ms)),
    Column("AGO", 13, right=True, drop=2, calm=True, meaning="how long ago that was", cell=_ago_cell),
    Column("SIZE", 9, right=True, drop=1, meaning="of the stored state",
           cell=lambda row: Cell(size(row.bytes) if row.bytes else "", "muted", rank=row.bytes)),
    Column("ENTER", 26, grow=1, meaning="what enter does with the row",
           cell=lambda row: Cell(row.enter, "past" if row.is_shown else "faint")),
)  # fmt: skip


def stored_listing(
    stored: StoredStates, *, shown_seq: int, now_ms: int, needle: str = "", is_loaded: bool = True
) -> Listing:
    """Return the rows: the newest state, snapshots, archives, forks. Keys: `newest`, seqs, paths.

    Args:
        shown_seq: The event after which the screens show the team.
        is_loaded: False until the stored states have been read.
    """
    stored_rows = {NEWEST: _newest_row(stored, now_ms)}
    stored_rows |= {str(snapshot.seq): _snapshot_row(snapshot, shown_seq, now_ms) for snapshot in stored.snapshots}
    stored_rows |= {file.path: _file_row(file, now_ms) for file in stored.files}
    rows = {key: make_cells(COLUMNS, row) for key, row in stored_rows.items()}
    keys = [key for key, cells in rows.items() if matches(needle, *(cell.text for cell in cells))]
    empty = empty_message(needle, "row", "nothing is stored yet")
    return Listing(COLUMNS, keys, lambda key: rows.get(key, ()), empty if is_loaded else ("reading …",), len(rows))


def _newest_row(stored: StoredStates, now_ms: int) -> StoredRow:
    return StoredRow("● newest", "back to live", stored.newest_ms, stored.bytes, now_ms, stored.last_seq, "busy")


def _snapshot_row(snapshot: SnapshotInfo, shown_seq: int, now_ms: int) -> StoredRow:
    is_shown = snapshot.seq == shown_seq
    enter, tone = ("is shown", "past") if is_shown else ("go back to this moment", "")
    return StoredRow("▾ snapshot", enter, snapshot.at_ms, snapshot.bytes, now_ms, snapshot.seq, tone, is_shown)


def _file_row(file: SiblingFile, now_ms: int) -> StoredRow:
    kind, does = ("▣ archive", "look into it, import it") if file.kind == "archive" else ("◫ fork", "open it")
    return StoredRow(kind, f"{file.name} · {does}", file.at_ms, file.bytes, now_ms, tone="accent")


def describe_stored(
    stored: StoredStates,
    key: str,
    holds: Sequence[Line] | None,
    kinds: Mapping[str, int],
    *,
    shown_seq: int,
    now_ms: int,
    width: int,
    height: int,
) -> RowDetails | None:
    """Describe a stored state: its place, its size, its contents, and what can be done with it.

    Args:
        holds: Its contents, from `team_summary`; None while they are read.
        kinds: Number of events in the journal by kind.
        shown_seq: The event after which the screens show the team.
    """
    file = next((file for file in stored.files if file.path == key), None)
    snapshot = next((snapshot for snapshot in stored.snapshots if str(snapshot.seq) == key), None)
    if file is not None:
        title, cells = file.kind.upper(), _describe_file(file, now_ms)
    elif snapshot is not None:
        title, cells = "SNAPSHOT", _describe_snapshot(snapshot, stored, shown_seq, now_ms)
    else:
        does = f"enter goes back to live · {_COMPARES} the moment that is shown with it{_EXPORTS} it"
        journal = f"seq {stored.first_seq:,} to {stored.last_seq:,}, {size(stored.bytes)}"
        title, cells = "NEWEST", [labelled_cell("journal", journal), labelled_cell("does", fill_keys(does))]
    lines = labelled_paragraphs(cells, width)
    room = max(1, height - len(lines))
    # Kinds are counted in this journal only.
    left = width * 3 // 5 if width >= SIDE_BY_SIDE_MIN_WIDTH and kinds and file is None else width
    contents = Section("HOLDS", holds if holds is not None else [line(Span("reading …", "faint"))])
    panes = [([contents], left)]
    if left < width:
        inner = width - left - EDGE_WIDTH
        events = Section("EVENTS BY KIND", _kind_lines(kinds, inner, room - 1), "of the whole journal")
        panes.append(([events], width - left))
    return RowDetails(title, [*lines, *draw_side_by_side(panes, room)], "")


def _describe_file(file: SiblingFile, now_ms: int) -> list[Cell]:
    does = "switches to it; the team here goes on" if file.kind == "fork" else "looks into it, and can import it"
    return [
        Cell(file.name, "strong"),
        labelled_cell("file", f"{file.path}, {size(file.bytes)}"),
        labelled_cell("written", f"{moment(file.at_ms, now_ms)}, {ago(now_ms - file.at_ms)}"),
        labelled_cell("does", fill_keys(f"enter {does} · {_COMPARES} it with what is shown")),
    ]


def _describe_snapshot(snapshot: SnapshotInfo, stored: StoredStates, shown_seq: int, now_ms: int) -> list[Cell]:
    later = stored.last_seq - snapshot.seq
    enter = "is the moment that is shown" if snapshot.seq == shown_seq else "goes back to this moment"
    return [
        Cell(f"the team after seq {snapshot.seq:,}", "strong"),
        labelled_cell("written", f"{moment(snapshot.at_ms, now_ms)}, {ago(now_ms - snapshot.at_ms)}"),
        labelled_cell("size", f"{size(snapshot.bytes)}, packed; {pluralize(later, 'event')} since then"),
        labelled_cell(
            "does",
            fill_keys(
                f"enter {enter} · {_COMPARES} it with what is shown · <fork:F> there forks it{_EXPORTS} the newest"
            ),
        ),
    ]


def _kind_lines(kinds: Mapping[str, int], width: int, max_lines: int) -> list[Line]:
    """Return the most frequent kinds of events with their shares."""
    total = sum(kinds.values()) or 1
    bar = max(4, width - 20 - 10 - 2)
    lines = []
    for kind, number in sorted(kinds.items(), key=lambda pair: -pair[1])[: max(0, max_lines)]:
        name = pad(kind.replace("_", " "), 20)
        lines.append(line(Span(f"{name} "), *meter(number / total, bar, tone="plot-mid"), Span(f"{number:>10,}")))
    return lines


def stored_facts(state: State, stored: StoredStates, *, db: str, width: int) -> list[Line]:
    """Return facts about the file, its journal and the state of the team."""
    size_text = f"{size(stored.bytes)}" if stored.bytes else "…"
    events = stored.last_seq - max(1, stored.first_seq) + 1 if stored.last_seq else 0
    from_seq = f" from seq {stored.first_seq:,} on" if stored.first_seq > 1 else ""
    parts = (
        (len(state.agents), "agent"),
        (len(state.supervisors), "supervisor"),
        (len(state.runs), "open run"),
        (open_tasks(state), "open task"),
        (len(state.finished), "finished run"),
        (len(state.registry), "registered spec"),
    )
    facts = (
        ("file", f"{cut_path(db, max(10, width - len(size_text) - 18))}  {size_text}"),
        (
            "journal",
            f"{pluralize(events, 'event')}{from_seq}, {pluralize(len(stored.snapshots), 'snapshot')} of it",
        ),
        ("state", ", ".join(pluralize(number, noun) for number, noun in parts)),
        ("kept", "a snapshot every 5,000 events, archives (x), forks (F)"),
    )
    return labelled_paragraphs([labelled_cell(*fact) for fact in facts], width)
