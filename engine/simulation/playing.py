"""The attempt of a simulated model agent, as its models and tools see it."""

import math
from contextvars import ContextVar
from dataclasses import dataclass
from random import Random

from engine.runtimes.attempts.work import Work
from engine.simulation.observed import ObservedWorld

MAX_DEPTH = 2
"""How often a delegated text may be delegated again."""
MAX_TASKS = 60
"""Number of tasks in a run from which on no agent delegates."""


@dataclass(eq=False)
class PlayedAttempt:
    """One attempt of a model agent."""

    world: ObservedWorld
    work: Work
    key: str
    """Identifies it; stays the same when the history is shrunk."""
    text: str
    """Its request."""
    longest_s: float
    """Longest duration of a piece of work without failures, in seconds."""
    turns: int
    """Most answers of the model."""
    mishap: str | None
    """The mishap of its models; None if they have none."""
    wrong_turn: int
    """The turn of the mishap."""
    step: tuple[str, str] = "", ""
    """Name and key of the step for which a model is asked."""

    @property
    def attempt_key(self) -> tuple[str, int]:
        """Task and number of the attempt."""
        return self.work.effect.task_id, self.work.effect.attempt

    @property
    def generation_key(self) -> tuple[str, int, int | None]:
        """Task, number and generation of the attempt."""
        return *self.attempt_key, self.work.effect.generation

    def seconds(self, draw: Random, longest_s: float) -> float:
        """Return the duration of a piece of work: log-uniform, and sometimes 0."""
        most_s = min(longest_s, self.longest_s)
        return 0.0 if draw.random() < 0.15 else math.exp(draw.uniform(math.log(0.02), math.log(max(0.03, most_s))))

    def may_delegate(self) -> bool:
        """Return whether it may still delegate: teams that delegate to teams would never end."""
        run = self.world.state.runs.get(self.work.effect.run_id)
        return self.text.count("part of") < MAX_DEPTH and run is not None and run.total < MAX_TASKS


CURRENT_ATTEMPT: ContextVar[PlayedAttempt] = ContextVar("CURRENT_ATTEMPT")
"""The attempt that the running code belongs to."""
