"""Fields that many events share: their time and their subject. The decorators are in `records`."""

from typing import ClassVar

from engine.core.records.records import shared_fields


@shared_fields
class Event:
    """Base of all events."""

    __slots__ = ()
    type: ClassVar[str]
    """Its kind in the journal: the name of its class, as in `task_failed`; `@fact` sets it."""
    at_ms: int = 0
    """When it was decided, in UTC milliseconds; filled in by `decide`."""


@shared_fields
class RunEvent(Event):
    """An event of one run."""

    __slots__ = ()
    run_id: str


@shared_fields
class TaskEvent(Event):
    """An event of one task."""

    __slots__ = ()
    run_id: str = ""
    """The run of the task; filled in by `decide`."""
    task_id: str


@shared_fields
class AttemptEvent(TaskEvent):
    """An event of one attempt at a task."""

    __slots__ = ()
    attempt: int
    """Its number: 1 for the first attempt at the task."""


@shared_fields
class AgentEvent(Event):
    """An event of one agent."""

    __slots__ = ()
    agent_id: str


@shared_fields
class SupervisorEvent(Event):
    """An event of one supervisor."""

    __slots__ = ()
    supervisor_id: str
