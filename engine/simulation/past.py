"""What a history came to: what happened from outside, in words; what broke; the books."""

from dataclasses import dataclass
from typing import Any

from engine.core.commands import Command
from engine.core.events import Event
from engine.core.fact import fields
from engine.core.values import preview
from engine.simulation.chronicle import Chronicle
from engine.simulation.plan import Plan


@dataclass(frozen=True, slots=True)
class Broken:
    """An invariant that did not hold."""

    law: str
    """Name of the function that says it, or of what the history saw."""
    says: str
    """What should have held, for a person."""
    what: str
    """What was instead."""
    seq: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class Line:
    """Something that happened from outside, in words."""

    at_ms: int
    """Since the history began."""
    seq: int
    """The last event before it."""
    words: str


@dataclass(slots=True)
class Past:
    """What a history came to."""

    plan: Plan
    broken: Broken | None
    lines: list[Line]
    wrong: dict[str, str]
    """What went wrong in which attempts."""
    books: Chronicle
    digest: str
    """Of the whole journal: the same for the same plan."""
    hours: float
    """Simulated, to the last event."""
    events: list[Event]
    """The journal."""
    engines: int
    """How many engines there were, one after the other."""
    left: list[str]
    """What waits for ever although nothing is wrong with the engine, with the reason."""


def in_words(command: Command) -> str:
    """Return a command in one line: its name, and what of it is not as always."""
    said = []
    for one in fields(type(command)):
        value = getattr(command, one.name)
        if value not in (one.default, None, [], {}):
            said.append(f"{one.name}={_short(value)}")
    return " ".join([str(command.type).replace("_", " "), *said])


def _short(value: Any) -> str:
    name = getattr(value, "name", None)
    return str(name) if name is not None else preview(value if isinstance(value, str | dict) else repr(value), 60)
