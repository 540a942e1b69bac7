"""Words to tell what a team does by the names of its agents, on top of `World`."""

from collections.abc import Sequence
from typing import Any

from engine.core.commands import Command, Submit
from engine.core.effects import StartAttempt
from engine.core.events import CommandApplied, CommandRefused, Event
from engine.core.state import Agent, RunSummary, Task
from tests.world import World

Key = tuple[str, int]


def submitted(world: World, request: str = "go", **fields: Any) -> str:
    """Give a request to the team and return its run."""
    return str(applied(world, Submit(request=request, **fields))["run_id"])


def applied(world: World, command: Command) -> dict[str, Any]:
    """Give an order that is carried out, and return its result."""
    last = [event for event in world.order(command) if isinstance(event, CommandApplied | CommandRefused)]
    assert isinstance(last[0], CommandApplied), last[0]
    return dict(last[0].result)


def refused(world: World, command: Command) -> str:
    """Give an order that is refused, with nothing changed by it, and return the reason."""
    (event,) = world.order(command)
    assert isinstance(event, CommandRefused), event
    return event.reason


def works(world: World) -> list[str]:
    """Return the names of the agents at work, those that wait for others included, in the order of their start."""
    return [start.agent for start in world.started.values()]


def attempts(world: World, name: str) -> list[Key]:
    """Return the attempts that an agent is at."""
    return [key for key, start in world.started.items() if start.agent == name]


def attempt(world: World, name: str) -> Key:
    """Return the one attempt that an agent is at."""
    (key,) = attempts(world, name)
    return key


def done(world: World, name: str, output: Any = None) -> list[Event]:
    """Let the one attempt of an agent end well."""
    return world.succeed(attempt(world, name), f"from {name}" if output is None else output)


def found(world: World, **said: Any) -> list[Event]:
    """Let the one built-in node that looks at outputs find something."""
    (key,) = world.checks
    return world.find(key, **said)


def asked(world: World) -> list[str]:
    """Return what the built-in nodes ask that look at outputs now."""
    return [world.state.tasks[task_id].title for task_id, _ in world.checks]


def seen_by(world: World, name: str) -> list[Any]:
    """Return the outputs that the one attempt of an agent was given."""
    return [one.output for one in start_of(world, name).inputs]


def start_of(world: World, name: str) -> StartAttempt:
    """Return how the one attempt was started that an agent is at."""
    return world.started[attempt(world, name)]


def task_of(world: World, name: str) -> Task:
    """Return the task that an agent is at."""
    return world.state.tasks[attempt(world, name)[0]]


def member(world: World, name: str) -> Agent:
    """Return an agent by its name."""
    return next(one for one in world.state.agents.values() if one.name == name)


def ended(world: World) -> RunSummary:
    """Return the last run that has ended."""
    return world.state.finished[-1]


def kinds(events: Sequence[Event]) -> list[str]:
    """Return what kinds of events these are."""
    return [str(event.type) for event in events]


def only(events: Sequence[Event], kind: str) -> Any:
    """Return the one event of a kind."""
    (found,) = [event for event in events if event.type == kind]
    return found
