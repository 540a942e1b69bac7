"""Who of several free agents gets a task; one rule a file.

Each rule gives an agent a rank: the least goes first, and of equal ones the one that has been free for longest. What a
rank depends on is in the agent, so that agents can be kept in their order.
"""

from collections.abc import Callable
from typing import TypeAlias

from engine.core.balancing.least_load import least_load
from engine.core.balancing.performance import performance
from engine.core.balancing.round_robin import round_robin
from engine.core.balancing.weight import weight
from engine.core.options import Balance
from engine.core.state import Agent

Rule: TypeAlias = Callable[[Agent], int]
RULES: dict[Balance, Rule] = {
    "round_robin": round_robin,
    "least_load": least_load,
    "weight": weight,
    "performance": performance,
}
