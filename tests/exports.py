"""The state of a world as an archive holds it, and such a state as it comes in elsewhere."""

from typing import Any

import msgspec
from msgspec import Raw
from pydantic import JsonValue

from engine.archive.manifest import FORMAT, VERSION, counts_of
from engine.core.documents.document import references_in
from engine.core.encoding.codec import decode_state, encode_state
from engine.core.signals import StateReady
from engine.core.state import State
from engine.core.transfer.approvals import forget_approvals
from engine.core.transfer.exporting import make_document
from engine.reading.texts import walk
from tests.world import World

Document = dict[str, Any]


def exported(world: World, *, only: str | None = None) -> tuple[State, list[JsonValue]]:
    """Export the state of a world, which is left as it was."""
    state = decode_state(encode_state(world.state))
    return state, make_document(state, lambda ref: walk(world.journal[ref.seq - 1], ref.path), only=only)


def ready(state: State, texts: list[JsonValue], *, paused: bool = False) -> StateReady:
    """Return what tells the core of an exported state, as the shell prepares it."""
    state = decode_state(encode_state(state))
    forget_approvals(state)
    return StateReady(
        order_id="import",
        sender="test",
        role="operator",
        path="team.zip",
        sha256="0",
        paused=paused,
        state=Raw(encode_state(state)),
        texts=texts,
        counts=counts_of(state, len(texts)),
        references=references_in(state),
        granted=dict.fromkeys(references_in(state), ""),
    )


def plain(state: State) -> Document:
    """Return an exported state as anybody can read and change it."""
    found: Document = msgspec.json.decode(encode_state(state))
    return found


def as_value(document: Document, texts: list[JsonValue]) -> dict[str, Any]:
    """Return a document with its texts as one value, as `serialize_complete_state` does."""
    return {"format": FORMAT, "version": VERSION, "state": document, "texts": texts}
