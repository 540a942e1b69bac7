"""Laws of every history, one file a subject.

A law is a function that returns a violation in words, or None. The first line of its docstring is its statement in
reports. `@law` determines when it is checked, and with which arguments (`registry`). It compares with the ledgers
(`engine.simulation.ledger`), not with counts of the core; invariants of a single state are in `engine.core.legality`.
"""

from engine.simulation.laws import (  # noqa: F401 — they register themselves
    agents,
    commands,
    discovery,
    engine,
    failures,
    kept,
    memory,
    order,
    outcomes,
    plans,
    recipes,
    slots,
    spending,
    stopping,
    team,
    times,
    undoing,
    unserved,
)
from engine.simulation.laws.registry import LAWS, SAMPLE, Law, When

__all__ = ["INVARIANTS", "LAWS", "SAMPLE", "Law", "When"]
INVARIANTS: tuple[Law, ...] = tuple(dict.fromkeys(law for laws in LAWS.values() for law in laws))
"""Every law, each once. A history itself also reports violations that it sees directly (see `world`)."""
