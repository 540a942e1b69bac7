"""Databases on disk with a journal that is given, for what reads files and knows no engine."""

from collections.abc import Sequence
from pathlib import Path

import anyio

from engine.core.commands import Submit
from engine.core.events import Event
from engine.host.batch import row_of
from store.layout.opening import open_store
from tests.world import World, agent, team_world

LONG = "a text that is too long to stand in the state itself " * 5


def write_database(path: Path, journal: Sequence[Event]) -> Path:
    """Make a database with exactly these events, and no engine on it; a second call adds to it."""

    async def write() -> None:
        async with open_store(path, durability="normal") as store:
            await store.journal.append(store.journal.last_seq + 1, [row_of(event) for event in journal])

    anyio.run(write)
    return path


def busy_world() -> World:
    """A team of two in the middle of a run: one task is done, one is at work with a step behind it."""
    world = team_world(agent("ada", "parse"), agent("bob", "write"))
    world.order(Submit(request=LONG))
    world.succeed(next(iter(world.started)), {"read": LONG})
    world.record(next(iter(world.started)), "draft", LONG + "draft")
    return world
