"""Legality: what holds between the parts of any state that `fold` can reach. Small laws; each yields what breaks it.

Checked after every batch of a simulation, by the laws of the core in `tests/simulation`, and on every archive before it
is taken in. A law of a state alone belongs here; one that needs the journal belongs to `engine.simulation.invariants`.
"""

from collections.abc import Callable, Iterator

from engine.core.legality.order import LAWS_OF_ORDER
from engine.core.legality.slots import LAWS_OF_SLOTS
from engine.core.legality.team import LAWS_OF_THE_TEAM
from engine.core.legality.work import LAWS_OF_WORK
from engine.core.state import State

LAWS: tuple[Callable[[State], Iterator[str]], ...] = (
    *LAWS_OF_THE_TEAM,
    *LAWS_OF_WORK,
    *LAWS_OF_SLOTS,
    *LAWS_OF_ORDER,
)
"""Every law of a state."""


def faults_of(state: State) -> Iterator[str]:
    """Yield what is wrong in a state; nothing where it is legal."""
    for law in LAWS:
        for fault in law(state):
            yield f"{law.__name__}: {fault}"


def assert_legal(state: State) -> None:
    """Check every law.

    Raises:
        AssertionError: If one does not hold; with all that is wrong.
    """
    faults = list(faults_of(state))
    if faults:
        raise AssertionError("; ".join(faults))
