"""Past states of a team for comparison: of a database after some event, or of an archive. Only reads.

Rule: an archive is checked completely before it is used, as for an import.
"""

import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import msgspec

from engine.core.documents.document import number_of
from engine.core.encoding.codec import decode_state, encode_state
from engine.core.errors import CorruptJournal
from engine.core.queries.differences import Difference, Read, differences
from engine.core.records.records import JsonValue
from engine.core.records.values import TextRef
from engine.core.state import State
from engine.core.transfer.exporting import make_document
from engine.errors import ImportRefused
from engine.reading.folding import fold_from
from engine.reading.texts import walk
from store import NotOurFile, Reader

_CACHED_BODIES = 256


@dataclass(frozen=True, slots=True)
class Moment:
    """The state of a team at one time."""

    path: Path
    state: State
    seq: int
    """Its last event; for an archive, that of the exported database."""
    read: Read
    """Reads a text that the state refers to."""
    file_id: str | None
    """Id of the database; None for an archive."""


@contextmanager
def open_moment(path: Path, seq_of: Callable[[Reader], int] | None = None) -> Iterator[Moment]:
    """Open an archive, or a database at a past state, by default its newest.

    Args:
        seq_of: Returns the event after which to read the database; not for archives, which have one state only.

    Raises:
        StoreError, CoreError: If it is not a Quarterdeck database, or cannot be folded.
        ImportRefused: If it is an invalid archive, or `seq_of` is given for an archive.
    """
    try:
        reader = Reader(path)
    except NotOurFile:
        # Tried as a database first, because opening and closing a database as a plain file drops SQLite's locks on it
        # in this process. Only a regular file is read: a pipe would wait for a writer, and a device never end.
        if not path.is_file() or not zipfile.is_zipfile(path):
            raise
        from engine.archive import read_archive  # takes 0.1 s to import

        archive = read_archive(path)
        texts = archive.texts
        if seq_of is not None:
            raise ImportRefused(
                path, f"is an archive, of seq {archive.manifest.seq:,} alone: leave out what follows @"
            ) from None
        yield Moment(path, archive.state, archive.manifest.seq, lambda ref: texts[number_of(ref)], None)
        return
    with reader:
        state = fold_from(reader, None if seq_of is None else seq_of(reader))
        yield Moment(path, state, state.seq, _texts_of(reader), reader.file_id)


def _texts_of(reader: Reader) -> Read:
    @lru_cache(_CACHED_BODIES)
    def body(seq: int) -> object:
        bodies = reader.bodies([seq])
        return msgspec.json.decode(bodies[seq]) if seq in bodies else None

    def read(ref: TextRef) -> JsonValue:
        try:
            text: JsonValue = walk(body(ref.seq), ref.path)
        except (KeyError, IndexError, AttributeError, TypeError, ValueError) as error:
            raise CorruptJournal(ref.seq, f"it has no text at {ref.path!r}") from error
        return text

    return read


def compare_moments(a: Moment, b: Moment) -> list[Difference]:
    """Return the differences from `a` to `b`; between a database and an archive only of what archives contain."""
    if (a.file_id is None) != (b.file_id is None):
        a, b = _as_in_archive(a), _as_in_archive(b)
    one_file = a.file_id is not None and a.file_id == b.file_id
    return differences(a.state, b.state, read_a=a.read, read_b=b.read, one_file=one_file)


def _as_in_archive(moment: Moment) -> Moment:
    """Return the state as its archive would contain it: without trust and team file, which belong to one database."""
    if moment.file_id is None:
        return moment
    state = decode_state(encode_state(moment.state))
    texts = make_document(state, moment.read)
    return replace(moment, state=state, read=lambda ref: texts[number_of(ref)], file_id=None)
