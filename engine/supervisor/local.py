"""The engine of a supervisor in this process: started for a call or kept, on a file or in memory.

One rule holds inside: what is asked is asked of the engine where one lives, else of what is at rest here. How an engine
begins and ends with its users is in `shared`, what stands in memory between two engines in `rest`.
"""

from collections.abc import AsyncIterator, Callable, Collection, Iterable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
from anyio.abc import TaskStatus
from pydantic import JsonValue

from engine.archive.checking import opened
from engine.clock import Clock, RealClock
from engine.core.code import specs_in
from engine.core.commands import (
    AddAgent,
    AddSupervisor,
    Cancel,
    Command,
    Declare,
    HandOver,
    ImportState,
    Ping,
    RetryWork,
    StopEngine,
    Submit,
    SwapAgent,
    SwapAgents,
    Winner,
)
from engine.core.decide.naming import check_whole
from engine.core.errors import Refused
from engine.core.signals import AgentUnusable, AgentUsable, Signal, StateReady
from engine.core.spec import AgentSpec, spec_hash
from engine.core.state import RunSummary, State
from engine.core.values import Held
from engine.errors import CommandRefusedError, HostStopped, Unusable
from engine.host.host import Host
from engine.host.opening import folded
from engine.host.orders import Applied
from engine.host.subscriptions import Subscription
from engine.supervisor.adoption import Adoption, tree_of
from engine.supervisor.callables import Callables
from engine.supervisor.checking import check_code, check_kind, check_usable
from engine.supervisor.errors import NotEmpty
from engine.supervisor.filed import finished_in, text_in
from engine.supervisor.home import Home
from engine.supervisor.options import checked_command
from engine.supervisor.posted import Make, Posted
from engine.supervisor.rest import Rest
from engine.supervisor.shared import Shared
from engine.trust import user_list
from store import Durability, Store, open_store

_NEED_AN_ENGINE = (Submit, Cancel, RetryWork, StopEngine, HandOver, Ping, ImportState)


class LocalEngine:
    """One engine at most, with what there is while none works.

    Args:
        team: The supervisor at the top, as the program declares it.
        store: Its file; None keeps everything in memory.
        durability: Whether an acknowledged command is on disk (`full`) or may be lost in a power cut (`normal`).
        accept_loss: How many acknowledged events may be missing in the file.
        on_conflict: Who wins where a member of the file was changed since the program declared it last.
        clock: Where its time comes from.

    Raises:
        CommandRefusedError: If the team cannot be right.
    """

    def __init__(
        self,
        team: AddSupervisor,
        *,
        store: Path | None,
        durability: Durability = "full",
        accept_loss: int = 0,
        on_conflict: Winner = "declared",
        clock: Clock | None = None,
    ) -> None:
        self.callables = Callables()
        self._adopting = partial(Adoption, self.callables, declares=store is not None, on_conflict=on_conflict)
        self.adoption = self._adopting()
        self.store = None if store is None else store.absolute()
        self._folder = Path.cwd()
        self._open = partial(open_store, durability=durability, accept_loss=accept_loss)
        self._clock = clock
        self._declared = team
        self._team: AddSupervisor | None = team
        self._rest = Rest()
        self.nodes: list[Any] = []
        """The supervisors of the program that are views on this engine."""
        self._host: Host | None = None
        self._home = Home(f"supervisor {team.team.name!r}", instead=_instead(self.store))
        self._shared = Shared(self._live, self._home)
        self._posted = Posted()
        self._checked: set[str] = set()
        self.is_whole = False
        """The program has described its team: from now on members are added before they are named."""
        self._decided_at_rest(team)
        if store is None:
            self._team = None

    # What is known

    @property
    def state(self) -> State:
        """The state of the moment, or as the last engine left it; on a file before the first: what is declared."""
        return self._host.state if self._host is not None else self._rest.state

    @property
    def is_running(self) -> bool:
        """True while anybody uses an engine."""
        return self._host is not None

    @property
    def is_at_hand(self) -> bool:
        """True while the state here is the whole truth, and not that of a file that others may have changed."""
        return self._host is not None or self.store is None

    @property
    def is_untouched(self) -> bool:
        """True while nothing was ever worked on and it is all in memory."""
        state = self.state
        return self.store is None and not self._home.is_used and not state.runs_total and not state.finished

    def check_whole(self) -> None:
        """Return when every supervisor has the members that it names; looked at until it was so once.

        Raises:
            CommandRefusedError: If one is missing.
        """
        if self.is_whole:
            return
        try:
            check_whole(self.state)
        except Refused as refusal:
            raise CommandRefusedError(refusal.code, refusal.reason) from refusal
        self.is_whole = True

    def restored(self, spec: AgentSpec) -> AgentSpec:
        """Return `spec` with the callables of this program in place of their references."""
        return self.callables.restored(spec)

    def is_ours(self, member_id: str) -> bool:
        """Tell whether a member was made or taken over by this program, and not only left by an earlier one."""
        return self.adoption.is_ours(member_id)

    async def text(self, value: Held) -> JsonValue:
        """Return a value that the state holds by reference."""
        self._home.check()
        if self._host is not None:
            return await self._host.text(value)
        if self.store is not None:
            return await anyio.to_thread.run_sync(text_in, self.store, value)
        return self._rest.text(value)

    def add_nodes(self, nodes: Iterable[Any]) -> None:
        """Take in supervisors of the program that stand in the state already."""
        self._find(nodes, self.state)
        self.nodes += nodes

    def _find(self, nodes: Iterable[Any], state: State) -> None:
        for node in nodes:
            node._find(state)

    # Orders

    async def order(self, make: Make) -> Applied:
        """Give the command that `make` returns, with callables in its specs where the program has them.

        Raises:
            CommandRefusedError: If it was not carried out; nothing changed then.
            Unusable: If an agent that it brings cannot work.
        """
        make = partial(checked_command, make)
        if self._is_at_rest and not self._needs_engine(command := make()):
            for spec in _specs_of(self._rest.state, command):
                await self._check(self.callables.referred(spec))
            with self._home.guard:
                if self._is_at_rest:  # the look at its code may have let another task start an engine
                    return self._decided_at_rest(make())
        async with self.running():
            return await self._ordered(self._running_host(), make())

    def post(self, make: Make) -> None:
        """Give a command without waiting; from the loop that the engine runs in.

        Raises:
            WrongLoop: Elsewhere.
            CommandRefusedError: If it is refused, where that is known at once.
            Unusable: Likewise.
        """
        self._home.check()
        with self._home.guard:
            make = partial(checked_command, make)
            command = make()
            if self._is_at_rest:
                for spec in _specs_of(self._rest.state, command):
                    check_code(self.callables.referred(spec), self.callables.by_reference)
                self._decided_at_rest(command)
                return
        self._check_kinds(command)
        self._posted.put(make)

    @property
    def posted(self) -> list[Command]:
        """What was posted and is not carried out yet."""
        return list(self._posted.commands())

    async def flushed(self) -> None:
        """Return once what was posted is carried out.

        Raises:
            CommandRefusedError, Unusable: What the first of it ran into that was not.
        """
        await self._posted.flushed()

    async def run_ended(self, run_id: str) -> RunSummary:
        """Return the summary of a run once it has its outcome."""
        return await self._running_host().run_ended(run_id)

    async def finished_run(self, run_id: str) -> RunSummary | None:
        """Return the summary of a run that has ended, however long ago."""
        self._home.check()
        if self._host is not None:
            return await self._host.finished_run(run_id)
        if self.store is None:
            return self._rest.finished_run(run_id)
        return self.state.summary(run_id) or await anyio.to_thread.run_sync(finished_in, self.store, run_id)

    async def refresh(self) -> None:
        """Return: the state is that of the engine here, or as this program left it."""

    def events(self) -> Subscription:
        """Return the events from now on."""
        return self._running_host().subscribe()

    @property
    def _is_at_rest(self) -> bool:
        """True while nobody is at work and nobody else could be, so that a change needs no engine."""
        return self.store is None and not (self._home.is_used or self._rest.state.runs or self._posted)

    def _needs_engine(self, command: Command) -> bool:
        """Tell whether a command makes work, or brings code that only an engine can look at."""
        specs = _specs_of(self._rest.state, command)
        return isinstance(command, _NEED_AN_ENGINE) or any(spec.run_in == "process" for spec in specs)

    def _decided_at_rest(self, command: Command) -> Applied:
        outcome = Applied(self._rest.state.seq, "is there already", {})
        for asked in self.adoption.asked(self._rest.state, command):
            self._check_kinds(asked)
            outcome = self._rest.order(asked, self._now_ms())
        return outcome

    def _check_kinds(self, command: Command) -> None:
        for spec in _specs_of(self.state, command):
            check_kind(self.callables.referred(spec), self.callables.by_reference)

    async def _ordered(self, host: Host, command: Command) -> Applied:
        outcome = Applied(host.state.seq, "is there already", {})
        for asked in self.adoption.asked(host.state, command):
            host.bind(self.callables.by_reference)
            for spec in _specs_of(host.state, asked):
                await self._check(spec, host)
            outcome = await host.order(asked)
        host.bind(self.callables.by_reference)
        if isinstance(command, AddAgent | AddSupervisor):
            await self._mend(host, {spec.name for spec in _specs_of(host.state, command)})
        return outcome

    async def _mend(self, host: Host, named: Collection[str]) -> None:
        """Let agents work again whose code came with their being taken over; others stay in error, and say why."""
        for agent in list(host.state.agents.values()):
            if (agent.error is not None or agent.away) and self.is_ours(agent.id):
                try:
                    await check_usable(host.state.spec_of(agent), self.callables.by_reference, host.processes)
                except Unusable:
                    if agent.name in named:
                        raise
                    continue
                await _decided(host, AgentUsable(agent_id=agent.id, generation=agent.generation))

    async def _check(self, spec: AgentSpec, host: Host | None = None) -> None:
        if (key := spec_hash(spec)) not in self._checked:
            await check_usable(spec, self.callables.by_reference, None if host is None else host.processes)
            self._checked.add(key)

    def _now_ms(self) -> int:
        if self._clock is None:
            self._clock = RealClock()
        return self._clock.now_ms()

    # States from elsewhere

    async def take_in(self, signal: StateReady) -> None:
        """Take in a checked state in place of the declared team, whose agents are then said again on top of it.

        All of it, or nothing: both are decided in memory before anything is changed. No engine works on it meanwhile.

        Raises:
            NotEmpty: If anything was worked on here, or the file holds a team.
            CommandRefusedError: If the core refuses it.
            StoreError: If the file cannot be held or written.
        """
        team = self._declared
        if self._home.is_used or not (self.is_untouched if self.store is None else self._team is not None):
            raise NotEmpty(team.team.name)
        if self.store is None:
            self._rest, self.adoption = self._taken_in(signal, Rest())
        else:
            async with self._open(self.store) as store:
                rest, adoption = self._taken_in(signal, Rest(await self._empty(store)))
                await rest.pour_into(store)
            self._rest.state, self.adoption, self._team = rest.state, adoption, None
        self._find(self.nodes, self._rest.state)

    async def _empty(self, store: Store) -> State:
        state = await folded(store)
        if state.supervisors:
            raise NotEmpty(self._declared.team.name)
        return state

    def _taken_in(self, signal: StateReady, rest: Rest) -> tuple[Rest, Adoption]:
        """Return what a checked state comes to, with what the program has said so far on top of it."""
        said = tree_of(self._rest.state, self._rest.state.roots[0], self.callables)
        rest.decide(signal, self._now_ms())
        adoption = self._adopting()
        adoption.begin(rest.state)
        for asked in adoption.asked(rest.state, AddSupervisor(parent=None, team=said), settings=False):
            self._check_kinds(asked)
            rest.order(asked, self._now_ms())
        return rest, adoption

    # The engine's life

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Use the engine; the first user starts it and the last one waits for its end.

        Raises:
            WrongLoop: If it is in use from another event loop.
            StoreError: If its files cannot be held.
            CoreError: If what stands in them cannot be read.
            Unusable: If an agent that the program declares cannot work.
            HostStopped: If it was ended by somebody else while others still use it.
        """
        async with self._shared.used():
            await self._posted.flushed()
            yield

    async def _live(self, ready: Callable[[], None], stop: anyio.Event) -> None:
        async with self._open(self.store or ":memory:") as store:
            if self.store is None:
                await self._rest.pour_into(store)
            elif self._team is not None:
                await self._look_ahead(store, self._team)
            host = Host(
                store,
                clock=self._clock,
                bound=self.callables.by_reference,
                folder=self._folder,
                allowed=user_list(),
                importer=opened,
            )
            try:
                await self._live_with(host, ready, stop)
            finally:
                self._host = None
                await self._keep(store, host)

    async def _look_ahead(self, store: Store, team: AddSupervisor) -> None:
        """Read what a file holds before its engine starts, and bind the program's callables to who is there."""
        state = await folded(store)
        self.adoption.begin(state)
        if any(root.name == team.team.name for root in state.roots):
            self._rest.state = state
            self._find(self.nodes, state)
            for command in (team, *self._posted.commands()):
                with suppress(CommandRefusedError):  # said again when it is carried out
                    self.adoption.bind_ahead(state, command)

    async def _live_with(self, host: Host, ready: Callable[[], None], stop: anyio.Event) -> None:
        gone = anyio.Event()
        async with anyio.create_task_group() as group:
            await group.start(self._run, host, stop, gone)
            await self._begin(host)
            self._host = host
            await group.start(self._posted.run, partial(self._ordered, host))
            ready()
            await stop.wait()
            await host.stop("the program is done")
            await gone.wait()
            group.cancel_scope.cancel()

    async def _run(self, host: Host, stop: anyio.Event, gone: anyio.Event, *, task_status: TaskStatus[None]) -> None:
        try:
            await host.run(task_status=task_status)
            if not stop.is_set():
                raise HostStopped(host.stopped or "it ended by itself")
        finally:
            gone.set()
            stop.set()

    async def _begin(self, host: Host) -> None:
        """Say to a file what the program declares, once; look whether all that it declares can work."""
        if self._team is not None:
            await self._ordered(host, self._team)
            self._team = None
            self._find(self.nodes, host.state)
        for agent in list(host.state.agents.values()):
            if agent.away and not self.is_ours(agent.id):
                continue
            try:
                await self._check(host.state.spec_of(agent), host)
            except Unusable as unusable:
                if self.is_ours(agent.id):
                    raise
                # Said before anybody is given work: the engine's own look at its agents takes its time.
                signal = AgentUnusable(agent_id=agent.id, generation=agent.generation, error=unusable.reason)
                await _decided(host, signal)

    async def _keep(self, store: Store, host: Host) -> None:
        if self.store is None:
            with anyio.CancelScope(shield=True):
                await self._rest.take_from(store, host.state)
        elif host.state.seq:
            self._rest.state = host.state

    def _running_host(self) -> Host:
        if self._host is None:
            raise self._shared.why_gone()
        return self._host


def _instead(store: Path | None) -> str:
    attach = "" if store is None else f", or use DynamicSupervisor.attach({str(store)!r}) here"
    return f"hand the call to that loop with asyncio.run_coroutine_threadsafe{attach}"


async def _decided(host: Host, signal: Signal) -> None:
    """Return once the core has heard of something and that is on disk."""
    if host.stopped is not None:
        raise HostStopped(host.stopped)
    heard = anyio.Event()
    host.signal(signal, lambda error: heard.set())
    await heard.wait()


def _specs_of(state: State, command: Command) -> list[AgentSpec]:
    """Return every spec that a command brings to work, also by its name in the registry."""
    if isinstance(command, AddSupervisor):
        return specs_in(command.team)
    if isinstance(command, Declare):
        return [command.member] if isinstance(command.member, AgentSpec) else specs_in(command.member)
    if isinstance(command, SwapAgents):
        return [spec for one in command.swaps for spec in _specs_of(state, one)]
    if not isinstance(command, AddAgent | SwapAgent):
        return []
    if command.spec is None:
        key = state.registry.get(command.registered or "")
        return [] if key is None else [state.specs[key]]
    return [command.spec]
