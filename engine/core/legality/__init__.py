"""Legality: invariants of every state that `fold` can reach, as small laws that yield their violations.

Checked after every batch of a simulation, by the laws of the core in `tests/simulation`, and on every archive before it
is imported. Every public function of the files here is a law of a state alone; laws about the journal belong to
`engine.simulation.laws`.
"""

from collections.abc import Callable, Iterable, Iterator
from types import FunctionType, ModuleType

from engine.core.legality import graph, recipes, schedule, slots, team, waiting, work
from engine.core.state import State


def _laws_in(*files: ModuleType) -> tuple[Callable[[State], Iterator[str]], ...]:
    """Return the laws of some files: their public functions."""
    functions = ((file.__name__, value) for file in files for name, value in vars(file).items() if name[0] != "_")
    return tuple(value for file, value in functions if isinstance(value, FunctionType) and value.__module__ == file)


LAWS = _laws_in(team, recipes, work, graph, waiting, slots, schedule)
"""Every law of a state."""
LAWS_OF_TREES = (team.supervisors_stand_in_a_tree, team.members_exist, recipes.recipes_stand_in_trees, *_laws_in(graph))
"""Laws that hold before any index is built; functions that walk up or down a tree rely on them to terminate."""
LAWS_AT_REST = tuple(law for law in _laws_in(team, recipes, work, waiting) if law not in LAWS_OF_TREES)
"""The remaining laws that a state without attempts and without a schedule can break, such as an imported one."""


def faults_of(state: State, laws: Iterable[Callable[[State], Iterator[str]]] = LAWS) -> Iterator[str]:
    """Yield the violations of `laws` by a state; nothing if it is legal."""
    for law in laws:
        for fault in law(state):
            yield f"{law.__name__}: {fault}"
