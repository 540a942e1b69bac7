"""The execution graph, rewired by a switch of strategy in the middle of a run."""

from collections.abc import Iterator
from itertools import cycle, pairwise

from engine.core.commands import Submit, SwitchStrategy
from tests.bench.measure import interleaved
from tests.bench.report import Row
from tests.world import World, agent, team_world


def rows(quick: bool) -> Iterator[Row]:
    """Measure small and large graphs."""
    yield _rewired(50, 0.3, 4 if quick else 40)
    yield _rewired(5_000, 20.0, 4 if quick else 8)
    yield _rewired(5_000, 20.0, 4 if quick else 8, done=1_000)


def _rewired(nodes: int, budget_ms: float, rounds: int, *, done: int = 0) -> Row:
    worlds = [_running(nodes, done)]
    # There and back, which differ. One small graph would measure how cold the caches are after a collection.
    times = 2 * max(1, 500 // nodes)

    def prepare() -> None:
        # Each way there leaves a join behind.
        if len(worlds[0].state.tasks) > 1.1 * nodes:
            worlds[:] = [_running(nodes, done)]

    def switch() -> None:
        for _, mode in zip(range(times), cycle(("parallel", "sequential")), strict=False):
            _switch(worlds[0], mode)

    def bare() -> None:
        for _ in range(times):
            _wired(nodes)

    took, floor = interleaved(switch, bare, rounds, before=prepare, times=times)
    return Row(
        what=f"a graph of {nodes:,} nodes rewired" + (f", {done:,} of them done" if done else ""),
        took=took,
        floor=floor,
        floor_is="two lists a node, filled from its edges",
        budget=budget_ms,
        computes=True,
    )


def _running(nodes: int, done: int) -> World:
    """Return a team whose run has as many nodes as members, some of them done and the next at work."""
    members = [agent(f"a{number}", "parse") for number in range(nodes)]
    world = team_world(*members, mode="sequential", max_parallel=10, max_agents=nodes)
    world.order(Submit(request="go"))
    for _ in range(done):
        world.succeed(next(iter(world.started)))
    return world


def _switch(world: World, mode: str) -> None:
    world.order(SwitchStrategy(supervisor="chief", mode=mode))


def _wired(nodes: int) -> dict[str, tuple[list[str], list[str]]]:
    names = [f"t{number}" for number in range(nodes)]
    graph: dict[str, tuple[list[str], list[str]]] = {name: ([], []) for name in names}
    for before, after in pairwise(names):
        graph[after][0].append(before)
        graph[before][1].append(after)
    return graph
