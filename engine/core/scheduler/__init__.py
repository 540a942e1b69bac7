"""The scheduler: which tasks can begin, and which begins first.

Derived data: never journaled, written to a snapshot or exported. `Schedule.of(state)` builds it from the state; then
the fold tells it which entities each event has changed (`State.schedule`). A process that only folds has none.
See docs/semantics/scheduling.md.
"""

from engine.core.scheduler.schedule import Schedule

__all__ = ["Schedule"]
