"""The engine's part in `screen`: agents of a full house end their attempts at a given rate, until it is terminated."""

import sys
import time
from pathlib import Path

import anyio

from engine.core.effects import StartAttempt
from engine.core.state import State
from engine.folding import folded
from store import open_store
from tests.bench.histories import rows_of, succeed
from tests.world import World

_EACH_S = 0.02
_EVENTS_AN_END = 2


async def main(path: Path, rate: int) -> None:
    """Append for as long as there is work."""
    world = _world(folded(path))
    lead = next(iter(world.state.agents))
    async with open_store(path, durability="normal") as store:
        print("on", flush=True)
        due_s = time.monotonic()
        while True:
            world.now_ms = time.time_ns() // 1_000_000
            first = len(world.journal)
            for key in [key for key in world.started if world.state.tasks[key[0]].agent_id != lead][: _at_once(rate)]:
                succeed(world, key)
            await store.journal.append(store.journal.last_seq + 1, rows_of(world.journal[first:]))
            due_s += _EACH_S
            await anyio.sleep(max(0.0, due_s - time.monotonic()))


def _at_once(rate: int) -> int:
    return round(rate * _EACH_S / _EVENTS_AN_END)


def _world(state: State) -> World:
    """Return what drives the core on from `state`."""
    world = World()
    world.state = state
    for task in state.tasks.values():
        if task.attempt is not None and task.attempt.agent_id is not None:
            world.started[task.id, task.attempt.number] = _AT_WORK
    return world


_AT_WORK = StartAttempt(
    run_id="",
    task_id="",
    attempt=1,
    agent_id="",
    agent="",
    generation=1,
    spec="",
    title="",
    request=None,
    input=None,
    takes="request",
    inputs=[],
    steps={},
)
"""Stands for every attempt that was at work when the file was written."""


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), int(sys.argv[2]))
