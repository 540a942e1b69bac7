"""A plan: every random decision of one history, drawn from its seed before it runs; and its result.

Each decision has a draw of its own, and the behaviour of an agent depends on its request and not on earlier events.
Leaving a decision out therefore does not change the others, and a history can be shrunk to what breaks it.
"""

from dataclasses import dataclass, field
from random import Random
from typing import Any

from engine.core.commands import Command, SupervisorSpec
from engine.core.events import Event
from engine.core.records.records import fields
from engine.core.records.values import preview
from engine.simulation.shadow_ledger import ShadowLedger

HOUR_MS = 3_600_000
REQUEST = "submit"
BURST = 0.25
"""Share of decisions made at the same time as the one before."""
BUSY = 0.7
"""Share of decisions that follow a request, about `SOON_MS` later."""
SOON_MS = 240_000
USED = 0.7
"""Share of the kinds of decisions that occur in one history; leaving some out makes the others more frequent."""
RUSH_MS = 30_000
"""Mean time between requests of a rush."""
PER_DRAW = 2**53


@dataclass(frozen=True, slots=True)
class Decision:
    """A command of an operator, or a fault."""

    at_ms: int
    """Milliseconds since the history began."""
    kind: str
    """Name of an act or a fault."""
    draw: int
    """Seed of everything else about it."""
    number: int = 0
    """Its index in the plan as drawn."""

    def random(self) -> Random:
        """Return a random source that yields the same draws each time."""
        return Random(self.draw)


@dataclass(frozen=True, slots=True)
class Plan:
    """All decisions of one history."""

    seed: int
    team: SupervisorSpec
    hours: float
    decisions: tuple[Decision, ...]
    calm: frozenset[str] = field(default_factory=frozenset)
    """Attempts that do not fail, whatever their draw."""
    trouble: float = 0.25
    """Share of attempts that fail."""
    models: bool = False
    """Half of the drawn agents are model agents."""
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
    # Most decisions are made while attempts are at work.
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
    """Name of the law's function, or of a check of the history itself."""
    says: str
    """The invariant, for people."""
    what: str
    """How it was broken."""
    seq: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class Line:
    """An external action, for people."""

    at_ms: int
    """Milliseconds since the history began."""
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
    """Failures by attempt."""
    books: ShadowLedger
    digest: str
    """Hash of the whole journal; equal for equal plans."""
    hours: float
    """Simulated hours until the last event."""
    events: list[Event]
    """The journal."""
    engines: int
    """Number of engines, one after the other."""
    left: list[str]
    """Permanently blocked tasks that are not the fault of the engine, with the reason."""


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
