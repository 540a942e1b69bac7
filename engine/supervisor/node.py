"""Base of a supervisor's methods: its place in a tree, and the engine of that tree.

The engine is one in this process (`local_engine`) or one behind a file (`attached`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from functools import cached_property, wraps
from inspect import signature
from pathlib import Path
from typing import Any, ParamSpec, Protocol, TypeAlias, TypeVar

from engine.core.commands import Command
from engine.core.decide.teams.loading import find_declared_root
from engine.core.discovery.nearest import nearest
from engine.core.errors import BadValue, Refused, UnknownAgent, UnknownSupervisor, UnknownTarget
from engine.core.events import Event
from engine.core.queries.targets import Member, Work, find_agent, find_any, id_target
from engine.core.records.records import JsonValue
from engine.core.records.values import StoredValue
from engine.core.specs.spec import AgentSpec
from engine.core.state import Agent, RunSummary, State, Supervisor
from engine.core.validation.records import check_arguments, rebuild_checked
from engine.core.validation.rules import short_repr
from engine.errors import CommandRefusedError, UnknownOption
from engine.host.pending_commands import Applied
from engine.memory import InsightIndex
from engine.runtimes.values import copy_json
from engine.stream.attached import AttachedStream
from engine.stream.records import StreamItem
from engine.stream.subscription import Subscription
from engine.supervisor.registry import AgentRegistry, SpecifiedAgent
from store import Record
from store.wall_clock import wall_ms

P = ParamSpec("P")
T = TypeVar("T")


@contextmanager
def translate_refusals() -> Iterator[None]:
    """Translate refusals of the core into `CommandRefusedError`."""
    try:
        yield
    except Refused as refused:
        raise CommandRefusedError(refused.code, refused.reason) from refused


def check_names(where: str, names: Iterable[str], valid_names: Collection[str]) -> None:
    """Check that all options exist; raises UnknownOption for the first that does not, with the nearest names."""
    for name in names:
        if name not in valid_names:
            raise UnknownOption(where, name, valid_names)


def checks_arguments(method: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Check arguments against the annotated types before a method runs.

    For methods that use their arguments before they make a command, which `checked_command` checks.
    """
    parameters = signature(method)

    @wraps(method)
    async def call(*args: P.args, **named: P.kwargs) -> T:
        with translate_refusals():
            check_arguments(method.__name__, method, parameters.bind(*args, **named).arguments)
        return await method(*args, **named)

    return call


def checked_command(make: Callable[[], Command]) -> Command:
    """Make a command and check every value in it; raises CommandRefusedError if a value is invalid."""
    with translate_refusals():
        command = make()
        return rebuild_checked(command, str(command.type))


def spec_of(agent: AgentSpec | SpecifiedAgent) -> AgentSpec:
    """Return the spec of an agent as a program passes it; raises BadValue if it is not an agent."""
    spec = agent.spec if isinstance(agent, SpecifiedAgent) else agent
    if not isinstance(spec, AgentSpec):
        raise BadValue("an agent", (), f"must be AgentSpec(…), not {short_repr(spec)}")
    return spec


Make: TypeAlias = Callable[[], Command]
"""Builds a command from the present state; called once the state is up to date."""


class JournalLink(Protocol):
    """What a team's journal holds besides the state; methods raise StoreError."""

    async def finished_run(self, run_id: str) -> RunSummary | None:
        """Return the summary of a finished run that the state has dropped; None if there is none with that id."""

    async def records(self, task_id: str) -> list[Record]:
        """Return every event about a task, oldest first."""

    async def text(self, value: StoredValue) -> JsonValue:
        """Return a value that the state holds by reference."""


class EngineLink(ABC):
    """The interface of a supervisor's methods to its engine."""

    @property
    @abstractmethod
    def state(self) -> State:
        """The state as known here, for reading."""

    @cached_property
    def insights(self) -> InsightIndex:
        """The index of the insights of its state."""
        return InsightIndex(self.text)

    @property
    def is_running(self) -> bool:
        """True while an engine runs between calls; for another process assumed until a call shows otherwise."""
        return True

    @property
    def posted(self) -> list[Command]:
        """Posted commands that are not carried out yet."""
        return []

    @abstractmethod
    def running(self) -> AbstractAsyncContextManager[None]:
        """Keep an engine and an up-to-date state while the context is open.

        Raises:
            WrongLoop: If it is in use from another event loop.
            StoreError: If its files cannot be opened.
            CoreError: If its journal cannot be folded.
            Unusable: If an agent that this program declares cannot work.
            HostStopped: If it has ended while others still use it.
        """

    async def order(self, make: Make) -> Applied:
        """Execute the command that `make` returns, and return its outcome once that is on disk.

        Raises:
            CommandRefusedError: If it was refused; nothing has changed.
            Unusable: If it contains an agent that cannot work.
            HostStopped: If no engine runs.
        """
        async with self.running():
            return await self.send(checked_command(make))

    @abstractmethod
    async def send(self, command: Command) -> Applied:
        """Send a checked command to the running engine; otherwise as `order`."""

    @abstractmethod
    def post(self, make: Make) -> None:
        """Send a command without waiting; it is carried out before any later call.

        Raises:
            CommandRefusedError, Unusable: If it can be refused at once.
            WrongLoop: If the engine is in use from another event loop.
        """

    @abstractmethod
    async def wait_for_run(self, run_id: str) -> RunSummary:
        """Wait until a run has ended and return its summary; raises UnknownRun, or HostStopped if the engine ends."""

    @property
    @abstractmethod
    def database(self) -> Path | None:
        """The file of the team; None if it is in memory."""

    @property
    @abstractmethod
    def journal(self) -> JournalLink:
        """The journal of the team; raises WrongLoop if the engine is in use from another event loop."""

    async def finished_run(self, run_id: str) -> RunSummary | None:
        """Return the summary of a finished run, however old; None if there is none with that id."""
        journal = self.journal
        return self.state.summary(run_id) or await journal.finished_run(run_id)

    def present_ms(self) -> int:
        """Return the present time, in UTC milliseconds."""
        return wall_ms()

    async def text(self, value: StoredValue) -> JsonValue:
        """Return a copy of a value that the state may hold by reference."""
        return copy_json(await self.journal.text(value))

    @abstractmethod
    def events(self) -> Subscription[tuple[int, Event]]:
        """Return the events from now on, each with its seq."""

    @abstractmethod
    def stream(self) -> Subscription[StreamItem] | AttachedStream:
        """Return events and live output from now on; use it as a context."""

    async def refresh(self) -> None:  # noqa: B027  # an engine of this process has nothing to catch up with
        """Update the state with changes made by others."""

    def check_complete(self) -> None:  # noqa: B027  # a team of another process is not described by this program
        """Check that every supervisor has the members that it names; raises CommandRefusedError if one is missing."""

    def is_ours(self, member_id: str) -> bool:
        """Return whether this program made or adopted a member; others were left by an earlier program."""
        return True

    def with_callables(self, spec: AgentSpec) -> AgentSpec:
        """Return `spec` with the callables of this program in place of their references."""
        return spec


class SupervisorNode:
    """A supervisor of a tree."""

    _engine: EngineLink
    _path: tuple[str, ...]
    """Names from the root down to itself, where the program put it."""
    _id: str | None = None
    """Its id in the state, once known; unlike the path it survives moves."""
    agent_registry: AgentRegistry | None = None
    """The program's registry, in addition to the team's own."""

    @property
    def name(self) -> str:
        """Its name in the tree."""
        return self._path[-1]

    @property
    def _state(self) -> State:
        return self._engine.state

    @property
    def _supervisor(self) -> Supervisor:
        """The supervisor in the state; raises CommandRefusedError if it was removed."""
        state = self._state
        supervisor = state.supervisors.get(self._id or "") or _supervisor_at(state, self._path)
        with translate_refusals():
            if supervisor is None:
                raise UnknownSupervisor(
                    self.name, nearest(self.name, (other.name for other in state.supervisors.values()))
                )
        return supervisor

    def _refresh_id(self, state: State) -> None:
        """Look up and keep the id of this supervisor by its path."""
        supervisor = _supervisor_at(state, self._path)
        self._id = None if supervisor is None else supervisor.id

    @property
    def _agents(self) -> Iterator[Agent]:
        """Its own agents, in declared order."""
        state = self._state
        return (state.agents[member_id] for member_id in self._supervisor.members if member_id in state.agents)

    @property
    def _target(self) -> str:
        """The supervisor as a command's target."""
        return id_target(self._supervisor.id)

    def _target_for(self, target: str | None, find: Callable[..., Member | Work] = find_any) -> str:
        """Return the unambiguous target of one of its own members, or None for the supervisor itself.

        A target that names none of them is returned unchanged; the core searches the whole tree for it.

        Args:
            target: As a person names it.
            find: Determines the kinds of objects.

        Raises:
            CommandRefusedError: If several own members match.
        """
        if target is None:
            return self._target
        with translate_refusals():
            try:
                return id_target(find(self._state, target, under=self._supervisor).id)
            except (UnknownAgent, UnknownSupervisor, UnknownTarget):
                return target

    def _agent(self, target: str) -> Agent:
        """Return the agent that a target names, its own agents first; raises CommandRefusedError if there is none."""
        with translate_refusals():
            return find_agent(self._state, self._target_for(target, find_agent))


def _supervisor_at(state: State, path: tuple[str, ...]) -> Supervisor | None:
    """Return the supervisor at a path of names; moved supervisors are found at the place where they were declared."""
    supervisor = find_declared_root(state, path[0])
    for name in path[1:]:
        if supervisor is None:
            return None
        parent_id = supervisor.id
        candidates = [candidate for candidate in state.supervisors.values() if candidate.name == name]
        moved_candidates = (
            candidate
            for candidate in candidates
            if candidate.id in state.declared and state.declared[candidate.id].parent_id == parent_id
        )
        supervisor = next(
            (candidate for candidate in candidates if candidate.parent_id == parent_id), next(moved_candidates, None)
        )
    return supervisor
