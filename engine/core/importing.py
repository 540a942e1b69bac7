"""Taking in a state document where ids and names are in use already: both are made anew.

Pure functions of the document. What the event does to the state is in `fold.importing`; whether a document may come in
is checked before, in `admission`, so nothing is checked here.
"""

from collections.abc import Callable, Collection
from functools import cache

from pydantic import JsonValue, TypeAdapter

from engine.core.document import entities, text_refs
from engine.core.document_ids import with_ids
from engine.core.state import State
from engine.core.validation.bounds import NAME

_LONGEST_NAME = 64


def renamed(document: JsonValue, mint: Callable[[str], str], *, taken: Collection[str] = ()) -> JsonValue:
    """Return a copy of a state document in which every id is new.

    Args:
        document: What `state.json` of an archive holds.
        mint: From the letter of an id to an id that was never given.
        taken: Names of root supervisors that are in use; a root of the document with one of them gets a number.
    """
    assert isinstance(document, dict)
    new_id = cache(lambda old: mint(old[:1]))
    copy = with_ids({key: value for key, value in document.items() if key != "minted"}, new_id)
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


def is_empty(state: State) -> bool:
    """Return True while nothing stands in `state` that an imported id could be taken for."""
    return not (state.supervisors or state.agents or state.runs or state.finished)


def state_from(document: JsonValue, seq: int) -> State:
    """Return the state of a document, its texts being those that event `seq` carries.

    Raises:
        ValueError: If it is not a state document.
    """
    state = _adapter().validate_python(document)
    for ref in text_refs(state):
        object.__setattr__(ref, "seq", seq)  # it was made a moment ago, and nobody else has it
    return state


@cache
def _adapter() -> TypeAdapter[State]:
    return TypeAdapter(State)
