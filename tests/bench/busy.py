"""Teams that never run out of work: files in which one is at work already, and what drives it on."""

import time
from collections.abc import Iterator
from pathlib import Path

from engine.core.commands import Submit, SupervisorSpec
from engine.core.effects import StartAttempt
from engine.core.state import State
from store import Row
from tests.bench.databases import written
from tests.bench.histories import rows_of, succeed
from tests.world import World, agent, team_world

EVENTS_AN_END = 2
TASKS = 3_000
"""Tasks of one run: enough for some seconds."""
_ORDERS = 1_000_000
"""Commands are numbered from here on where a team goes on, and from its newest event: those before are in the file."""


def at_work(path: Path, agents: int) -> Path:
    """Write a file in which so many agents in teams of 25 at most, under one who plans, are all at work."""
    teams = max(2, (agents - 1) // 25 + 1)
    sizes = [(agents - 1 + place) // teams for place in range(teams)]
    members = [
        SupervisorSpec(
            name=f"team-{team}",
            mode="parallel",
            members=[agent(f"scan-{team}-{number}", f"scan-{team}") for number in range(size)],
            max_parallel=size,
            max_agents=size,
        )
        for team, size in enumerate(sizes)
    ]
    world = team_world(agent("planner", "plan"), *members, participants=["planner"], max_agents=agents)
    world.now_ms = time.time_ns() // 1_000_000
    _begin(world)
    return written(path, world.journal)


class Crew:
    """The agents of a file that is at work: they end their attempts when they are told to, one run after the other."""

    def __init__(self, state: State) -> None:
        self._world = World()
        self._world.state, self._world.orders = state, _ORDERS + state.seq
        for task in state.tasks.values():
            if task.attempt is not None and task.attempt.agent_id is not None:
                self._world.started[task.id, task.attempt.number] = _AT_WORK

    def end(self, count: int, now_ms: int) -> list[Row]:
        """Let so many attempts end now; return what there is to append."""
        world = self._world
        world.now_ms = now_ms
        for key in self._ending(count):
            succeed(world, key)
        rows = rows_of(world.journal)
        world.journal.clear()
        world.starts.clear()
        return rows

    def _ending(self, count: int) -> Iterator[tuple[str, int]]:
        """Yield attempts; who leads ends once nobody else works, and the next run begins."""
        world, left = self._world, count
        leads = next(iter(world.state.agents))
        while left > 0:
            workers = [key for key in world.started if world.state.tasks[key[0]].agent_id != leads][:left]
            if not workers:
                for key in list(world.started):
                    succeed(world, key)
                _begin(world)
            yield from workers
            left -= len(workers)


def _begin(world: World) -> None:
    """Begin a run: who leads asks every team for its part of the work."""
    world.order(Submit(request="look at every file"))
    lead, state = next(iter(world.started)), world.state
    leader_id = state.tasks[lead[0]].agent_id
    asked = dict.fromkeys(state.spec_of(one).specialties[0] for one in state.agents.values() if one.id != leader_id)
    for place, target in enumerate(asked):
        items = [f"lib/part{place}/file{number}.py" for number in range(TASKS // len(asked))]
        world.ask(lead, target, items, call=f"k{place}")


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
