"""`agent_specs`: the specs of a supervisor's own agents as a list that may be changed while the team works."""

from collections.abc import Callable, Iterable, MutableSequence
from functools import partial
from typing import Any, overload

from engine.core.commands import AddAgent, Command, RemoveMember, SwapAgent
from engine.core.errors import DuplicateName
from engine.core.queries.targets import at
from engine.core.spec import AgentSpec
from engine.errors import CommandRefusedError
from engine.supervisor.changes import spec_of
from engine.supervisor.node import Node


class AgentSpecs(MutableSequence[AgentSpec]):
    """What the agents are, in declared order; a change is carried out before the next thing that is asked.

    `append` and `extend` add agents, `remove`, `pop` and `del` remove them (what they are at is finished first),
    assigning to a place swaps. New ones go to the end. Use it from the loop that the team works in.
    """

    def __init__(self, node: Node) -> None:
        self._node = node

    def _now(self) -> list[tuple[str, AgentSpec]]:
        """Targets and specs as they will be once all that was posted is carried out; a new agent has no id yet."""
        node = self._node
        state, line, here = node._state, node._line, node._target
        found = {at(agent.id): line.restored(state.spec_of(agent)) for agent in node._agents if agent.removing is None}
        for command in line.posted:
            match command:
                case AddAgent(supervisor=above, spec=AgentSpec() as spec) if above == here:
                    if all(spec.name != known.name for known in found.values()):
                        found[_to_come(spec.name)] = spec
                case RemoveMember(target=target):
                    found.pop(target, None)
                case SwapAgent(agent=target, spec=AgentSpec() as spec) if target in found:
                    found[target] = spec
                case _:
                    continue
        return list(found.items())

    def insert(self, index: int, value: AgentSpec) -> None:
        """Add an agent at the end.

        Raises:
            CommandRefusedError: If there is one of that name.
            Unusable: If it could not work.
            IndexError: If another place is meant: agents that are there keep their order.
        """
        now = self._now()
        if index < len(now):
            raise IndexError("agents that are there keep their order; append adds one at the end")
        spec = spec_of(value)
        if any(spec.name == known.name for _, known in now) and not self._is_left(spec.name):
            refused = DuplicateName(spec.name, f"supervisor {self._node.name!r}")
            raise CommandRefusedError(refused.code, refused.reason)
        self._post(lambda: AddAgent(supervisor=self._node._target, spec=spec))

    def _is_left(self, name: str) -> bool:
        """Tell whether the agent of that name was left by an earlier process, and is taken over by this."""
        return any(agent.name == name and not self._node._line.is_ours(agent.id) for agent in self._node._agents)

    def index(self, value: AgentSpec, start: int = 0, stop: int | None = None) -> int:
        """Return the place of a spec.

        Raises:
            ValueError: If it is none of these.
        """
        return super().index(spec_of(value), start, stop)  # type: ignore[arg-type]  # None is its default

    @overload
    def __setitem__(self, index: int, value: AgentSpec) -> None: ...
    @overload
    def __setitem__(self, index: slice, value: Iterable[AgentSpec]) -> None: ...
    def __setitem__(self, index: int | slice, value: Any) -> None:
        """Swap one agent."""
        if isinstance(index, slice):
            raise TypeError("assign to one place at a time")
        now_id, now = self._now()[index]
        spec = spec_of(value)
        self._post(lambda: SwapAgent(agent=self._target(now_id, now.name), spec=spec))

    def __delitem__(self, index: int | slice) -> None:
        """Remove agents once they have finished what they are at."""
        now = self._now()
        for now_id, spec in now[index] if isinstance(index, slice) else [now[index]]:
            self._post(partial(self._removal, now_id, spec.name))

    def _removal(self, now_id: str, name: str) -> RemoveMember:
        return RemoveMember(target=self._target(now_id, name), mode="drain")

    def _target(self, now_id: str, name: str) -> str:
        """Return what names an agent; of one that is still to be added what it stands under until then."""
        if now_id != _to_come(name):
            return now_id
        return next((at(agent.id) for agent in self._node._agents if agent.name == name), now_id)

    @overload
    def __getitem__(self, index: int) -> AgentSpec: ...
    @overload
    def __getitem__(self, index: slice) -> list[AgentSpec]: ...
    def __getitem__(self, index: int | slice) -> AgentSpec | list[AgentSpec]:
        """Return specs, with the callables that they were given."""
        specs = [spec for _, spec in self._now()]
        return specs[index]

    def __len__(self) -> int:
        return len(self._now())

    def __repr__(self) -> str:
        return f"AgentSpecs({[spec for _, spec in self._now()]!r})"

    def _post(self, make: Callable[[], Command]) -> None:
        self._node._line.post(make)


def _to_come(name: str) -> str:
    """Return what an agent stands under that has no id yet."""
    return f"new {name}"
