"""Legality: invariants of every state that `fold` can reach, as small laws that yield their violations.

Checked after every batch of a simulation, by the laws of the core in `tests/simulation`, and on every archive before it
is imported. Laws about a state alone belong here; laws about the journal belong to `engine.simulation.laws`.
"""

from collections.abc import Callable, Iterable, Iterator

from engine.core.legality.graph import LAWS_OF_GRAPHS
from engine.core.legality.schedule import LAWS_OF_THE_SCHEDULE
from engine.core.legality.slots import LAWS_OF_SLOTS
from engine.core.legality.team import LAWS_OF_THE_TEAM, members_exist, supervisors_stand_in_a_tree
from engine.core.legality.waiting import LAWS_OF_WAITING
from engine.core.legality.work import LAWS_OF_WORK
from engine.core.state import State

LAWS: tuple[Callable[[State], Iterator[str]], ...] = (
    *LAWS_OF_THE_TEAM,
    *LAWS_OF_WORK,
    *LAWS_OF_GRAPHS,
    *LAWS_OF_WAITING,
    *LAWS_OF_SLOTS,
    *LAWS_OF_THE_SCHEDULE,
)
"""Every law of a state."""
LAWS_OF_TREES = (supervisors_stand_in_a_tree, members_exist, *LAWS_OF_GRAPHS)
"""Laws that hold before any index is built; functions that walk up or down a tree rely on them to terminate."""
LAWS_AT_REST = tuple(law for law in (*LAWS_OF_THE_TEAM, *LAWS_OF_WORK, *LAWS_OF_WAITING) if law not in LAWS_OF_TREES)
"""The remaining laws that a state without attempts and without a schedule can break, such as an imported one."""


def faults_of(state: State, laws: Iterable[Callable[[State], Iterator[str]]] = LAWS) -> Iterator[str]:
    """Yield the violations of `laws` by a state; nothing if it is legal."""
    for law in laws:
        for fault in law(state):
            yield f"{law.__name__}: {fault}"
