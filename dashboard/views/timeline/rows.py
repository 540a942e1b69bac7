"""Which lanes a timeline has: supervisors with their members below them, and those that are no longer in the team."""

from collections.abc import Callable, Collection
from typing import NamedTuple

from dashboard.views.drawing.rows import matches
from engine.core.state import State, Supervisor


class Row(NamedTuple):
    """A lane."""

    id: str
    name: str
    depth: int
    members: tuple[str, ...] = ()
    """Of a supervisor: all agents below it."""


def rows_of(state: State, worked: Collection[str], *, names: Callable[[str], str], needle: str, room: int) -> list[Row]:
    """Return the lanes in declared order.

    Args:
        worked: Agents that have been at work; where not all lanes fit, only those have one.
        names: Names of agents that are gone, by id.
        room: Lines for lanes.
    """
    crowded = len(state.agents) + len(state.supervisors) > room
    out: list[Row] = []

    def below(supervisor: Supervisor) -> tuple[str, ...]:
        found: list[str] = []
        for member in supervisor.members:
            if member in state.agents:
                found.append(member)
            elif (lower := state.supervisors.get(member)) is not None:
                found += below(lower)
        return tuple(found)

    def add(supervisor: Supervisor, wanted: str) -> None:
        place = len(out)
        out.append(Row(supervisor.id, supervisor.name, 0, below(supervisor)))
        wanted = "" if matches(wanted, supervisor.name, supervisor=supervisor.name) else wanted
        lower = []
        for member in supervisor.members:
            if (agent := state.agents.get(member)) is not None:
                if (not crowded or member in worked) and _is_wanted(
                    wanted, agent.name, supervisor.name, agent.status.value
                ):
                    out.append(Row(agent.id, agent.name, 1))
            elif (one := state.supervisors.get(member)) is not None:
                lower.append(one)
        for one in lower:
            add(one, wanted)
        if wanted and len(out) == place + 1:
            out.pop()

    for root in state.roots:
        add(root, needle)
    gone = [one for one in worked if one not in state.agents]
    for agent_id in gone[:200]:
        name = names(agent_id)
        if _is_wanted(needle, name, "", "gone"):
            out.append(Row(agent_id, name, 1))
    return out


def _is_wanted(needle: str, name: str, supervisor: str, status: str) -> bool:
    return matches(needle, name, agent=name, supervisor=supervisor, status=status)
