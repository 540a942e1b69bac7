"""A plan: every random decision of one history, drawn from its seed before it runs; and its result.

One rule holds inside: each decision carries a draw of its own, and an agent's behaviour hangs on what it is asked and
not on what happened before; so a decision that is left out leaves the others as they were, and a history can be cut
down to what breaks it.
"""

from dataclasses import dataclass, field
from random import Random
from typing import Any

from engine.core.commands import Command, SupervisorSpec
from engine.core.events import Event
from engine.core.records import fields
from engine.core.values import preview
from engine.simulation.shadow_ledger import ShadowLedger

HOUR_MS = 3_600_000
REQUEST = "submit"
BURST = 0.25
"""Share of decisions that come at the same moment as the one before."""
BUSY = 0.7
"""Share of decisions that follow a request, about `SOON_MS` later."""
SOON_MS = 240_000
USED = 0.7
"""Share of the kinds of decisions that one history has: what never happens there makes room for what does."""
RUSH_MS = 30_000
"""About how long one request of a rush comes after the other."""
PER_DRAW = 2**53


@dataclass(frozen=True, slots=True)
class Decision:
    """A command of an operator, or a fault."""

    at_ms: int
    """Since the history began."""
    kind: str
    """Name of an act or a fault."""
    draw: int
    """Seed of everything else about it."""
    number: int = 0
    """Its place in the plan as it was drawn."""

    def random(self) -> Random:
        """Return its source of chance; the same each time."""
        return Random(self.draw)


@dataclass(frozen=True, slots=True)
class Plan:
    """All decisions of one history."""

    seed: int
    team: SupervisorSpec
    hours: float
    decisions: tuple[Decision, ...]
    calm: frozenset[str] = field(default_factory=frozenset)
    """Attempts in which nothing goes wrong, whatever their draw says."""
    trouble: float = 0.25
    """Share of the attempts in which something goes wrong."""
    models: bool = False
    """Models play half of the agents that are drawn."""
    given: bool = False
    """The team is a user's own: without faults, its agents keep their time limits and delegate to members."""


def drawn(
    seed: int,
    team: SupervisorSpec,
    *,
    hours: float,
    kinds: dict[str, float],
    requests_per_hour: float = 2.0,
    others_per_hour: float = 3.5,
    trouble: float = 0.25,
    rush: float = 1.0,
) -> Plan:
    """Return the plan of a seed.

    Args:
        seed: Decides everything.
        team: Who is there at the beginning.
        hours: How long decisions are taken for; the history ends when the team has come to rest after that.
        kinds: Acts and faults that may be decided on besides requests, with how often, relative to each other.
        requests_per_hour: About how many requests there are.
        others_per_hour: About how many other decisions there are.
        trouble: Share of the attempts in which something goes wrong, at most.
        rush: About how many requests come soon after each other.
    """
    draw = Random(f"plan {seed}")
    used = {kind: weight for kind, weight in kinds.items() if kind != REQUEST and draw.random() < USED}
    requests = max(1, round(hours * requests_per_hour * draw.uniform(0.5, 1.5)))
    others = round(hours * others_per_hour * draw.uniform(0.5, 1.5)) if used else 0
    asked = _requests(draw, requests, hours, rush)
    # Most of what is done is done while something is at work.
    done = [
        draw.choice(asked) + draw.expovariate(1 / SOON_MS) if draw.random() < BUSY else draw.random() * hours * HOUR_MS
        for _ in range(others)
    ]
    kinds_done = draw.choices(list(used), list(used.values()), k=others) if others else []
    both = sorted(zip([*map(int, asked), *map(int, done)], [REQUEST] * requests + kinds_done, strict=True))
    moments, names = [moment for moment, _ in both], [name for _, name in both]
    for place in range(1, len(moments)):
        if draw.random() < BURST:
            moments[place] = moments[place - 1]
    decisions = tuple(
        Decision(moment, name, draw.randrange(PER_DRAW), number)
        for number, (moment, name) in enumerate(zip(moments, names, strict=True))
    )
    share = draw.choice([0.0, 0.3, 1.0]) * trouble
    return Plan(seed=seed, team=team, hours=hours, decisions=decisions, trouble=share)


def _requests(draw: Random, count: int, hours: float, rush: float) -> list[float]:
    """Return when requests are made: alone, or several soon after each other, so that they compete for slots."""
    found: list[float] = []
    while len(found) < count:
        moment_ms = draw.random() * hours * HOUR_MS
        for _ in range(min(count - len(found), max(1, round(draw.uniform(0, 2 * rush))))):
            found.append(moment_ms)
            moment_ms += draw.expovariate(1 / RUSH_MS)
    return found


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
    """The result of one history."""

    plan: Plan
    broken: Broken | None
    lines: list[Line]
    wrong: dict[str, str]
    """What went wrong in which attempts."""
    books: ShadowLedger
    digest: str
    """Of the whole journal: the same for the same plan."""
    hours: float
    """Simulated, to the last event."""
    events: list[Event]
    """The journal."""
    engines: int
    """How many engines there were, one after the other."""
    left: list[str]
    """Permanently blocked tasks that are no fault of the engine, with the reason."""


def in_words(command: Command) -> str:
    """Return a command in one line: its name and the fields that are not the default."""
    said = []
    for one in fields(type(command)):
        value = getattr(command, one.name)
        if value not in (one.default, None, [], {}):
            said.append(f"{one.name}={_short(value)}")
    return " ".join([str(command.type).replace("_", " "), *said])


def _short(value: Any) -> str:
    name = getattr(value, "name", None)
    return str(name) if name is not None else preview(value if isinstance(value, str | dict) else repr(value), 60)
