"""One engine on one store: connects the loop with attempts, effects, intake and readers, and is its API."""

import logging
import os
import uuid
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import TaskGroup, TaskStatus

from engine.archive.importing import Imports
from engine.catalogue import Catalogue
from engine.core.commands import Command, ImportState, Order
from engine.core.effects import FindAgents
from engine.core.errors import BadValue
from engine.core.events import Event
from engine.core.signals import AgentsFound, EngineBegan, EngineEnds, Signal
from engine.core.specs.options import GRACE_S
from engine.core.state import RunSummary, State
from engine.core.validation.records import rebuild_checked
from engine.errors import CommandRefusedError, HostStopped, UnknownRun, first_error
from engine.finding.agent_search import AgentSearch
from engine.host.attempts import Attempts
from engine.host.batch import Batch, OnWritten
from engine.host.catalogue_entries import NamedEntries
from engine.host.effects import Performer
from engine.host.finished_runs import FinishedRuns
from engine.host.handover import Handover
from engine.host.journal_writer import PAGE_EVENTS, encode_snapshot, save, writer_for
from engine.host.loop import BATCH_MS, Loop
from engine.host.pending_commands import Applied, Intake, PendingCommands
from engine.host.runtime_pool import RuntimePool
from engine.host.timers import Timers
from engine.host.trusting import Trusting
from engine.memory import InsightIndex
from engine.models.service import ModelService
from engine.platform.clock import Clock, RealClock
from engine.platform.sender import sender_of
from engine.platform.strategies_plugins import installed_strategies
from engine.platform.version import program_build, program_version
from engine.reading.folding import events_of
from engine.reading.texts import Texts
from engine.runtimes.attempts.insight_desk import InsightDesk
from engine.runtimes.attempts.pending import Pending
from engine.runtimes.attempts.reservations import Reservations
from engine.runtimes.base import Factory
from engine.runtimes.catalogue import built_in
from engine.runtimes.functions.processes import Processes, spare_cores
from engine.runtimes.functions.threads import Threads
from engine.runtimes.programs.external_programs import Programs
from engine.stream.board import LiveTexts
from engine.stream.bus import BUFFERED, Bus
from engine.stream.subscription import Subscription
from engine.trusted_code.trust import TrustList
from store import Deposed, FileLost, NoSuchSeq, Record
from store.layout.opening import Store

SNAPSHOT_EVENTS = 5_000
"""Events between two snapshots."""
RETRY_OUTCOME_MS = 1_000
"""Delay before an outcome that could not be written into the inbox is written again."""
TICK_S = 1.0
"""Interval of the loop's sign of life to the lease, which counts an engine as hung after 3 s without one."""

log = logging.getLogger(__name__)


class Host:
    """One engine on one open store.

    Run it in a task group, and give it orders from anywhere in the same loop:

        async with anyio.create_task_group() as group:
            await group.start(host.run)
            applied = await host.order(Submit(request="…"))

    Args:
        store: The open store; the host holds its lease while it runs.
        clock: Source of time; the system clock by default.
        runtimes: Runtime factories by agent type; the built-in ones by default.
        bound: Callables of this process, by the references that specs hold.
        folder: Folder of the agents' code and work, unless a team file sets it.
        allowed: Trust list of the user who runs the engine; None trusts nothing that comes from elsewhere.
        is_program: The engine belongs to a program, whose own commands may bring its own code. Other engines import
            only what `allowed` permits.
        grace_s: Default grace period of attempts that are asked to stop, in seconds.
        seed: Seed of the jitter of back-offs; None draws from the system.
        pid: Process id to journal; this process by default.
        batch_ms: Time for which messages are decided before a batch is written, in milliseconds of real time; with
            infinity the same messages always make the same batches.
        snapshot_events: Events between two snapshots.
        state: State of the same journal after an earlier event, if known; spares folding up to there.
        processes: Default limit on attempts in child processes; the number of cores less one, at least one.
        catalogue: Where agents are found; None opens that of the user who runs the engine when it is needed.
    """

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock | None = None,
        runtimes: Mapping[str, Factory] | None = None,
        bound: Mapping[str, Callable[..., Any]] | None = None,
        folder: Path | None = None,
        allowed: TrustList | None = None,
        is_program: bool = True,
        grace_s: float = GRACE_S,
        seed: int | None = None,
        pid: int | None = None,
        batch_ms: float = BATCH_MS,
        snapshot_events: int = SNAPSHOT_EVENTS,
        state: State | None = None,
        processes: int | None = None,
        catalogue: Catalogue | None = None,
    ) -> None:
        self.store = store
        self.clock = clock if clock is not None else RealClock()
        self.threads = Threads()
        self.reserved = Reservations()
        self.models = ModelService(self.spawn, self._check_outside)
        self.processes = Processes()
        self.programs = Programs()
        self.bus = Bus(
            LiveTexts(with_recent=store.path is not None, on_change=store.live.news), self._read_events_after
        )
        store.live.follow(self.bus.board.take)
        self._pid = pid if pid is not None else os.getpid()
        self._snapshot_events = snapshot_events
        self._limit = processes or spare_cores()
        installed_strategies()
        self._bound = dict(bound or {})
        texts = Texts(self._read_body)
        self.text = texts.resolve
        """Resolve a value of the state, from the journal if the state holds only a reference."""
        self.insights = InsightDesk(InsightIndex(texts.resolve))
        self._timers = Timers(self.clock)
        self._writer = writer_for(store, self.clock)
        self._loop = Loop(
            store,
            self._writer,
            self.clock,
            texts,
            perform=self._perform,
            divert=self._divert,
            seed=seed,
            batch_ms=batch_ms,
        )
        if state is not None:
            self._loop.state = state
        self._trusting = Trusting(
            allowed,
            db=None if store.path is None else store.path.resolve(),
            folder=folder,
            state=lambda: self.state,
            is_program=is_program,
        )
        self._search = AgentSearch(self, self._trusting, self.programs, catalogue=catalogue)
        self._entries = NamedEntries(self, catalogue)
        self._connect(runtimes if runtimes is not None else built_in(), folder, grace_s=grace_s)
        self._importing: set[str] = set()
        self._run_slots: dict[str, list[Pending[RunSummary]]] = {}
        self._snapshot_seq = 0
        self._saving = False
        self._group: TaskGroup | None = None
        self._has_ended = anyio.Event()

    def _connect(self, runtimes: Mapping[str, Factory], folder: Path | None, *, grace_s: float) -> None:
        """Create the parts that execute attempts and effects, and that accept orders."""
        self._orders = PendingCommands(
            self.store.inbox, lambda call: self.call_later(self.clock.now_ms() + RETRY_OUTCOME_MS, call)
        )
        self._runtimes = RuntimePool(
            runtimes=runtimes,
            bound=self._bound,
            state=lambda: self.state,
            folder=folder,
            trusting=self._trusting,
            threads=self.threads,
            processes=self.processes,
            programs=self.programs,
            start=self.spawn,
        )
        self._attempts = Attempts(self, self._runtimes, grace_s=grace_s)
        self._performer = Performer(
            self,
            runtimes=self._runtimes,
            attempts=self._attempts,
            orders=self._orders,
            find_agents=self._find_agents,
            on_stop=self._end,
        )
        loop = self._loop
        self._finished = FinishedRuns(self, self.store.journal, flush=self.wait_until_written)
        self._intake = Intake(
            self,
            self.store.inbox,
            orders=self._orders,
            trusting=self._trusting,
            entries=self._entries,
            finished_fields_for=self._finished.fields_for,
            flush=loop.flush,
            put=loop.put,
        )
        self._handover = Handover(self, self.store, self._attempts, put=loop.put, close_intake=self._intake.close)
        self._imports = Imports(self, granted=self._trusting.find_grants, tell=self._signal_and_wait)

    @property
    def state(self) -> State:
        """The present state, for reading; it may lead the disk by two batches."""
        return self._loop.state

    @property
    def stopped(self) -> str | None:
        """Why it has ended; None before."""
        return self._loop.stopped

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Run the engine until it is stopped; reports `started` once it accepts commands.

        Raises:
            Deposed: If another engine took over; this one stops at once, and events not on disk never happened.
            FileLost: If the database was deleted or replaced under it.
            DiskStayedFull: If the disk had no room for a minute.
            CoreError: If the journal cannot be folded.
        """
        failure: BaseException | None = None
        try:
            async with anyio.create_task_group() as group:
                self._group = group
                try:
                    await self._run_all(group, task_status)
                except Exception as group_error:  # raised once all tasks have ended; the group would wrap it
                    failure = error = self.store.lease.explain(first_error(group_error))
                    if not isinstance(error, Deposed | FileLost):  # reported once, by the caller of `run`
                        log.error("the engine ends: %s", error)
                    self._end(f"{type(error).__name__}: {error}")
                finally:
                    await self._attempts.end()
                group.cancel_scope.cancel()
        finally:
            await self._close()
        if failure is not None:
            raise failure

    async def stop(self, reason: str = "stopped") -> None:
        """End the engine cleanly and wait for it; open runs continue with the next engine."""
        if self._group is not None:
            if self.stopped is None:
                self.signal(EngineEnds(reason=reason))
            await self._has_ended.wait()

    async def order(
        self,
        command: Command,
        *,
        sender: str | None = None,
        role: str = "operator",
        id: str | None = None,
        run_id: str | None = None,
    ) -> Applied:
        """Execute a command of this process, or of the agent of a run, and return its outcome once that is on disk.

        A second command with the same `id` is not carried out; sender and role are journaled.

        Raises:
            CommandRefusedError: If it was refused; nothing has changed.
            HostStopped: If the engine ended before it was decided.
        """
        self._check_open()
        try:
            command = rebuild_checked(command, str(command.type))
        except BadValue as bad:
            raise CommandRefusedError(bad.code, bad.reason) from bad
        with self.clock.held():
            origin = None
            if id not in self.state.commands:  # one that was decided keeps its outcome, whatever became of the entry
                command, origin = await self._entries.fill_in_spec(command)
            granted = (
                await self.threads.run(partial(self._trusting.grants_of_program, command))
                if self._trusting.references_of(command)
                else {}
            )
            order = Order(
                id=id or uuid.uuid4().hex,
                command=command,
                sender=sender or sender_of(),
                role=role,
                granted=granted,
                run_id=run_id,
                origin=origin,
                **await self._finished.fields_for(command),
            )
        slot = self._orders.expect(order.id)
        self._loop.put(order)
        try:
            return await slot.wait()
        finally:
            self._orders.forget(order.id)

    async def run_ended(self, run_id: str) -> RunSummary:
        """Wait until a run has ended, and return its summary.

        Raises:
            UnknownRun: If the journal has none.
            HostStopped: If the engine ended first.
        """
        if run_id not in self.state.runs:
            summary = await self.finished_run(run_id)
            if summary is None:
                raise UnknownRun(run_id)
            # Otherwise the run has ended in memory only; its slot is filled when the batch is on disk.
            if summary.seq <= self._loop.written_seq:
                return summary
        self._check_open()
        slot: Pending[RunSummary] = Pending()
        slots = self._run_slots.setdefault(run_id, [])
        slots.append(slot)
        try:
            return await slot.wait()
        finally:  # cancelled callers are not kept until the run ends
            slots.remove(slot)
            if not slots and self._run_slots.get(run_id) is slots:
                del self._run_slots[run_id]

    async def finished_run(self, run_id: str) -> RunSummary | None:
        """Return the summary of a finished run, from the journal if the state has dropped it."""
        return await self._finished.summary(run_id)

    async def records(self, task_id: str) -> list[Record]:
        """Return every event about a task from the journal, oldest first."""
        await self.wait_until_written()
        return await self.store.journal.records_of_task(task_id)

    async def wait_until_written(self) -> None:
        """Wait until everything decided so far is in the journal (an in-memory store is written behind)."""
        await self._loop.flush()
        await self._writer.flush()

    async def _read_body(self, seq: int) -> bytes:
        """Return the body of an event of the state, which may not be in the journal yet."""
        try:
            return await self.store.journal.body(seq)
        except NoSuchSeq:
            await self.wait_until_written()
            return await self.store.journal.body(seq)

    async def state_written(self) -> bool:
        """Wait until effects of the present state may be performed; False if the engine stops first."""
        return await self._loop.flush()

    def subscribe(self, *, buffered: int = BUFFERED) -> Subscription[tuple[int, Event]]:
        """Return a subscription to the events from now on, each with its seq.

        Args:
            buffered: Events kept in memory for the reader; one that falls further behind reads from the journal.
        """
        return self.bus.subscribe(buffered=buffered)

    async def _read_events_after(self, after_seq: int) -> list[tuple[int, Event]]:
        await self.wait_until_written()
        records = await self.store.journal.read(after_seq, PAGE_EVENTS)
        return list(zip([record.seq for record in records], events_of(records), strict=True))

    def bind(self, callables: Mapping[str, Callable[..., Any]]) -> None:
        """Register callables of this process by their references."""
        self._bound.update(callables)

    def signal(self, signal: Signal, on_written: OnWritten | None = None) -> None:
        """Queue a signal; never blocks. `on_written` is called once it is decided and on disk, or with the error."""
        self._loop.put(signal, on_written)

    def may_act(self) -> bool:
        """Return whether this engine still holds its store; if not, end the engine.

        Asked before code of an agent begins: a process that was suspended may have been deposed without noticing.
        """
        lease = self.store.lease
        if lease.is_held():
            return True
        if lease.loss is not None:
            self._loop.fail(lease.loss)
        return False

    def spawn(self, function: Callable[..., Any], /, *args: object) -> None:
        """Run `function` with `args` in a task of its own, for as long as the engine runs."""
        assert self._group is not None
        self._group.start_soon(function, *args)

    def fail(self, error: Exception) -> None:
        """End the engine with an error: the journal is unreadable, or the engine has a defect."""
        self._loop.fail(error)

    async def _check_outside(self, reference: str) -> None:
        """Check that an address or program in a spec or setting is trusted; raises Unusable if it is not."""
        await self.threads.run(partial(self._trusting.check, reference))

    def live(self, key: str, text: str) -> None:
        """Publish a live text under a key; an empty text removes it."""
        self.store.live.put(key, text)

    def call_later(self, due_ms: int, call: Callable[[], None]) -> Callable[[], None]:
        """Schedule `call`; return a function that cancels it."""
        return self._timers.at(due_ms, call)

    async def _run_all(self, group: TaskGroup, task_status: TaskStatus[None]) -> None:
        for background in (self._writer.run, self._loop.write, self._timers.run, self.clock.drive, self._orders.run):
            group.start_soon(self._run_watched, background)
        if self.store.path is not None:
            group.start_soon(self._run_watched, self._tick)
        await self._loop.begin(self._begin_signal())
        self._snapshot_seq = self.state.seq
        # Only now: the intake looks up earlier outcomes and runs in the state, which `begin` has loaded.
        group.start_soon(self._run_watched, self._intake.watch)
        log.info("the engine of %s began at seq %d", self.store.path or "memory", self.state.seq)
        task_status.started()
        await self._loop.run(self._after_turn)
        # In this order: a command may only be acknowledged once it is in the journal.
        await self._writer.flush()
        await self._orders.write()
        if self.store.path is not None:
            await save(self.store, *encode_snapshot(self.state))
        log.info("the engine ends: %s", self.stopped)

    def _begin_signal(self) -> EngineBegan:
        lost = 0 if self.store.loss is None else self.store.loss.rows
        if lost:
            log.warning("%d acknowledged events are missing after event %d", lost, self.store.journal.last_seq)
        return EngineBegan(
            pid=self._pid,
            token=self.store.token,
            version=program_version() if self.store.path is None else program_build(),
            bound=sorted(self._bound),
            processes=self._limit,
            lost=lost,
            heard_ms=self.store.heard_ms,
        )

    async def _close(self) -> None:
        self._end("it was cancelled")
        self.bus.end()
        error = HostStopped(self.stopped or "")
        self._loop.close(error)
        self._orders.fail_all(error)
        for slots in self._run_slots.values():
            for slot in slots:
                slot.fail(error)
        self.threads.close()
        # Shielded: a cancelled host must still end its child processes.
        with anyio.CancelScope(shield=True):
            await self.processes.close()
            await self.models.close()
            await self.programs.close()
        self._has_ended.set()

    def _end(self, reason: str) -> None:
        if self._loop.stopped is None:
            self._loop.stopped = reason

    def _check_open(self) -> None:
        if self.stopped is not None:
            raise HostStopped(self.stopped)

    async def _run_watched(self, background: Callable[[], Awaitable[None]]) -> None:
        """Run a vital background task; its failure ends the engine."""
        try:
            await background()
        except Exception as error:  # an orderly end with the reason, instead of a task group that cancels everything
            self._loop.fail(error)

    async def _tick(self) -> None:
        while True:
            self.store.lease.tick(self.clock.now_ms())
            if (loss := self.store.lease.loss) is not None:
                raise loss
            await anyio.sleep(TICK_S)

    def _perform(self, batch: Batch) -> None:
        self.bus.publish_events(batch.first_seq, batch.events)
        for effect in batch.effects:
            self._performer.perform(effect)
        for run_id, summary in batch.finished_runs.items():
            for slot in self._run_slots.pop(run_id, []):
                slot.put(summary)

    def _divert(self, order: Order, batch: Batch) -> bool:
        outcome = self.state.commands.get(order.id)
        if outcome is not None:
            # The first copy may be in this batch: its outcome must not be repeated before it is on disk.
            batch.callbacks.append(lambda error: self._orders.repeat(order.id, outcome) if error is None else None)
            return True
        if self._handover.divert(order):
            return True
        if isinstance(order.command, ImportState):
            # Reading an archive takes long, so it runs in a task; the inbox may deliver the same row again meanwhile.
            if order.id not in self._importing:
                self._importing.add(order.id)
                self.spawn(self._import, order, order.command)
            return True
        return False

    async def _import(self, order: Order, command: ImportState) -> None:
        await self._imports.import_archive(order, command)
        self._importing.discard(order.id)

    async def _find_agents(self, effect: FindAgents) -> AgentsFound:
        return await self._search.find(effect)

    async def _signal_and_wait(self, signal: Signal) -> None:
        done_event = anyio.Event()
        self.signal(signal, lambda _: done_event.set())
        await done_event.wait()

    def _after_turn(self) -> None:
        is_due = self.state.seq - self._snapshot_seq >= self._snapshot_events
        if is_due and not self._saving and self.store.path is not None:
            # Encoded here, between two messages: the state changes with the next one. Only the write happens in a task.
            self._saving = True
            self._snapshot_seq = self.state.seq
            self.spawn(self._save, *encode_snapshot(self.state))

    async def _save(self, seq: int, body: bytes) -> None:
        try:
            # A snapshot must never be ahead of the journal.
            if await self._loop.flush():
                await save(self.store, seq, body)
        finally:
            self._saving = False
