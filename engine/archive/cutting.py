"""Cuts a checked archive into pieces, each small enough to be imported between two commands.

First its contents in brief, then texts and entities by kind, last the totals.
"""

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from engine.archive.manifest import MAX_ENTITY_BYTES_AT_WORK, OWN_FILE_HINT, limit_exceeded
from engine.archive.reading import Archive, Contents
from engine.core.documents.document import KINDS, number_of, redirect_ref, text_refs
from engine.core.documents.importing import compact_ids
from engine.core.encoding.codec import encode_state
from engine.core.records.records import JsonValue, copy_with
from engine.core.state import State
from engine.core.transfer.approvals import forget_approvals
from engine.errors import ImportRefused

PIECE_BYTES = 48_000
"""Size of a piece in bytes of JSON, unless a single text or entity is larger."""


class ArchivePart(Struct, tag=True):
    """Some entities or texts."""

    state: Raw
    texts: list[JsonValue] = []


class Rest(Struct, tag=True):
    """The totals."""

    state: Raw


class Refusal(Struct, tag=True):
    """The reason for a refusal."""

    reason: str


Piece: TypeAlias = Contents | ArchivePart | Rest | Refusal


def pieces(archive: Archive, *, at_work: bool) -> Iterator[Piece]:
    """Yield the contents of an archive in brief, then its parts, last the totals.

    Args:
        archive: The checked archive.
        at_work: Whether the database contains a team, so that ids are renumbered.

    Raises:
        ImportRefused: If a part is so large that it would delay a team at work.
    """
    state, contents = archive.state, archive.contents
    refusal = limit_exceeded(
        {"tasks of agents": contents.tasks_of_agents, "timers": len(state.timers)}, at_work=at_work
    )
    if refusal is not None:
        raise ImportRefused(None, f"the archive {refusal}")
    forget_approvals(state)
    if at_work:
        compact_ids(state)
        contents = replace(contents, last=state.minted)
    yield contents
    for size, part in _parts(state, archive.texts):
        if at_work and size > MAX_ENTITY_BYTES_AT_WORK:
            reason = f"holds a text or an entity of {size / 1e6:,.1f} MB, more than a team at work takes in at once"
            raise ImportRefused(None, f"the archive {reason}; {OWN_FILE_HINT}")
        yield part
    yield Rest(Raw(encode_state(copy_with(state, **{kind: {} for kind in KINDS}, finished=[]))))


def _parts(state: State, texts: list[JsonValue]) -> Iterator[tuple[int, ArchivePart]]:
    """Yield parts with their sizes in bytes; finished runs carry their own texts, which are looked up one by one."""
    finished = state.finished
    state = copy_with(state, finished=[])
    for size, group in _group_encoded(_extract_texts(state, texts)):
        yield size, ArchivePart(Raw(b"{}"), [msgspec.json.decode(text) for text in group])
    for kind in KINDS:
        entities = getattr(state, kind)
        for size, entries in _group_encoded({key: entities[key]} for key in entities):
            yield size, ArchivePart(Raw(b'{"%b":{%b}}' % (kind.encode(), b",".join(entry[1:-1] for entry in entries))))
    for size, summaries in _group_encoded(finished):
        part = msgspec.json.decode(b'{"finished":[%b]}' % b",".join(summaries), type=State)
        part_texts = _extract_texts(part, texts)
        yield size + len(msgspec.json.encode(part_texts)), ArchivePart(Raw(encode_state(part)), part_texts)


def _extract_texts(state: State, texts: list[JsonValue]) -> list[JsonValue]:
    """Return the texts that a state refers to, renumbering its references accordingly."""
    places: dict[int, int] = {}
    for ref in text_refs(state):
        redirect_ref(ref, 0, places.setdefault(number_of(ref), len(places)))
    return [texts[number] for number in places]


def _group_encoded(items: Iterable[Any]) -> Iterator[tuple[int, list[bytes]]]:
    """Yield groups of encoded items of at most `PIECE_BYTES`, with their sizes."""
    group: list[bytes] = []
    size = 0
    for body in map(msgspec.json.encode, items):
        if group and size + len(body) > PIECE_BYTES:
            yield size, group
            group = []
            size = 0
        group.append(body)
        size += len(body)
    if group:
        yield size, group
