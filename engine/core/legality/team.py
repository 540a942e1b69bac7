"""Laws of the team: the tree of supervisors, their members and pools."""

from collections.abc import Callable, Iterator

from engine.core.state import State


def supervisors_stand_in_a_tree(state: State) -> Iterator[str]:
    """Each supervisor but the roots is a member of one other, and nobody is above itself."""
    for supervisor in state.supervisors.values():
        seen: set[str] = set()
        above: str | None = supervisor.id
        while above is not None and above not in seen:
            seen.add(above)
            above = state.supervisors[above].parent_id
        if above is not None:
            yield f"{supervisor.id} stands above itself"
        holders = [one.id for one in state.supervisors.values() if supervisor.id in one.members]
        if holders != ([] if supervisor.parent_id is None else [supervisor.parent_id]):
            yield f"{supervisor.id} says that it is under {supervisor.parent_id}, and is a member of {holders}"


def members_are_there(state: State) -> Iterator[str]:
    """Whoever is named as a member is one, and the other way round."""
    for supervisor in state.supervisors.values():
        for member in supervisor.members:
            if member not in state.agents and member not in state.supervisors:
                yield f"{supervisor.id} has a member {member}, whom nobody knows"
    for agent in state.agents.values():
        if agent.id not in state.supervisors[agent.supervisor_id].members:
            yield f"{agent.id} is no member of {agent.supervisor_id}"


def pools_are_as_large_as_they_should_be(state: State) -> Iterator[str]:
    """A pool keeps its bounds; where work waits and it may grow it has grown; where one may go a timer watches."""
    for agent_id in state.resizable:
        yield f"{agent_id} should have grown, or be watched, and is not"
    for agent in state.agents.values():
        spec = state.specs[agent.spec]
        least, most = (1, 1) if spec.pool is None else (spec.pool.min, spec.pool.max)
        if not least <= agent.size <= most:
            yield f"{agent.id} has {agent.size} instances, of {least} to {most}"
        if agent.max_concurrency != agent.size * spec.max_concurrency:
            yield f"{agent.id} has {agent.max_concurrency} slots with {agent.size} instances of {spec.max_concurrency}"
        if (agent.id in state.pools) != (spec.pool is not None):
            yield f"{agent.id} is taken for what it is not: a pool, or none"


LAWS_OF_THE_TEAM: tuple[Callable[[State], Iterator[str]], ...] = (
    supervisors_stand_in_a_tree,
    members_are_there,
    pools_are_as_large_as_they_should_be,
)
