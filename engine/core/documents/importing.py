"""Renumbers the ids and names of an imported state, so that they do not collide with those in use.

The functions modify the state, which must have been decoded for them. Nothing is checked here: `admission` has done so.
The import itself is in `fold.importing`.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from msgspec import Raw

from engine.core.documents.document import number_of, redirect_ref, text_refs
from engine.core.documents.ids import rename_ids
from engine.core.encoding.codec import decode_state
from engine.core.state import State
from engine.core.validation.bounds import NAME

_MAX_NAME_CHARS = 64


def compact_ids(state: State) -> None:
    """Renumber the ids of each letter from 1, in document order."""
    new_ids: dict[str, str] = {}
    count: Counter[str] = Counter()

    def new_id(old: str) -> str:
        if old not in new_ids:
            count[old[:1]] += 1
            new_ids[old] = f"{old[:1]}{count[old[:1]]}"
        return new_ids[old]

    rename_ids(state, new_id)
    state.minted = dict(count)


def raise_ids(part: State, offsets: Mapping[str, int], *, used_names: Collection[str]) -> None:
    """Raise the ids of a document, or of a part of one, above those in use at the destination.

    Args:
        part: The document, or a part of its entities.
        offsets: Offset by letter of the id; empty changes nothing.
        used_names: Names of existing roots; an imported root with the same name gets a number.
    """
    if not offsets:
        return
    rename_ids(part, lambda old: f"{old[:1]}{int(old[1:]) + offsets.get(old[:1], 0)}")
    part.minted = {}
    for root in part.roots:
        root.name = free_name(root.name, used_names)


def free_name(name: str, used_names: Collection[str]) -> str:
    """Return `name`, with the smallest suffix that makes it unused."""
    number, free = 1, name
    while free in used_names:
        number += 1
        suffix = f"-{number}"
        free = name[: _MAX_NAME_CHARS - len(suffix)] + suffix
    assert NAME.fullmatch(free)
    return free


def state_from(document: Raw, seq: int) -> State:
    """Decode the state of a document whose texts event `seq` carries; raises ValueError if it is no state."""
    return part_from(document, [(0, seq)])


def part_from(part: Raw, texts: Sequence[tuple[int, int]]) -> State:
    """Return the entities of a part of a document.

    Args:
        part: A document that contains only some of the entities.
        texts: For each event that carries texts: the number of its first text, and its seq, in order.

    Raises:
        ValueError: If it is not part of a state document.
    """
    state = decode_state(part)
    firsts = [first for first, _ in texts]
    for ref in text_refs(state):
        number = number_of(ref)
        first, seq = texts[bisect_right(firsts, number) - 1]
        redirect_ref(ref, seq, number - first if first else None)
    return state
