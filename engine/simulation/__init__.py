"""Simulation: runs the real core and host on a virtual clock, with random commands, faults and failing agents.

One rule holds inside: a seed determines everything, so that equal seeds give equal journals, byte for byte. Only the
command line and tests import this package.

Random decisions: `plan` (all of them, drawn before the history runs), `operators` (commands), `faults`, `agents` (and
their failures), `teams` (and their strategies), `searching` (what is found outside them). Execution: `history`, with an
`observed_host` in a `world` whose `disk` can fail between any two writes. Invariants: `core.legality` (of a single
state) and `laws` (of the history, one file a subject), which compare with `shadow_ledger`, whose ledgers (`ledger/`)
read events alone. `shrinking` shortens a history that breaks a law; `report` summarizes many histories. See
docs/decisions/simulation.md.
"""

from engine.simulation import teams  # noqa: F401 — it registers how it draws specs
