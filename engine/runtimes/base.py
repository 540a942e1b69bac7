"""The interface between the host and every runtime.

A runtime belongs to one spec and serves any number of attempts at once. It reports through its `Work` and returns the
output; it never touches the state.
"""

from collections.abc import Callable
from typing import Protocol, TypeAlias

from engine.core.records.records import JsonValue
from engine.core.specs.spec import AgentSpec
from engine.runtimes.attempts.work import Work
from engine.runtimes.code import Code


class Runtime(Protocol):
    """Executes the attempts of agents with one spec."""

    async def check(self) -> None:
        """Prepare and check the runtime; called once, before the first attempt.

        Raises:
            Unusable: If it cannot; one line.
        """

    async def execute(self, work: Work) -> JsonValue:
        """Do the work of one attempt and return its output; whatever it raises fails the attempt."""


Factory: TypeAlias = Callable[[AgentSpec, Code], Runtime]
"""Makes the runtime of a spec; raises `Unusable` if it cannot execute the spec."""
