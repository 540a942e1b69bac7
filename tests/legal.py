"""Asserts that a state is legal."""

from engine.core.legality import faults_of
from engine.core.state import State


def assert_legal(state: State) -> None:
    faults = list(faults_of(state))
    assert not faults, "; ".join(faults)
