"""Independent bookkeeping over one journal, by other means than the core's: what the invariants are held against.

One rule holds inside: a part reads events and nothing of the core's state, so that a fault in `fold/` cannot hide
itself. Everything is kept in the plainest way and searched where it is asked for. The exception is an import, whose
entities come in one event: they are taken from the folded state (`adopt`), and `tests/simulation/test_archive_laws.py`
holds imports to their document.

`team`: supervisors and agents. `work`: runs, tasks, attempts, questions. `spending`: usage and begun attempts at every
level. `failures`: what failure policies, circuits and restarts have given. `chronicle` beside this package has all.
"""
