"""The engine of a supervisor in this process, started for a call or kept, on a file or in memory.

A command goes to the engine if one runs, otherwise to the offline journal.
"""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
from anyio.abc import TaskStatus
from typing_extensions import override

from engine.core import commands
from engine.core.decide.teams.settings import check_teams_complete
from engine.core.events import Event
from engine.core.signals import StateReady
from engine.core.specs.spec import AgentSpec
from engine.core.state import RunSummary, State
from engine.errors import HostStopped, NotEmpty
from engine.host.host import Host
from engine.host.journal_writer import load_state
from engine.host.pending_commands import Applied
from engine.platform.clock import Clock, RealClock
from engine.platform.strategies_plugins import installed_strategies
from engine.stream.records import StreamItem
from engine.stream.subscription import Subscription
from engine.supervisor.adoption import Adoption, tree_of
from engine.supervisor.callables import Callables
from engine.supervisor.command_queue import CommandQueue
from engine.supervisor.node import EngineLink, JournalLink, Make, SupervisorNode, checked_command, translate_refusals
from engine.supervisor.offline import FileJournal, OfflineJournal
from engine.supervisor.program_members import ProgramMembers, brought_specs
from engine.supervisor.shared_resource import LoopGuard, SharedResource
from engine.trusted_code.trust import user_list
from store import Durability, Store, open_store

_ENGINE_COMMANDS = (
    commands.Submit,
    commands.Cancel,
    commands.RetryWork,
    commands.StopEngine,
    commands.HandOver,
    commands.Ping,
    commands.ImportState,
)


class LocalEngine(EngineLink):
    """At most one engine, and the offline journal of the team while none runs.

    Args:
        team: The root supervisor as the program declares it; the other arguments are those of `DynamicSupervisor`.
        joining: Callables of the supervisors that join it.

    Raises:
        CommandRefusedError: If the team is invalid.
    """

    def __init__(
        self,
        team: commands.AddSupervisor,
        *,
        joining: Iterable[Callables] = (),
        store: Path | None,
        durability: Durability = "full",
        accept_loss: int = 0,
        on_conflict: commands.Winner = "declared",
        clock: Clock | None = None,
    ) -> None:
        installed_strategies()  # the team may name one before an engine runs
        self._members = ProgramMembers(team, on_file=store is not None, on_conflict=on_conflict)
        self.callables = self._members.callables
        for callables in joining:
            self.callables.adopt_all(callables)
        self._store = None if store is None else store.absolute()
        self._folder = Path.cwd()
        self._open = partial(open_store, durability=durability, accept_loss=accept_loss)
        self._clock = clock
        self._name = team.team.name
        self._offline = OfflineJournal()
        self.nodes: list[SupervisorNode] = []
        """The program's supervisors, which are views on this engine."""
        self._host: Host | None = None
        attach = "" if store is None else f", or use DynamicSupervisor.attach({str(self._store)!r}) here"
        instead = f"hand the call to that loop with asyncio.run_coroutine_threadsafe{attach}"
        self._guard = LoopGuard(f"supervisor {self._name!r}", instead=instead)
        self._shared = SharedResource(self._run_engine, self._guard)
        self._pending = CommandQueue()
        self.is_complete = False
        """True once the program's description was complete; from then on settings must not name missing members."""
        self._decide_offline(team)

    @property
    @override
    def state(self) -> State:
        """The present state, or the last one of an ended engine; on a file before the first, the declared team."""
        return self._host.state if self._host is not None else self._offline.state

    @property
    @override
    def is_running(self) -> bool:
        """True while an engine is in use."""
        return self._host is not None

    @property
    def is_current(self) -> bool:
        """True while the state here is authoritative; a file without our engine may have been changed by others."""
        return self._host is not None or self._store is None

    @property
    def is_untouched(self) -> bool:
        """True while it is in memory and has never worked on anything."""
        state = self.state
        return self._store is None and not self._guard.users and not state.runs_total and not state.finished

    @property
    @override
    def posted(self) -> list[commands.Command]:
        """Posted commands that are not carried out yet."""
        return self._pending.commands()

    @override
    def check_complete(self) -> None:
        """Check that every supervisor has the members that it names; only until the first success."""
        if not self.is_complete:
            with translate_refusals():
                check_teams_complete(self.state)
            self.is_complete = True

    @override
    def with_callables(self, spec: AgentSpec) -> AgentSpec:
        """Return `spec` with the callables of this program in place of their references."""
        return self.callables.with_callables(spec)

    @override
    def is_ours(self, member_id: str) -> bool:
        """Return whether this program made or adopted a member; others were left by an earlier program."""
        return self._members.adoption.is_ours(member_id)

    def add_nodes(self, nodes: Iterable[SupervisorNode]) -> None:
        """Add supervisors of the program that are in the state already."""
        added = list(nodes)
        for node in added:  # only these: the others may have been moved away from the paths of the program
            node._refresh_id(self.state)
        self.nodes += added

    def _find_nodes(self, state: State) -> None:
        for node in self.nodes:
            node._refresh_id(state)

    @property
    @override
    def journal(self) -> JournalLink:
        """The journal of the running engine, of the file, or the one in memory."""
        self._guard.check()
        return self._host or (self._offline if self._store is None else FileJournal(self._store))

    @override
    async def wait_for_run(self, run_id: str) -> RunSummary:
        """Wait until a run has ended, and return its summary."""
        return await self._running_host().run_ended(run_id)

    @property
    @override
    def database(self) -> Path | None:
        """The file of the team; None if it is in memory."""
        return self._store

    @override
    def events(self) -> Subscription[tuple[int, Event]]:
        """Return the events from now on."""
        return self._running_host().subscribe()

    @override
    def stream(self) -> Subscription[StreamItem]:
        """Return events and live output from now on."""
        return self._running_host().bus.listen()

    @override
    async def order(self, make: Make) -> Applied:
        """Execute a command, offline while idle, otherwise by an engine; its specs may contain callables."""
        if self._is_idle:
            specs = brought_specs(self.state, command := checked_command(make))
            # A command that makes work, or brings code that only an engine can check, needs an engine.
            if not isinstance(command, _ENGINE_COMMANDS) and all(spec.run_in != "process" for spec in specs):
                for spec in specs:
                    await self._members.check(self.callables.with_references(spec))
                with self._guard.lock:
                    if self._is_idle:  # checked again: another task may have started an engine during the await
                        return self._decide_offline(checked_command(make))
        return await super().order(make)

    @override
    async def send(self, command: commands.Command) -> Applied:
        """Send a checked command to the running engine."""
        return await self._members.order_from(self._running_host(), command)

    @override
    def post(self, make: Make) -> None:
        """Send a command without waiting; only from the engine's event loop."""
        self._guard.check()
        make = partial(checked_command, make)
        with self._guard.lock:
            command = make()
            if self._is_idle:
                for spec in brought_specs(self.state, command):
                    self.callables.check_code(spec)
                self._decide_offline(command)
                return
        self._members.check_kinds(self.state, command)
        self._pending.put(make)

    async def flush(self) -> None:
        """Wait until posted commands are carried out; raises the error of the first one that failed."""
        await self._pending.flush()

    @property
    def _is_idle(self) -> bool:
        """True while the team is in memory without users or open runs, so that changes need no engine."""
        return self._store is None and not (self._guard.users or self._offline.state.runs or self._pending)

    def _decide_offline(self, command: commands.Command) -> Applied:
        return self._members.decide(self._offline, command, self._now_ms())

    @override
    def present_ms(self) -> int:
        """Return the time of its clock."""
        return self._now_ms()

    def _now_ms(self) -> int:
        if self._clock is None:
            self._clock = RealClock()
        return self._clock.now_ms()

    async def restore_state(self, signal: StateReady) -> None:
        """Replace the declared team by a checked state, and declare the program's agents again on top of it.

        All or nothing: everything is decided in memory before anything changes. No engine runs meanwhile.

        Raises:
            NotEmpty: If the team has worked, or the file contains a team.
            CommandRefusedError: If the core refuses the state.
            StoreError: If the file cannot be opened or written.
        """
        if self._guard.users or not (self.is_untouched if self._store is None else not self._members.is_declared):
            raise NotEmpty(self._name)
        if self._store is None:
            self._offline, self._members.adoption = self._merge_state(signal, OfflineJournal())
        else:
            async with self._open(self._store) as store:
                state = await load_state(store)
                if state.supervisors:
                    raise NotEmpty(self._name)
                journal, adoption = self._merge_state(signal, OfflineJournal(state))
                await journal.append_to(store)
            self._offline.state, self._members.adoption, self._members.is_declared = journal.state, adoption, True
        self._find_nodes(self._offline.state)

    def _merge_state(self, signal: StateReady, journal: OfflineJournal) -> tuple[OfflineJournal, Adoption]:
        """Return journal and adoption of a checked state with the program's declarations on top."""
        declaration = tree_of(self._offline.state, self._offline.state.roots[0], self.callables)
        journal.decide(signal, self._now_ms())
        adoption = self._members.make_adoption(journal.state)
        command = commands.AddSupervisor(parent=None, team=declaration)
        self._members.decide(journal, command, self._now_ms(), adoption=adoption, settings=False)
        return journal, adoption

    @asynccontextmanager
    @override
    async def running(self) -> AsyncIterator[None]:
        """Use the engine; the first user starts it, and the last one waits for its end."""
        async with self._shared.use():
            await self._pending.flush()
            yield

    async def _run_engine(self, ready: Callable[[], None], stop: anyio.Event) -> None:
        async with self._open(self._store or ":memory:") as store:
            if self._store is None:
                await self._offline.append_to(store)
            elif not self._members.is_declared:
                state = await load_state(store)
                self._members.adoption.mark_all_members(state)
                if self._members.is_team_in(state):
                    self._offline.state = state
                    self._find_nodes(state)
                    self._members.bind_ahead(state, self.posted)
            host = Host(
                store, clock=self._clock, bound=self.callables.by_reference, folder=self._folder, allowed=user_list()
            )
            try:
                await self._run_host(host, ready, stop)
            finally:
                self._host = None
                await self._keep_state(store, host)

    async def _run_host(self, host: Host, ready: Callable[[], None], stop: anyio.Event) -> None:
        host_done = anyio.Event()
        async with anyio.create_task_group() as group:
            await group.start(self._run_until_stopped, host, stop, host_done)
            if await self._members.declare(host, self._offline.state):
                self._find_nodes(host.state)
            await self._members.check_agents(host)
            self._host = host
            await group.start(self._pending.run, partial(self._members.order_from, host))
            ready()
            await stop.wait()
            await host.stop("the program is done")
            await host_done.wait()
            group.cancel_scope.cancel()

    async def _run_until_stopped(
        self, host: Host, stop: anyio.Event, host_done: anyio.Event, *, task_status: TaskStatus[None]
    ) -> None:
        try:
            await host.run(task_status=task_status)
            if not stop.is_set():
                raise HostStopped(host.stopped or "it ended by itself")
        finally:
            host_done.set()
            stop.set()

    async def _keep_state(self, store: Store, host: Host) -> None:
        if self._store is None:
            with anyio.CancelScope(shield=True):
                await self._offline.copy_from(store, host.state)
        elif host.state.seq:
            self._offline.state = host.state

    def _running_host(self) -> Host:
        if self._host is None:
            raise self._shared.end_error()
        return self._host
