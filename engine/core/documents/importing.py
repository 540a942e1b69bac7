"""Renumbers the ids and names of an imported state, so that they do not collide with those in use.

The functions modify the state, which must have been decoded for them. Nothing is checked here: `admission` has done so.
The import itself is in `fold.importing`.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from msgspec import Raw

from engine.core.documents.document import number_of, point_to, text_refs
from engine.core.documents.ids import rename
from engine.core.encoding.codec import decode_state
from engine.core.state import State
from engine.core.validation.bounds import NAME

_LONGEST_NAME = 64


def compact(state: State) -> None:
    """Renumber the ids of each letter from 1, in document order."""
    given: dict[str, str] = {}
    count: Counter[str] = Counter()

    def new_id(old: str) -> str:
        if old not in given:
            count[old[:1]] += 1
            given[old] = f"{old[:1]}{count[old[:1]]}"
        return given[old]

    rename(state, new_id)
    state.minted = dict(count)


def raise_ids(part: State, above: Mapping[str, int], *, taken: Collection[str]) -> None:
    """Raise the ids of a document, or of a part of one, above those in use at the destination.

    Args:
        part: The document, or a part of its entities.
        above: Offset by letter of the id; empty changes nothing.
        taken: Names of existing roots; an imported root with the same name gets a number.
    """
    if not above:
        return
    rename(part, lambda old: f"{old[:1]}{int(old[1:]) + above.get(old[:1], 0)}")
    part.minted = {}
    for root in part.roots:
        root.name = free_name(root.name, taken)


def free_name(name: str, taken: Collection[str]) -> str:
    """Return `name`, with the smallest suffix that makes it unused."""
    number, free = 1, name
    while free in taken:
        number += 1
        suffix = f"-{number}"
        free = name[: _LONGEST_NAME - len(suffix)] + suffix
    assert NAME.fullmatch(free)
    return free


def state_from(document: Raw, seq: int) -> State:
    """Decode the state of a document whose texts event `seq` carries.

    Raises:
        ValueError: If it is not a state document.
    """
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
        point_to(ref, seq, number - first if first else None)
    return state
