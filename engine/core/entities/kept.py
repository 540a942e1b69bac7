"""Entities of the state that an agent keeps for itself (`ctx.state`), and its changes by open tasks."""

from collections.abc import Iterator

from msgspec import field

from engine.core.records.records import entity
from engine.core.records.values import StoredValue

MAX_KEPT_KEYS = 64
"""Limit on the keys in the state of an agent."""
MAX_KEPT_KEY_CHARS = 64
MAX_KEPT_BYTES = 64 * 1024
"""Limit on the state of an agent, in bytes of JSON."""


FOREIGN_VERSION = 2**52
"""The first version of a value that came with an archive; no journal has as many events."""


@entity
class KeptValue:
    """A value in the state of an agent."""

    value: StoredValue = None
    version: int = 0
    """The event that wrote it; a number from `FOREIGN_VERSION` on if that is in another journal."""
    size_bytes: int = 0
    """Size of key and value as JSON."""
    recipes: list[str] = field(default_factory=list)
    """Ids of the recipes that it refers to (`queries/team/recipe_ids.py`), in the order in which they occur."""


@entity
class TaskChanges:
    """Changes of the state of an agent by recorded steps of an open task, for attempts that repeat these steps."""

    steps: dict[str, list[str]] = field(default_factory=dict)
    """The changed keys by the key of the step, in order."""
    views: dict[str, dict[str, KeptValue]] = field(default_factory=dict)
    """The state of the agent as an attempt began with it, by the key of the first step of the attempt in `steps`."""
    conflicts: dict[str, dict[str, KeptValue | None]] = field(default_factory=dict)
    """The values in force, by the key of the step whose changes of them were refused."""
    versions: dict[str, list[int]] = field(default_factory=dict)
    """Versions of each changed key without the change of another attempt between them: before the first of the task's
    changes, and after each; 0 where there was no value."""

    @property
    def kept_values(self) -> Iterator[KeptValue]:
        """The values of views and conflicts, some of them several times."""
        for view in self.views.values():
            yield from view.values()
        for refused in self.conflicts.values():
            yield from (value for value in refused.values() if value is not None)
