"""Journals of any length to measure on: the real core, driven as a shell would, without one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.core.commands import Submit
from engine.core.events import Event
from engine.core.fold import fold
from engine.core.records.values import Usage
from engine.core.signals import AttemptSucceeded
from engine.core.state import State
from store import Row
from tests.world import World, agent, team_world

ITEMS_AT_ONCE = 10_000
"""How many pieces of work one agent asks for at once."""


@dataclass(slots=True)
class Mapped:
    """A team whose lead asked for many pieces of work."""

    world: World
    lead: tuple[str, int]
    """The attempt that asked."""

    def workers(self) -> Iterator[tuple[str, int]]:
        """Yield each attempt at work once, until no more begin."""
        seen = {self.lead}
        while keys := [key for key in self.world.started if key not in seen]:
            for key in keys:
                seen.add(key)
                yield key


def mapped(tasks: int, agents: int = 50) -> Mapped:
    """Return a team in which `tasks` are asked for, and as many of them at work as there are agents."""
    crew = [agent(f"a{number}", "parse") for number in range(agents)]
    world = team_world(*crew, max_parallel=agents, max_agents=agents, participants=["a0"])
    world.order(Submit(request="go"))
    lead = next(iter(world.started))
    for call, first in enumerate(range(0, tasks, ITEMS_AT_ONCE)):
        count = min(ITEMS_AT_ONCE, tasks - first)
        world.ask(lead, "parse", [f"item {first + place}" for place in range(count)], call=f"k{call}")
    return Mapped(world, lead)


def worked_off(tasks: int, agents: int = 50) -> list[Event]:
    """Return the journal of a team that did `tasks`."""
    history = mapped(tasks, agents)
    for key in history.workers():
        succeed(history.world, key)
    return history.world.journal


def succeed(world: World, key: tuple[str, int]) -> None:
    """End an attempt as a runtime does: with how long it took."""
    del world.started[key]
    signal = AttemptSucceeded(task_id=key[0], attempt=key[1], output="ok", duration_ms=3, usage=Usage(time_ms=3))
    world.say(signal)


def folded(events: Sequence[Event]) -> State:
    """Return the state of a journal."""
    state = State()
    fold(state, events)
    return state


def rows_of(events: Sequence[Event]) -> list[Row]:
    """Return a journal as it is appended."""
    from engine.host.batch import row_of

    return [row_of(event) for event in events]
