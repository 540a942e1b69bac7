"""The scheduler: what can begin, and what of that begins first, derived from the state and kept current beside it.

Nothing in here is journaled, written to a snapshot or exported: `Schedule.of(state)` builds it from the state, and the
fold tells a schedule that is kept which entities an event has changed (`State.schedule`). Who only folds has none.
See docs/semantics/scheduling.md.
"""

from engine.core.scheduler.schedule import Schedule

__all__ = ["Schedule"]
