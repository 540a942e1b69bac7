"""Independent bookkeeping over one journal, which cross-checks what the core folds.

One rule holds inside: a ledger reads events and nothing of the core's state, so that a bug in `fold/` cannot hide
itself. Ledgers have no indexes: they search when they are asked. The exception to the rule is an import, whose
entities come in one event: they are taken from the folded state (`adopt`), and `tests/simulation/test_archive_laws.py`
compares imports with their document.

`team`: supervisors and agents. `work`, `runs` and `attempts`: runs, tasks, attempts and questions. `spending`: usage
and counts at every level. `discovery`: searches, and who may join. `failures`: policies, circuits and restarts.
`turns`: the order in which things begin. `shadow_ledger` beside this package has all of them.
"""

from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

from typing_extensions import override

from engine.core import events
from engine.core.events import KINDS, Event

ENDS = (
    events.AttemptDone,
    events.AttemptFailed,
    events.AttemptCancelled,
    events.AttemptPreempted,
    events.AttemptSetAside,
    events.AttemptLost,
)
"""Events that end an attempt; a new one has to be added here."""


T = TypeVar("T")


def make_entry(cls: type[T], source: Any, **values: Any) -> T:
    """Return an entry with the given values; its other fields are copied from those of the same name of `source`."""
    for field in fields(cls):  # type: ignore[arg-type]  # every entry is a dataclass
        if field.name not in values and hasattr(source, field.name):
            value = getattr(source, field.name)
            values[field.name] = [*value] if isinstance(value, list) else value
    return cls(**values)


class Ledger:
    """Applies events: a method `_on_TYPE` is called with each event of that type; other events are ignored."""

    @override
    def __init_subclass__(cls) -> None:
        unknown = {name for name in vars(cls) if name.startswith("_on_")} - {f"_on_{kind}" for kind in KINDS}
        assert not unknown, f"{cls.__name__} has {unknown}, and there are no such events"

    def take(self, event: Event) -> None:
        """Apply an event."""
        note: Callable[[Any], None] | None = getattr(self, f"_on_{event.type}", None)
        if note is not None:
            note(event)
