"""One attempt of a simulated function agent, as the functions that play it get it."""

import math
from dataclasses import dataclass
from random import Random
from zlib import crc32

from engine.core.records.records import JsonValue
from engine.runtimes.attempts.work import Work
from engine.runtimes.functions.context import Context
from engine.simulation.world import World

MAX_WORK_S = 600.0
LONG_TEXT = (
    "a line of an output that is too long to be kept in the state itself, and stands in the journal alone\n" * 30
)


@dataclass(frozen=True, slots=True)
class Scene:
    """One attempt, with what it may do."""

    world: World
    work: Work
    context: Context
    draw: Random
    longest_s: float
    """Longest duration of a piece of work without failures, in seconds."""
    has_user_team: bool

    def has(self, habit: str, percent: int) -> bool:
        """Return whether the task of this attempt does something, the same in each attempt."""
        return crc32(f"{self.work.effect.title} {habit}".encode()) % 100 < percent

    async def step(self, name: str) -> None:
        """Run a step of the agent's own."""

        async def run() -> JsonValue:
            self.world.check_step(self.work, name)
            await self.context.sleep(seconds(self.draw, self.longest_s))
            results: list[JsonValue] = ["a result", LONG_TEXT, 7, None, {"rows": [1, LONG_TEXT]}]
            return self.draw.choice(results)

        await self.context.step(name, run)


def seconds(draw: Random, longest_s: float = MAX_WORK_S) -> float:
    """Return the duration of a piece of work: log-uniform up to the longest, and sometimes 0."""
    return 0.0 if draw.random() < 0.15 else math.exp(draw.uniform(math.log(0.05), math.log(longest_s)))
