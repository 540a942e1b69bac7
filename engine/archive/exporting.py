"""Exports an archive from the files of a database, with or without an engine, also from a read-only folder."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from engine.archive.container import write_parts
from engine.archive.manifest import (
    EVENTS,
    MANIFEST,
    MAX_BYTES,
    STATE,
    TEXTS,
    Manifest,
    check_amount,
    counts_of,
    limit_exceeded,
)
from engine.core.documents.document import bound_references_in, text_refs, write_document
from engine.core.encoding.codec import decode_state_fast
from engine.core.encoding.strict_json import NotStrict
from engine.core.errors import CorruptJournal
from engine.core.queries.targets import find_supervisor
from engine.core.records.records import JsonValue
from engine.core.records.values import TextRef
from engine.core.transfer.exporting import make_document
from engine.errors import ExportRefused
from engine.platform.garbage import collection_paused
from engine.platform.version import program_version
from engine.reading.folding import fold_from, pages
from engine.reading.texts import walk
from store import Reader
from store.wall_clock import wall_ms


@dataclass(frozen=True, slots=True)
class ExportResult:
    """The result of an export."""

    path: Path
    bytes: int
    seq: int
    """The last event that is included."""
    state_sha256: str
    bound: list[str]
    """Bound callables, whose agents have to be swapped after an import."""


@collection_paused()
def export_archive(
    db: Path, target: Path, *, history: bool = False, overwrite: bool = False, only: str | None = None
) -> ExportResult:
    """Write the state of a database into an archive, atomically; blocks.

    Args:
        db: The database; its engine may be at work.
        target: Path of the archive.
        history: Include all events, for other programs.
        overwrite: Replace an existing file.
        only: Id or name of a supervisor whose subtree to export; None exports everything.

    Raises:
        StoreError, CoreError: If the database cannot be read, or has no such supervisor.
        ExportRefused: If the archive cannot be written there, or would be too large.
    """
    _check_target(db, target, overwrite=overwrite)
    with Reader(db) as reader:
        state = fold_from(reader, decode=decode_state_fast)
        seq, at_ms = state.seq, state.at_ms
        part = find_supervisor(state, only).id if only is not None else None
        texts = make_document(state, resolver_of(reader, text_refs(state)), only=part)
        document = write_document(state, texts)
        parts = {STATE: document.body, TEXTS: msgspec.json.Encoder().encode_lines(texts)}
        if history:
            parts[EVENTS] = _events(target, reader, seq)
    manifest = Manifest(
        program=program_version(),
        created_ms=wall_ms(),
        seq=seq,
        at_ms=at_ms,
        counts=counts_of(state, len(texts)),
        bound=bound_references_in(state),
        parts={name: hashlib.sha256(body).hexdigest() for name, body in parts.items()},
        state_sha256=document.sha256,
    )
    _check_size(target, sum(map(len, parts.values())), history=history)
    try:
        check_amount(parts)
    except NotStrict as error:
        raise ExportRefused(
            target, f"cannot be written, because it could not be imported again: {error}; let open runs finish first"
        ) from error
    if (refusal := limit_exceeded(manifest.counts, at_work=False)) is not None:
        raise ExportRefused(target, refusal.replace("holds", "would hold", 1))
    first = (MANIFEST, msgspec.json.format(msgspec.json.encode(manifest), indent=1))
    size = write_parts(target, [first, *parts.items()], overwrite=overwrite)
    return ExportResult(target, size, seq, manifest.state_sha256, manifest.bound)


def _check_target(db: Path, target: Path, *, overwrite: bool) -> None:
    """Refuse an unusable target before the work, above all the database itself or a file beside it."""
    own = db.resolve()
    own_files = {own.with_name(own.name + suffix) for suffix in ("", "-wal", "-shm", "-inbox", "-live", "-lock")}
    try:
        if target.resolve() in own_files or (target.exists() and own.exists() and target.samefile(own)):
            raise ExportRefused(target, "belongs to the database itself; give another name")
        if target.is_dir():
            raise ExportRefused(target, "is a folder; give the name of a file in it")
        if target.exists() and not overwrite:
            raise ExportRefused(target, "already exists; give another name or --force")
    except (OSError, ValueError) as error:
        raise ExportRefused(target, f"cannot be written ({getattr(error, 'strerror', None) or error})") from error


def _check_size(target: Path, size: int, *, history: bool) -> None:
    if size > MAX_BYTES:
        hint = "leave out --history" if history else "let open runs finish first"
        raise ExportRefused(target, f"would hold {size / 1e6:,.0f} MB, more than can be imported again; {hint}")


def resolver_of(reader: Reader, refs: Iterable[TextRef]) -> Callable[[TextRef], JsonValue]:
    """Return a function that finds texts in the journal, reading every event only once."""
    seqs = sorted({ref.seq for ref in refs})
    bodies = {seq: msgspec.json.decode(body) for seq, body in reader.bodies(seqs).items()}

    def resolve(ref: TextRef) -> JsonValue:
        try:
            text: JsonValue = walk(bodies[ref.seq], ref.path)
        except (KeyError, IndexError, AttributeError, ValueError) as error:
            raise CorruptJournal(ref.seq, f"it has no text at {ref.path!r}") from error
        return text

    return resolve


def _events(target: Path, reader: Reader, until_seq: int) -> bytes:
    lines: list[bytes] = []
    size = 0
    for line in _event_lines(reader, until_seq):
        lines.append(line)
        size += len(line)
        if size > MAX_BYTES:
            _check_size(target, size, history=True)
    return b"".join(lines)


def _event_lines(reader: Reader, until_seq: int) -> Iterator[bytes]:
    """Yield each event as `quarterdeck events --json` prints it, in UTF-8."""
    for records in pages(reader, max(0, reader.first_seq() - 1), until_seq):
        for record in records:
            head = {
                "seq": record.seq,
                "at_ms": record.at_ms,
                "kind": record.kind,
                "run_id": record.run_id,
                "task_id": record.task_id,
                "agent_id": record.agent_id,
            }
            # The body is JSON already, so it is inserted without parsing.
            yield json.dumps(head, separators=(",", ":")).encode()[:-1] + b',"body":' + record.body + b"}\n"
