"""A supervisor as a program holds it: a place in a tree, and the line to the engine that the tree belongs to."""

from collections.abc import Callable, Iterator

from engine.core.commands import Command
from engine.core.decide.loading import root_declared
from engine.core.discovery import nearest
from engine.core.errors import Refused, UnknownAgent, UnknownSupervisor, UnknownTarget
from engine.core.queries.targets import Member, Work, at, find_agent, find_any
from engine.core.state import Agent, State, Supervisor
from engine.errors import CommandRefusedError
from engine.host.orders import Applied
from engine.registry import AgentRegistry
from engine.supervisor.line import Line


class Node:
    """What every call of a supervisor stands on."""

    _line: Line
    _path: tuple[str, ...]
    """Names from the root of its tree down to itself, as the program put it there."""
    _id: str | None = None
    """Its id in the state, once that is known: it stays the same wherever it is moved."""
    agent_registry: AgentRegistry | None = None
    """What could be added by name, besides what the team's own registry holds."""

    @property
    def name(self) -> str:
        """What it is called in its tree."""
        return self._path[-1]

    @property
    def _state(self) -> State:
        return self._line.state

    @property
    def _here(self) -> Supervisor:
        """The supervisor in the state.

        Raises:
            CommandRefusedError: If it was removed.
        """
        state = self._state
        found = state.supervisors.get(self._id or "") or supervisor_at(state, self._path)
        if found is None:
            near = nearest(self.name, (one.name for one in self._state.supervisors.values()))
            raise refusal_of(UnknownSupervisor(self.name, near))
        return found

    def _find(self, state: State) -> None:
        """Remember the supervisor that stands in `state` where the program put this one."""
        found = supervisor_at(state, self._path)
        self._id = None if found is None else found.id

    @property
    def _agents(self) -> Iterator[Agent]:
        """Its own agents, in declared order."""
        state = self._state
        return (state.agents[member_id] for member_id in self._here.members if member_id in state.agents)

    @property
    def _target(self) -> str:
        """What names the supervisor in a command."""
        return at(self._here.id)

    def _agent(self, name: str) -> Agent:
        """Return the agent that `name` (`@` and an id, a name or an id) names among its own.

        Raises:
            CommandRefusedError: If there is none, or it may be several.
        """
        try:
            return find_agent(self._state, name, under=self._here)
        except Refused as refused:
            raise refusal_of(refused) from None

    def _meant(self, name: str | None, find: Callable[..., Member | Work] = find_any) -> str:
        """Return the target for what a name means here: the supervisor itself, one of its own, else of the whole tree.

        Args:
            name: None for the supervisor itself.
            find: Which kinds of objects are meant.

        Raises:
            CommandRefusedError: If it may mean several of its own.
        """
        if name is None:
            return self._target
        try:
            return at(find(self._state, name, under=self._here).id)
        except (UnknownAgent, UnknownSupervisor, UnknownTarget):
            return name  # the core looks for it in the whole tree
        except Refused as refused:
            raise refusal_of(refused) from None

    async def _order(self, make: Callable[[], Command]) -> Applied:
        return await self._line.order(make)


def supervisor_at(state: State, path: tuple[str, ...]) -> Supervisor | None:
    """Return the supervisor that the names of `path` lead to, from a root down; None if there is none.

    One that was moved since it was declared is found where it was declared.
    """
    found, above_id = root_declared(state, path[0]), ""
    for name in path[1:]:
        if found is None:
            return None
        above_id = found.id
        named = [one for one in state.supervisors.values() if one.name == name]
        moved = (one for one in named if one.id in state.declared and state.declared[one.id].parent_id == above_id)
        found = next((one for one in named if one.parent_id == above_id), next(moved, None))
    return found


def refusal_of(refused: Refused) -> CommandRefusedError:
    """Return what a program gets where the core would refuse."""
    return CommandRefusedError(refused.code, refused.reason)
