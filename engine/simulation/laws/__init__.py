"""Laws of every history, one file a subject.

A law returns what is wrong, or None. Its first line of documentation is what it says to a person. `@law` says when it
is looked at, and with what (`registry`). It is held against the ledgers (`engine.simulation.ledger`) rather than
against what the core itself has counted; what holds of a state alone belongs to `engine.core.legality`.
"""

from engine.simulation.laws import (  # noqa: F401 — they register themselves
    commands,
    engine,
    failures,
    memory,
    models,
    order,
    outcomes,
    plans,
    slots,
    spending,
    stopping,
    team,
    track_record,
    undoing,
)
from engine.simulation.laws.registry import LAWS, SAMPLE, Law, When

__all__ = ["INVARIANTS", "LAWS", "SAMPLE", "Law", "When"]
INVARIANTS: tuple[Law, ...] = tuple(dict.fromkeys(law for laws in LAWS.values() for law in laws))
"""Every law, each once. A history itself also reports violations that it sees directly (see `world`)."""
