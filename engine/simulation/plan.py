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
BURST_SHARE = 0.25
"""Share of decisions made at the same time as the one before."""
BUSY_SHARE = 0.7
"""Share of decisions that follow a request, about `SOON_MS` later."""
SOON_MS = 240_000
USED_KINDS_SHARE = 0.7
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
    seed: int
    """Seed of everything else about it."""
    number: int = 0
    """Its index in the plan as drawn."""

    def random(self) -> Random:
        """Return a random source that yields the same draws each time."""
        return Random(self.seed)


@dataclass(frozen=True, slots=True)
class Plan:
    """All decisions of one history."""

    seed: int
    team: SupervisorSpec
    hours: float
    decisions: tuple[Decision, ...]
    avoided_mishaps: frozenset[str] = field(default_factory=frozenset)
    """Keys of attempts that have no mishap, whatever their draw."""
    trouble: float = 0.25
    """Share of attempts that have a mishap: a failure that is drawn, not caused by a decision."""
    models: bool = False
    """Half of the drawn agents are model agents."""
    has_user_team: bool = False
    """The team is a user's own: without faults, its agents keep their time limits and delegate to members."""


def draw_plan(
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
        seed: Determines the plan.
        team: The initial team.
        hours: Duration in which decisions are made; the history ends when the team is idle after that.
        kinds: Acts and faults that may occur besides requests, with their relative weights.
        requests_per_hour: Mean number of requests.
        others_per_hour: Mean number of other decisions.
        trouble: Greatest share of attempts that have a mishap.
        rush: Mean number of requests soon after each other.
    """
    draw = Random(f"plan {seed}")
    used = {kind: weight for kind, weight in kinds.items() if kind != REQUEST and draw.random() < USED_KINDS_SHARE}
    requests = max(1, round(hours * requests_per_hour * draw.uniform(0.5, 1.5)))
    others = round(hours * others_per_hour * draw.uniform(0.5, 1.5)) if used else 0
    request_moments_ms = _requests(draw, requests, hours, rush)
    # Most decisions are made while attempts are at work.
    other_moments_ms = [
        draw.choice(request_moments_ms) + draw.expovariate(1 / SOON_MS)
        if draw.random() < BUSY_SHARE
        else draw.random() * hours * HOUR_MS
        for _ in range(others)
    ]
    other_kinds = draw.choices(list(used), list(used.values()), k=others) if others else []
    timeline = sorted(
        zip(
            [*map(int, request_moments_ms), *map(int, other_moments_ms)],
            [REQUEST] * requests + other_kinds,
            strict=True,
        )
    )
    moments = [moment for moment, _ in timeline]
    names = [name for _, name in timeline]
    for place in range(1, len(moments)):
        if draw.random() < BURST_SHARE:
            moments[place] = moments[place - 1]
    decisions = tuple(
        Decision(moment, name, draw.randrange(PER_DRAW), number)
        for number, (moment, name) in enumerate(zip(moments, names, strict=True))
    )
    share = draw.choice([0.0, 0.3, 1.0]) * trouble
    return Plan(seed=seed, team=team, hours=hours, decisions=decisions, trouble=share)


def _requests(draw: Random, count: int, hours: float, rush: float) -> list[float]:
    """Return when requests are made: alone, or several soon after each other, so that they compete for slots."""
    moments_ms: list[float] = []
    while len(moments_ms) < count:
        moment_ms = draw.random() * hours * HOUR_MS
        for _ in range(min(count - len(moments_ms), max(1, round(draw.uniform(0, 2 * rush))))):
            moments_ms.append(moment_ms)
            moment_ms += draw.expovariate(1 / RUSH_MS)
    return moments_ms


@dataclass(frozen=True, slots=True)
class Violation:
    """A law that did not hold."""

    law: str
    """Name of the law's function, or of a check of the history itself."""
    statement: str
    """The law, for people."""
    details: str
    """How it was broken."""
    seq: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class StoryLine:
    """An external action, for people."""

    at_ms: int
    """Milliseconds since the history began."""
    seq: int
    """The last event before it."""
    words: str


@dataclass(slots=True)
class HistoryResult:
    """The result of one history."""

    plan: Plan
    violation: Violation | None
    lines: list[StoryLine]
    mishaps: dict[str, str]
    """Mishaps by key of the attempt."""
    ledger: ShadowLedger
    digest: str
    """Hash of the whole journal; equal for equal plans."""
    hours: float
    """Simulated hours until the last event."""
    events: list[Event]
    """The journal."""
    engines: int
    """Number of engines, one after the other."""
    blocked_tasks: list[str]
    """Permanently blocked tasks that are not the fault of the engine, with the reason."""


def describe_command(command: Command) -> str:
    """Return a command in one line: its name and the fields that are not the default."""
    parts = []
    for command_field in fields(type(command)):
        value = getattr(command, command_field.name)
        if value not in (command_field.default, None, [], {}):
            parts.append(f"{command_field.name}={_shorten(value)}")
    return " ".join([str(command.type).replace("_", " "), *parts])


def _shorten(value: Any) -> str:
    name = getattr(value, "name", None)
    return str(name) if name is not None else preview(value if isinstance(value, str | dict) else repr(value), 60)
