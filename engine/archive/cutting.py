"""A checked archive in pieces, each small enough for an engine to take in between two commands.

First what it holds, in a few words; then its texts, and its entities, kind by kind; last of all the rest.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import msgspec

from engine.archive.manifest import INTO_ITS_OWN, LARGEST_AT_WORK, too_many
from engine.archive.reading import Archive
from engine.core.fact import JsonValue
from engine.core.transfer.document import Document, bound_in, entities, references_in, text_places
from engine.core.transfer.importing import compacted
from engine.errors import ImportRefused

T = TypeVar("T")

PIECE_BYTES = 48_000
"""How many bytes of JSON a piece has, unless one text or entity has more."""
KINDS = ("specs", "registry", "supervisors", "agents", "queues", "runs", "tasks", "timers", "escalations", "ledgers")
"""Kinds of entities, in the order in which they come."""
FINISHED = "finished"


def pieces(archive: Archive, *, at_work: bool) -> Iterator[dict[str, Any]]:
    """Yield what an archive holds, then its parts, and last of all the rest, its totals.

    Args:
        archive: Read and checked; used up.
        at_work: Whether it is for a database that holds a team, where its ids are made anew.

    Raises:
        ImportRefused: If one part of it would keep a team at work waiting.
    """
    document = compacted(archive.document) if at_work else archive.document
    held = contents(document, archive.manifest.counts)
    others = {"tasks of agents": held["tasks_of_agents"], "timers": len(entities(document, "timers"))}
    refusal = too_many(others, at_work=at_work)
    if refusal is not None:
        raise ImportRefused(None, f"the archive {refusal}")
    yield held
    for part in _parts(document, archive.texts):
        size = len(msgspec.json.encode(part)) if at_work else 0
        if size > LARGEST_AT_WORK + PIECE_BYTES:
            told = f"holds a text or an entity of {size / 1e6:,.1f} MB, more than a team at work takes in at once"
            raise ImportRefused(None, f"the archive {told}; {INTO_ITS_OWN}")
        yield part
    yield {"rest": {name: value for name, value in document.items() if name not in (*KINDS, FINISHED)}}


def contents(document: Document, counts: dict[str, int]) -> dict[str, Any]:
    """Return what a document holds, for whoever decides whether it comes in."""
    last: Counter[str] = Counter(document.get("minted"))  # type: ignore[arg-type]  # it was checked
    for kind in ("supervisors", "agents", "runs", "tasks", "escalations", FINISHED):
        for entity in entities(document, kind):
            last[entity["id"][:1]] = max(last[entity["id"][:1]], int(entity["id"][1:]))
    return {
        "counts": counts,
        "tasks_of_agents": sum(task["kind"] == "agent" for task in entities(document, "tasks")),
        "last": dict(last),
        "references": references_in(document),
        "bound": bound_in(document),
        "roots": [one["name"] for one in entities(document, "supervisors") if one.get("parent_id") is None],
        "registry": document.get("registry", {}),
    }


def _parts(document: Document, texts: list[JsonValue]) -> Iterator[dict[str, Any]]:
    shared = _taken_out({kind: document.get(kind, {}) for kind in KINDS}, texts)
    for some in _cut(shared):
        yield {"state": {}, "texts": some}
    for kind in KINDS:
        found = document.get(kind)
        for entries in _cut(found.items() if isinstance(found, dict) else ()):
            yield {"state": {kind: dict(entries)}, "texts": []}
    for summaries in _cut(entities(document, FINISHED)):
        part: Document = {FINISHED: [*summaries]}
        yield {"state": part, "texts": _taken_out(part, texts)}


def _taken_out(document: Document, texts: list[JsonValue]) -> list[JsonValue]:
    """Return the texts that a document refers to, and let its references count these."""
    places: dict[int, int] = {}
    for entity, name in text_places(document):
        number = int(entity[name]["path"].removeprefix("texts."))
        entity[name] = {"seq": 0, "path": f"texts.{places.setdefault(number, len(places))}"}
    return [texts[number] for number in places]


def _cut(items: Iterable[T]) -> Iterator[list[T]]:
    some: list[T] = []
    size = 0
    for item in items:
        more = len(msgspec.json.encode(item))
        if some and size + more > PIECE_BYTES:
            yield some
            some, size = [], 0
        some.append(item)
        size += more
    if some:
        yield some
