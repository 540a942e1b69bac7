"""Who of several free agents gets a task; one rule a file.

Each rule is a function of a queue and of a few of its free agents, the one that has been free for longest first, to one
of them. Where the rule does not tell two apart, it takes the one that comes first.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from engine.core.balancing.least_load import least_load
from engine.core.balancing.performance import performance
from engine.core.balancing.round_robin import round_robin
from engine.core.balancing.weight import weight
from engine.core.options import Balance
from engine.core.state import Agent, Queue

Rule: TypeAlias = Callable[[Queue, Sequence[Agent]], Agent]
RULES: dict[Balance, Rule] = {
    "round_robin": round_robin,
    "least_load": least_load,
    "weight": weight,
    "performance": performance,
}


def balance_named(name: Balance) -> Rule:
    """Return the rule of a name."""
    return RULES[name]
