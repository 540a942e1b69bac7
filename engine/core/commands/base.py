"""Base class of commands."""

from typing import ClassVar

from engine.core.records.records import shared_fields


@shared_fields
class CommandBase:
    """A request to the engine."""

    __slots__ = ()
    type: ClassVar[str]
    """Its kind in the inbox: the name of its class, as in `swap_agent`; `@fact` sets it."""
