"""Whose code is bound to a program: callables that no other process could import."""

from collections.abc import Collection, Iterator

from engine.core.spec import BOUND
from engine.core.state import Agent, State

AWAY = "its code is in a program that is not running; run that program again"
"""What is said of an agent that is away, after its name."""


def bound_elsewhere(state: State, here: Collection[str] = ()) -> Iterator[Agent]:
    """Yield the agents that call what is bound to a program.

    Args:
        state: Where the agents are.
        here: References of the program that asks: what they stand for is there.
    """
    for agent in state.agents.values():
        spec = state.spec_of(agent)
        for said in (spec.run, *spec.tools):
            if isinstance(said, str) and said.startswith(BOUND) and said not in here:
                yield agent
                break
