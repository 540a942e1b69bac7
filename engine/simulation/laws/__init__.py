"""Laws of every history, one file a subject; `engine.simulation.invariants` says when each is looked at.

A law returns what is wrong, or None. Its first line of documentation is what it says to a person. It is held against
the ledgers (`engine.simulation.ledger`) rather than against what the core itself has counted.
"""
