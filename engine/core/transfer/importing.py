"""Taking in a state where ids and names are in use already: both are made anew.

Functions of a state, or of a part of one, that was decoded for them alone. What the event does to the team is in
`fold.importing`; whether a document may come in is checked before, in `admission`, so nothing is checked here.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from msgspec import Raw

from engine.core.codec import decode_state
from engine.core.state import State
from engine.core.transfer.document import number_of, point_to, text_refs
from engine.core.transfer.ids import rename
from engine.core.validation.bounds import NAME

_LONGEST_NAME = 64


def compact(state: State) -> None:
    """Let the ids of each letter count from 1, in the order in which they stand in a document."""
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
    """Give the entities of a document, or of a part of one, ids that were never given where they are taken in.

    Args:
        part: Any of its entities.
        above: How much each id is raised by, by its letter; empty leaves everything as it is.
        taken: Names of root supervisors that are in use; a root with one of them gets a number.
    """
    if not above:
        return
    rename(part, lambda old: f"{old[:1]}{int(old[1:]) + above.get(old[:1], 0)}")
    part.minted = {}
    for root in part.roots:
        root.name = free_name(root.name, taken)


def free_name(name: str, taken: Collection[str]) -> str:
    """Return `name`, with the first number behind it that makes it none of those in use."""
    number, free = 1, name
    while free in taken:
        number += 1
        suffix = f"-{number}"
        free = name[: _LONGEST_NAME - len(suffix)] + suffix
    assert NAME.fullmatch(free)
    return free


def state_from(document: Raw, seq: int) -> State:
    """Return the state of a document, its texts being those that event `seq` carries.

    Raises:
        ValueError: If it is not a state document.
    """
    return part_from(document, [(0, seq)])


def part_from(part: Raw, texts: Sequence[tuple[int, int]]) -> State:
    """Return the entities of a part of a document.

    Args:
        part: What is left of the document when all but some entities are taken out.
        texts: Where the texts are: the number of the first that an event carries, and that event's seq, in order.

    Raises:
        ValueError: If it is not part of a state document.
    """
    state = decode_state(part)
    firsts = [first for first, _ in texts]
    for ref in text_refs(state):
        number = number_of(ref)
        first, seq = texts[bisect_right(firsts, number) - 1]
        point_to(ref, seq, number - first)
    return state
