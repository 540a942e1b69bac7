"""A whole team as one value of JSON, and back."""

import uuid
from collections.abc import Iterable, Mapping
from typing import Any

import anyio.to_thread
from pydantic import JsonValue

from engine.archive.reading import complete_state, read_state
from engine.core.codec import decode_state, encode_state
from engine.core.document import bound_in, entities, references_in, text_refs
from engine.core.errors import NotTrusted
from engine.core.exporting import document_of
from engine.core.signals import StateReady
from engine.errors import CommandRefusedError
from engine.sender import sender_of
from engine.supervisor.local import LocalEngine


async def complete_state_of(engine: LocalEngine) -> dict[str, JsonValue]:
    """Return everything that an engine's state holds, texts included, as it is at the moment of the call."""
    body = encode_state(engine.state)
    copy = await anyio.to_thread.run_sync(decode_state, body)
    texts = {(ref.seq, ref.path): await engine.text(ref) for ref in text_refs(copy)}
    document, found = await anyio.to_thread.run_sync(document_of, copy, lambda ref: texts[ref.seq, ref.path])
    return complete_state(document, found)


def state_ready(
    value: Mapping[str, Any], name: str, engine: LocalEngine, *, paused: bool, trusted: Iterable[str]
) -> StateReady:
    """Check a value that `complete_state_of` made, and return what the core is to take in.

    Args:
        value: The value, from anywhere.
        name: What its first supervisor is called from now on.
        engine: Whose callables take the places of references that were bound to this process.
        paused: Whether its open runs wait.
        trusted: References that may be imported.

    Raises:
        ImportRefused: If it cannot be believed.
        CommandRefusedError: If it refers to code that may not be imported.
    """
    archive = read_state(value)
    root = next((one for one in entities(archive.document, "supervisors") if one.get("parent_id") is None), None)
    if root is not None:
        root["name"] = name
    for reference in bound_in(archive.document):
        engine.callables.adopt(reference)
    allowed, needed = set(trusted), references_in(archive.document)
    missing = sorted(one for one in needed if one not in allowed and not engine.callables.adopt(one))
    if missing:
        raise CommandRefusedError(
            NotTrusted.code,
            f"it calls code that is not trusted: {', '.join(missing)}; allow it with trusted=[…]",
        )
    return StateReady(
        order_id=uuid.uuid4().hex,
        sender=sender_of(),
        role="operator",
        path="",
        sha256="",
        paused=paused,
        state=archive.document,
        texts=archive.texts,
        granted=dict.fromkeys(needed, ""),
    )
