"""The journal as rows: all of it by seq, or the matches of a filter; loaded in blocks on demand.

Nothing here reads: the caller loads `missing_blocks` and stores them with `put`. The caches are bounded.
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple, overload

from dashboard.views.abridged import LARGE_BYTES, abridge
from dashboard.views.drawing.lines import Span
from dashboard.views.drawing.rows import Cell, Column, make_cells, visible_columns
from dashboard.views.search_hits import mark_hits, words_of
from dashboard.views.words.amounts import moment
from dashboard.views.words.filters import Filter
from dashboard.views.words.glyphs import event_glyph
from dashboard.views.words.help import AT_MEANING, SEQ_MEANING
from dashboard.views.words.names import Names
from dashboard.views.words.place import parse_seq
from dashboard.views.words.sentences import Sentence, sentence
from engine.core.events import Event
from store.journals.records import Record

BLOCK = 200
"""Records of one block."""
BLOCKS = 25
"""Maximum blocks in the cache."""
_ROUTINE = {"attempt_started": "muted", "attempt_resumed": "muted", "call_answered": "muted", "retry_due": "muted"}
"""Tones of routine events, which a later event makes obsolete."""
MAX_MATCHES = 5_000
"""Maximum rows of a filter."""


class Entry(NamedTuple):
    """An event with its seq and time."""

    seq: int
    at_ms: int
    kind: str
    event: Event
    excerpt: str = ""
    """Its text around the hit of a search."""

    @classmethod
    def of(cls, record: Record, event: Event) -> "Entry":
        """Build an entry; it takes the kind from the event, which shares one string per kind."""
        if len(record.body) > LARGE_BYTES:
            event = abridge(event)
        return cls(record.seq, event.at_ms, event.type, event)


def tone_of(entry: Entry, sentence: Sentence) -> str:
    """Return the tone of a sentence after a glyph, which marks done events already."""
    return _ROUTINE.get(entry.kind, "" if sentence.tone == "done" else sentence.tone)


class EventRow(NamedTuple):
    """An event, with what its cells are made from."""

    entry: Entry
    names: Names
    now_ms: int


def _sentence_cell(row: EventRow) -> Cell:
    event_sentence = sentence(row.entry.event, row.names)
    glyph, glyph_tone = event_glyph(row.entry.kind, row.entry.event)
    tone = tone_of(row.entry, event_sentence)
    return Cell(event_sentence.text, tone, spans=(Span(f"{glyph} ", glyph_tone), Span(event_sentence.text, tone)))


_TIME_WIDTH, _DATED_WIDTH = 8, 16
COLUMNS: tuple[Column[EventRow, Any], ...] = (
    Column("SEQ", 10, right=True, calm=True, meaning=SEQ_MEANING,
           cell=lambda row: Cell(f"{row.entry.seq:,}", "faint")),
    Column("AT", _TIME_WIDTH, calm=True, meaning=AT_MEANING,
           cell=lambda row: Cell(moment(row.entry.at_ms, row.now_ms), "muted")),
    Column("WHAT HAPPENED", 50, grow=1, calm=True, meaning="the event in a sentence", cell=_sentence_cell),
    Column("KIND", 18, drop=1, calm=True, meaning="the event as the journal calls it; kind:… filters by it",
           cell=lambda row: Cell(row.entry.kind, "faint")),
)  # fmt: skip
SENTENCE, GLYPH_WIDTH = 2, 2
"""Index of the column of sentences, and the cells of the glyph before a sentence."""
_DATED_COLUMNS = visible_columns(COLUMNS, {"AT": (_DATED_WIDTH, _DATED_WIDTH)})
"""Columns if some rows have a date."""


def cells_of(entry: Entry, names: Names, now_ms: int) -> tuple[Cell, ...]:
    """Return the row of an event."""
    return make_cells(COLUMNS, EventRow(entry, names, now_ms))


class SeqKeys(Sequence[str]):
    """The keys of a range of seqs, without a list of them."""

    def __init__(self, seqs: range) -> None:
        self._seqs = seqs

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        """Return a key, or a list of them."""
        if isinstance(index, slice):
            return [str(seq) for seq in self._seqs[index]]
        return str(self._seqs[index])

    def __len__(self) -> int:
        return len(self._seqs)


class DatedLog:
    """Base of logs whose times have a date if some rows are not of today."""

    now_ms = 0
    oldest_ms: int | None = None

    @property
    def columns(self) -> Sequence[Column[EventRow, Any]]:
        """The columns, wide enough for a date if there is one."""
        oldest_ms = self.now_ms if self.oldest_ms is None else self.oldest_ms
        return _DATED_COLUMNS if len(moment(oldest_ms, self.now_ms)) > _TIME_WIDTH else COLUMNS


class WholeLog(DatedLog):
    """All events of the file, by seq."""

    empty = ("nothing has happened yet", "an engine writes what it does here")

    def __init__(self, names: Names) -> None:
        self._names = names
        self._blocks: OrderedDict[int, list[Entry]] = OrderedDict()
        self._recent: Sequence[Entry] = ()
        self.first_seq = 1
        """The oldest event that is still in the file."""
        self.last_seq = 0
        self.missing_blocks: set[int] = set()
        """Blocks that are visible but not loaded."""

    @property
    def keys(self) -> Sequence[str]:
        return SeqKeys(range(self.first_seq, self.last_seq + 1))

    def grow(self, last_seq: int, recent: Sequence[Entry]) -> None:
        """Set the end of the journal; `recent` are its last events, without gaps."""
        self.last_seq, self._recent = last_seq, recent

    def put(self, block: int, entries: list[Entry]) -> None:
        """Store a block that was requested."""
        self.missing_blocks.discard(block)
        if entries:
            self._blocks[block] = entries
        while len(self._blocks) > BLOCKS:
            self._blocks.popitem(last=False)

    def entry(self, seq: int) -> Entry | None:
        """Return an event, or request its block and return None."""
        if self._recent and 0 <= (place := seq - self._recent[0].seq) < len(self._recent):
            return self._recent[place]
        block = seq // BLOCK
        entries = self._blocks.get(block)
        # A block that was loaded while it was the last one is incomplete.
        if entries and 0 <= (place := seq - entries[0].seq) < len(entries):
            self._blocks.move_to_end(block)
            return entries[place]
        self.missing_blocks.add(block)
        return None

    def entries_at(self, index: int) -> Sequence[Entry]:
        """Return the event of a row; none while its block is loaded."""
        entry = self.entry(self.first_seq + index)
        return [entry] if entry is not None else []

    def cells(self, index: int) -> Sequence[Cell]:
        """Return a row; only its seq while its block is loaded."""
        seq = self.first_seq + index
        entry = self.entry(seq)
        if entry is None:
            return (Cell(f"{seq:,}", "faint"), Cell(""), Cell("…", "faint"))
        return cells_of(entry, self._names, self.now_ms)

    def index(self, key: str | None) -> int | None:
        seq = parse_seq(key or "")
        return seq - self.first_seq if seq is not None and self.first_seq <= seq <= self.last_seq else None


class Search(NamedTuple):
    """A part of the journal that was searched."""

    entries: list[Entry]
    """Matching entries, the oldest first."""
    seq: int
    """Seq that the search has reached, inclusive."""
    complete: bool
    """Whether that is the end of the journal in the direction of the search."""


class FilteredLog(DatedLog):
    """The events that match a filter, the newest last."""

    def __init__(self, names: Names, needle: str, event_filter: Filter) -> None:
        self._names = names
        self._needle = needle
        self.event_filter, self._words = event_filter, words_of(event_filter)
        self.width = 50
        """Cells for a sentence."""
        self._entries: list[Entry] = []
        self.keys: list[str] = []
        self.from_seq: int | None = None
        """First seq of the searched range; None before the first search."""
        self.to_seq = 0
        """Last seq of the searched range."""
        self.complete = False
        """True once the search has reached the start of the journal."""

    @property
    def empty(self) -> Sequence[str]:
        """Text without rows: an invalid filter, a running search, or no match."""
        if self.event_filter.fault:
            return (self.event_filter.fault, "esc shows all events")
        if not self.complete:
            return ("searching the journal …", "esc shows all events")
        return (f"no event matches {self._needle!r}", "esc shows all events")

    def add_older(self, search: Search, last_seq: int) -> None:
        """Add the result of a search before the searched range.

        Args:
            search: The result.
            last_seq: End of the journal at the time of the search.
        """
        self.complete = search.complete or len(self._entries) + len(search.entries) > MAX_MATCHES
        self._hold(search.entries + self._entries)
        self.to_seq = self.to_seq if self.from_seq is not None else last_seq
        self.from_seq = search.seq

    def add_newer(self, search: Search) -> None:
        """Add the result of a search after the searched range."""
        self.to_seq = search.seq
        if search.entries:
            self._hold((self._entries + search.entries)[-MAX_MATCHES:])

    def _hold(self, entries: list[Entry]) -> None:
        # A list, because a table reads it for each row.
        self._entries, self.keys = entries, [str(entry.seq) for entry in entries]
        self.oldest_ms = entries[0].at_ms if entries else None

    def entries_at(self, index: int) -> Sequence[Entry]:
        """Return the event of a row."""
        return [self._entries[index]]

    def cells(self, index: int) -> Sequence[Cell]:
        """Return a row that shows where the filter has hit."""
        entry = self._entries[index]
        seq, at, sentence_cell, kind = cells_of(entry, self._names, self.now_ms)
        if self._words:
            glyph = sentence_cell.spans[0]
            marked = mark_hits(sentence_cell.text, sentence_cell.tone, entry.excerpt, self._words, self.width)
            sentence_cell = sentence_cell._replace(spans=(glyph, *marked))
        return (seq, at, sentence_cell, kind)

    def index(self, key: str | None) -> int | None:
        seq = parse_seq(key or "")
        return next((index for index, entry in enumerate(self._entries) if entry.seq == seq), None)
