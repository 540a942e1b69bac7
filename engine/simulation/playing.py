"""The attempt of a simulated model agent, as its models and tools find it."""

import math
from contextvars import ContextVar
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from engine.runtimes.work import Work

if TYPE_CHECKING:
    from engine.simulation.world import World


@dataclass(eq=False)
class Playing:
    """One attempt that a model plays."""

    world: "World"
    work: Work
    key: str
    """Names it, the same in a history that was cut down."""
    text: str
    """What it is asked."""
    longest_s: float
    """The longest that a piece of work takes where nothing goes wrong, in seconds."""
    turns: int
    """How many answers it may take."""
    mishap: str | None
    """What goes wrong with its models."""
    wrong_turn: int
    """In which turn."""
    step: tuple[str, str] = "", ""
    """Name and key of the step for which a model is asked."""

    @property
    def attempt(self) -> tuple[str, int]:
        """Its task and number."""
        return self.work.effect.task_id, self.work.effect.attempt

    @property
    def generation(self) -> tuple[str, int, int | None]:
        """Those, and the generation that is at it."""
        return *self.attempt, self.work.effect.generation

    def seconds(self, draw: Random, longest_s: float) -> float:
        """Return the duration of a piece of work: log-uniform, and at times none."""
        most_s = min(longest_s, self.longest_s)
        return 0.0 if draw.random() < 0.15 else math.exp(draw.uniform(math.log(0.02), math.log(max(0.03, most_s))))

    def may_delegate(self, most_tasks: int, deepest: int) -> bool:
        """Tell whether it may still give work to others: teams that hand on to teams would never end."""
        run = self.world.state.runs.get(self.work.effect.run_id)
        return self.text.count("part of") < deepest and run is not None and run.total < most_tasks


AT: ContextVar[Playing] = ContextVar("AT")
"""The attempt that what runs now is part of."""
