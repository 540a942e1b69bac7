"""Simulation: the real core and host on a virtual clock, against operators, agents and disks that do anything.

One rule holds inside: a seed decides everything, so the same seed is the same history, byte for byte. Nothing imports
this package but the command line and tests.

What chance decides: `plan` (all of it, before anything happens), `operators` (commands), `faults`, `agents` (and what
goes wrong in them), `teams` (with their strategies). What happens: `history`, in a `world` whose `disk` can die
between any two writes. What has to hold: `core.legality` (of a state) and `laws` (of everything; one file a subject),
against the books of `shadow_ledger`, kept in `ledger/` from events alone. A history that breaks one is cut down in
`shrinking`; many are told in `report`. See docs/decisions/simulation.md.
"""

from engine.simulation import teams  # noqa: F401 — it registers how it draws specs
