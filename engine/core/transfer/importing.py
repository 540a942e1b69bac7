"""Taking in a state document where ids and names are in use already: both are made anew.

Pure functions of the document. What the event does to the state is in `fold.importing`; whether a document may come in
is checked before, in `admission`, so nothing is checked here.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from msgspec.structs import force_setattr

from engine.core.codec import state_of
from engine.core.fact import JsonValue
from engine.core.state import State
from engine.core.transfer.document import Document, entities, text_refs
from engine.core.transfer.ids import with_ids
from engine.core.validation.bounds import NAME

_LONGEST_NAME = 64


def compacted(document: Document) -> Document:
    """Return a copy of a state document whose ids of each letter count from 1, in the order of the document."""
    given: dict[str, str] = {}
    count: Counter[str] = Counter()

    def new_id(old: str) -> str:
        if old not in given:
            count[old[:1]] += 1
            given[old] = f"{old[:1]}{count[old[:1]]}"
        return given[old]

    copy = with_ids(document, new_id)
    copy["minted"] = dict(count)
    return copy


def raised(part: Document, above: Mapping[str, int], *, taken: Collection[str]) -> Document:
    """Return a state document, or a part of one, whose ids were never given where they are taken in.

    Args:
        part: Any of its entities.
        above: How much each id is raised by, by its letter; empty leaves everything as it is.
        taken: Names of root supervisors that are in use; a root with one of them gets a number.
    """
    if not above:
        return part
    copy = with_ids(part, lambda old: f"{old[:1]}{int(old[1:]) + above.get(old[:1], 0)}")
    copy.pop("minted", None)
    for supervisor in entities(copy, "supervisors"):
        if supervisor.get("parent_id") is None:
            supervisor["name"] = free_name(supervisor["name"], taken)
    return copy


def free_name(name: str, taken: Collection[str]) -> str:
    """Return `name`, with the first number behind it that makes it none of those in use."""
    number, free = 1, name
    while free in taken:
        number += 1
        suffix = f"-{number}"
        free = name[: _LONGEST_NAME - len(suffix)] + suffix
    assert NAME.fullmatch(free)
    return free


def state_from(document: JsonValue, seq: int) -> State:
    """Return the state of a document, its texts being those that event `seq` carries.

    Raises:
        ValueError: If it is not a state document.
    """
    return part_from(document, [(0, seq)])


def part_from(part: JsonValue, texts: Sequence[tuple[int, int]]) -> State:
    """Return the entities of a part of a document.

    Args:
        part: What is left of the document when all but some entities are taken out.
        texts: Where the texts are: the number of the first that an event carries, and that event's seq, in order.

    Raises:
        ValueError: If it is not part of a state document.
    """
    state = state_of(part)
    firsts = [first for first, _ in texts]
    ref: Any
    for ref in text_refs(state):
        number = int(ref.path.removeprefix("texts."))
        first, seq = texts[bisect_right(firsts, number) - 1]
        # It was made a moment ago, and nobody else has it.
        force_setattr(ref, "seq", seq)
        force_setattr(ref, "path", f"texts.{number - first}")
    return state
