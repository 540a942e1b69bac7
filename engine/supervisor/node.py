"""Base of a supervisor's methods: its place in a tree, and the engine of that tree.

The engine is one in this process (`local`) or one behind a file (`attached`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any, ParamSpec, TypeAlias, TypeVar

from engine.core.commands import Command
from engine.core.decide.loading import root_declared
from engine.core.discovery import nearest
from engine.core.errors import BadValue, Refused, UnknownAgent, UnknownSupervisor, UnknownTarget
from engine.core.events import Event
from engine.core.queries.targets import Member, Work, at, find_agent, find_any
from engine.core.records import JsonValue
from engine.core.spec import AgentSpec
from engine.core.state import Agent, RunSummary, State, Supervisor
from engine.core.validation.records import check_arguments, checked
from engine.core.validation.rules import shown
from engine.core.values import StoredValue
from engine.errors import CommandRefusedError, UnknownOption
from engine.host.pending_commands import Applied
from engine.registry import AgentRegistry, SpecifiedAgent
from engine.stream.attached import AttachedStream
from engine.stream.records import Heard
from engine.stream.subscription import Subscription
from store import Record

P = ParamSpec("P")
T = TypeVar("T")


@contextmanager
def refusals() -> Iterator[None]:
    """Raise what the core refuses as what a program catches."""
    try:
        yield
    except Refused as refused:
        raise CommandRefusedError(refused.code, refused.reason) from refused


def check_names(where: str, given: Iterable[str], known: Collection[str]) -> None:
    """Check that all options exist.

    Raises:
        UnknownOption: For the first that does not, with the nearest names.
    """
    for name in given:
        if name not in known:
            raise UnknownOption(where, name, known)


def checks_arguments(method: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Refuse arguments that are not of the annotated types, before a method looks into them.

    For methods that read their arguments before a command is made of them; `checked_command` checks the command.
    """
    parameters = signature(method)

    @wraps(method)
    async def call(*args: P.args, **named: P.kwargs) -> T:
        with refusals():
            check_arguments(method.__name__, method, parameters.bind(*args, **named).arguments)
        return await method(*args, **named)

    return call


def checked_command(make: Callable[[], Command]) -> Command:
    """Return the command that a call makes, with every value in it checked.

    Raises:
        CommandRefusedError: If a value cannot be right.
    """
    with refusals():
        command = make()
        return checked(command, str(command.type))


def spec_of(agent: AgentSpec | SpecifiedAgent) -> AgentSpec:
    """Return the spec of what a program passes as an agent.

    Raises:
        BadValue: If it is no agent.
    """
    spec = agent.spec if isinstance(agent, SpecifiedAgent) else agent
    if not isinstance(spec, AgentSpec):
        raise BadValue("an agent", (), f"must be AgentSpec(…), not {shown(spec)}")
    return spec


Make: TypeAlias = Callable[[], Command]
"""Builds a command from the current state; called once that is known."""


class EngineLink(ABC):
    """An engine, as the calls of a supervisor see it."""

    @property
    @abstractmethod
    def state(self) -> State:
        """The state as far as it is known here; for reading."""

    @property
    def is_running(self) -> bool:
        """True while an engine keeps running between calls; of another process, until a call shows otherwise."""
        return True

    @property
    def posted(self) -> list[Command]:
        """Commands that were posted and are not carried out yet."""
        return []

    @abstractmethod
    def running(self) -> AbstractAsyncContextManager[None]:
        """Have an engine, and its state of this moment, for as long as the context is open.

        Raises:
            WrongLoop: If it is in use from another event loop.
            StoreError: If its files cannot be held.
            CoreError: If what stands in them cannot be read.
            Unusable: If an agent that this program declares cannot work.
            HostStopped: If it was ended elsewhere while others still use it.
        """

    async def order(self, make: Make) -> Applied:
        """Carry out the command that `make` returns; returns when its outcome is on disk.

        Raises:
            CommandRefusedError: If it was not carried out; nothing changed then.
            Unusable: If it brings an agent that cannot work.
            HostStopped: If no engine is there to take it.
        """
        async with self.running():
            return await self.send(checked_command(make))

    @abstractmethod
    async def send(self, command: Command) -> Applied:
        """Send a checked command to the running engine, with those that others send meanwhile; as `order`."""

    @abstractmethod
    def post(self, make: Make) -> None:
        """Send a command without waiting: it is carried out before anything that is asked later.

        Raises:
            CommandRefusedError, Unusable: If it is clear at once that it would be refused.
            WrongLoop: If the engine is in use from another event loop.
        """

    @abstractmethod
    async def run_ended(self, run_id: str) -> RunSummary:
        """Return the summary of a run once it has its outcome; raises UnknownRun, or HostStopped if it ends first."""

    @abstractmethod
    async def finished_run(self, run_id: str) -> RunSummary | None:
        """Return the summary of a run that has ended, however long ago; None if there is none with that id."""

    @property
    @abstractmethod
    def database(self) -> Path | None:
        """The file of the team; None where it is in memory."""

    @abstractmethod
    async def records(self, kind: str) -> list[Record]:
        """Return every event of a kind from the journal, the oldest first."""

    @abstractmethod
    async def text(self, value: StoredValue) -> JsonValue:
        """Return a value that the state holds by reference."""

    @abstractmethod
    def events(self) -> Subscription[tuple[int, Event]]:
        """Return the events from now on, each with its seq."""

    @abstractmethod
    def stream(self) -> Subscription[Heard] | AttachedStream:
        """Return the events from now on, and what agents say between them; a context that has to be left."""

    async def refresh(self) -> None:  # noqa: B027  # an engine of this process has nothing to catch up with
        """Bring the state up to date with what others have done to the team."""

    def check_complete(self) -> None:  # noqa: B027  # a team of another process is not described by this program
        """Check that every supervisor has the members that it names; raises CommandRefusedError if one is missing."""

    def is_ours(self, member_id: str) -> bool:
        """Return whether a member was made or taken over by this program, and not only left by an earlier one."""
        return True

    def restored(self, spec: AgentSpec) -> AgentSpec:
        """Return `spec` with the callables of this program in place of their references."""
        return spec


class Node:
    """A supervisor of a tree."""

    _engine: EngineLink
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
        return self._engine.state

    @property
    def _here(self) -> Supervisor:
        """The supervisor in the state; raises CommandRefusedError if it was removed."""
        state = self._state
        found = state.supervisors.get(self._id or "") or _supervisor_at(state, self._path)
        with refusals():
            if found is None:
                raise UnknownSupervisor(self.name, nearest(self.name, (one.name for one in state.supervisors.values())))
        return found

    def _find(self, state: State) -> None:
        """Remember the id of the supervisor in `state` at the path where the program put this one."""
        found = _supervisor_at(state, self._path)
        self._id = None if found is None else found.id

    @property
    def _agents(self) -> Iterator[Agent]:
        """Its own agents, in declared order."""
        state = self._state
        return (state.agents[member_id] for member_id in self._here.members if member_id in state.agents)

    @property
    def _target(self) -> str:
        """The supervisor as a command's target."""
        return at(self._here.id)

    def _agent_target(self, name: str) -> str:
        """Return the target of one of its own agents; raises CommandRefusedError if it is ambiguous or missing."""
        return at(self._agent(name).id)

    def _agent(self, name: str) -> Agent:
        with refusals():
            return find_agent(self._state, name, under=self._here)

    def _any_target(self, name: str | None, find: Callable[..., Member | Work] = find_any) -> str:
        """Return the target for a name: the supervisor itself (None), one of its own, else of the whole tree.

        `find` says which kinds of objects are meant. Raises CommandRefusedError if it may mean several of its own.
        """
        if name is None:
            return self._target
        with refusals():
            try:
                return at(find(self._state, name, under=self._here).id)
            except (UnknownAgent, UnknownSupervisor, UnknownTarget):
                return name  # the core looks for it in the whole tree


def _supervisor_at(state: State, path: tuple[str, ...]) -> Supervisor | None:
    """Return the supervisor that the names of `path` lead to, from a root down.

    One that was moved since it was declared is found where it was declared.
    """
    found = root_declared(state, path[0])
    for name in path[1:]:
        if found is None:
            return None
        above_id = found.id
        named = [one for one in state.supervisors.values() if one.name == name]
        moved = (one for one in named if one.id in state.declared and state.declared[one.id].parent_id == above_id)
        found = next((one for one in named if one.parent_id == above_id), next(moved, None))
    return found
