"""Cuts a checked archive into pieces, each small enough to be imported between two commands.

First its contents in brief, then texts and entities by kind, last the totals.
"""

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from engine.archive.manifest import INTO_ITS_OWN, LARGEST_AT_WORK, too_many
from engine.archive.reading import Archive, Contents
from engine.core.documents.document import KINDS, number_of, point_to, text_refs
from engine.core.documents.importing import compact
from engine.core.encoding.codec import encode_state
from engine.core.records.records import JsonValue, changed
from engine.core.state import State
from engine.core.transfer.approvals import forget_approvals
from engine.errors import ImportRefused

PIECE_BYTES = 48_000
"""Size of a piece in bytes of JSON, unless a single text or entity is larger."""


class Part(Struct, tag=True):
    """Some entities or texts."""

    state: Raw
    texts: list[JsonValue] = []


class Rest(Struct, tag=True):
    """The totals."""

    state: Raw


class Refusal(Struct, tag=True):
    """The reason for a refusal."""

    reason: str


Piece: TypeAlias = Contents | Part | Rest | Refusal


def pieces(archive: Archive, *, at_work: bool) -> Iterator[Piece]:
    """Yield the contents of an archive in brief, then its parts, last the totals.

    Args:
        archive: The checked archive.
        at_work: Whether the database contains a team, so that ids are renumbered.

    Raises:
        ImportRefused: If a part is so large that it would delay a team at work.
    """
    state, held = archive.state, archive.contents
    refusal = too_many({"tasks of agents": held.tasks_of_agents, "timers": len(state.timers)}, at_work=at_work)
    if refusal is not None:
        raise ImportRefused(None, f"the archive {refusal}")
    forget_approvals(state)
    if at_work:
        compact(state)
        held = replace(held, last=state.minted)
    yield held
    for size, part in _parts(state, archive.texts):
        if at_work and size > LARGEST_AT_WORK:
            told = f"holds a text or an entity of {size / 1e6:,.1f} MB, more than a team at work takes in at once"
            raise ImportRefused(None, f"the archive {told}; {INTO_ITS_OWN}")
        yield part
    yield Rest(Raw(encode_state(changed(state, **{kind: {} for kind in KINDS}, finished=[]))))


def _parts(state: State, texts: list[JsonValue]) -> Iterator[tuple[int, Part]]:
    """Yield parts with their sizes in bytes; finished runs carry their own texts, which are looked up one by one."""
    finished = state.finished
    state = changed(state, finished=[])
    for size, some in _cut(_taken_out(state, texts)):
        yield size, Part(Raw(b"{}"), [msgspec.json.decode(text) for text in some])
    for kind in KINDS:
        there = getattr(state, kind)
        for size, entries in _cut({key: there[key]} for key in there):
            yield size, Part(Raw(b'{"%b":{%b}}' % (kind.encode(), b",".join(entry[1:-1] for entry in entries))))
    for size, summaries in _cut(finished):
        part = msgspec.json.decode(b'{"finished":[%b]}' % b",".join(summaries), type=State)
        brought = _taken_out(part, texts)
        yield size + len(msgspec.json.encode(brought)), Part(Raw(encode_state(part)), brought)


def _taken_out(state: State, texts: list[JsonValue]) -> list[JsonValue]:
    """Return the texts that a state refers to, renumbering its references accordingly."""
    places: dict[int, int] = {}
    for ref in text_refs(state):
        point_to(ref, 0, places.setdefault(number_of(ref), len(places)))
    return [texts[number] for number in places]


def _cut(items: Iterable[Any]) -> Iterator[tuple[int, list[bytes]]]:
    """Yield groups of encoded items of at most `PIECE_BYTES`, with their sizes."""
    some: list[bytes] = []
    size = 0
    for body in map(msgspec.json.encode, items):
        if some and size + len(body) > PIECE_BYTES:
            yield size, some
            some, size = [], 0
        some.append(body)
        size += len(body)
    if some:
        yield size, some
