"""Ids: a letter and a number that is never given twice in one journal."""

from engine.core.state import State


def note(state: State, entity_id: str) -> None:
    """Remember that `entity_id` is taken, so that the next id of its letter is above it."""
    letter, number = entity_id[0], int(entity_id[1:])
    if number > state.minted.get(letter, 0):
        state.minted[letter] = number
