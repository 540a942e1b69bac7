"""A supervisor of a team that works in another process: the same calls, by way of the team's file, without its code.

Rule: the outcome of a command or a run is read from the journal; the inbox only transports commands there. While a call
waits, one thread of this process follows the file for all its followers, and the state and all waiting calls are
updated by the events as they come.
"""

import asyncio
import os
import shlex
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from typing_extensions import override

from engine.core.commands import Command, Target
from engine.core.errors import CoreError
from engine.core.events import CommandApplied, CommandRefused, Event, RunFinished
from engine.core.finished import summary_of
from engine.core.fold import fold
from engine.core.queries.targets import find_supervisor
from engine.core.queries.team.code import references_in_command, specs_of
from engine.core.queries.team.tree import lineage_of
from engine.core.state import RunSummary, State
from engine.errors import CommandRefusedError, HostStopped, NotInThisVersion, UnknownRun, Unusable
from engine.host.pending_commands import Applied
from engine.platform.sender import sender_of
from engine.reading.folding import events_after, events_of, fold_from
from engine.stream.attached import AttachedStream
from engine.stream.board import LiveTexts
from engine.stream.bus import Bus
from engine.stream.subscription import Subscription
from engine.supervisor.changes import Changes
from engine.supervisor.client import command_row, put_rows
from engine.supervisor.history import RecordedWork
from engine.supervisor.node import EngineLink, JournalLink, Make, translate_refusals
from engine.supervisor.offline import FileJournal
from engine.supervisor.people import People
from engine.supervisor.requests import Requests
from engine.supervisor.shared_resource import LoopGuard
from engine.supervisor.views import Views
from engine.trusted_code.trust import grant, needs_trust, user_list
from store import CommandRow, Following, HashedRow, Reader, ReadRowsLost, Record, StoreError, follow, mark_at

T = TypeVar("T")

MAX_UNFOLDED_BATCHES = 8
"""Batches of events that may wait for the loop; more are read later."""


class AttachedSupervisor(Requests, People, Changes, Views, RecordedWork):
    """A supervisor of a team in another process; made by `DynamicSupervisor.attach`.

    Properties show the state of the last awaited call. Specs must name code by reference (`module:function`); a command
    adds the code that it names to the user's trust list. Use it from one event loop at a time; attach in each thread
    that needs one.

    Raises:
        StoreError: If there is no Quarterdeck database.
        CommandRefusedError: If the team has no such supervisor.
    """

    def __init__(self, path: str | os.PathLike[str], supervisor: Target | None = None) -> None:
        self._engine = RemoteEngine(Path(path))
        state = self._engine.state
        with translate_refusals():
            attached_supervisor = find_supervisor(state, supervisor)
        self._id = attached_supervisor.id
        self._path = tuple(ancestor.name for ancestor in lineage_of(state, attached_supervisor))[::-1]

    async def refresh(self) -> None:
        """Update the state from the file."""
        await self._engine.refresh()


class RemoteEngine(EngineLink):
    """An engine in another process, behind the team's file."""

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()
        self._state, self._mark = _read(self._path)
        instead = f"attach in each thread: DynamicSupervisor.attach({str(self._path)!r})"
        self._guard = LoopGuard(f"the supervisor attached to {path.name}", instead=instead)
        self._is_stale = False
        """The file has lost events that were folded; the next call folds it again from the start."""
        self._follower: _Follower | None = None
        self._journal = FileJournal(self._path)
        self._bus = Bus(LiveTexts(with_recent=False, on_change=lambda: None), self._read_after)
        self._queued_rows: dict[asyncio.Future[None], CommandRow] = {}
        """Commands not yet written into the inbox."""
        self._write_lock = anyio.Lock()
        """Held by the task that writes the queued commands, of its own and of others, in one statement."""
        self._outcomes: dict[str, asyncio.Future[Applied]] = {}
        self._runs: dict[str, asyncio.Future[RunSummary]] = {}
        self._ticket_waiters: list[tuple[int, asyncio.Future[None]]] = []
        """Waiters for the state at the time of a ticket."""

    @property
    @override
    def state(self) -> State:
        """The state of the last call; up to date while a call waits."""
        return self._state

    @asynccontextmanager
    @override
    async def running(self) -> AsyncIterator[None]:
        """Follow the file from an up-to-date state while the context is open."""
        async with self._follow():
            await self._wait_until_current()
            yield

    @override
    async def refresh(self) -> None:
        """Update the state from the file."""
        async with self.running():
            pass

    @override
    async def send(self, command: Command) -> Applied:
        """Put a command into the inbox and return its outcome."""
        _check_importable(command)
        if references_in_command(command):
            await anyio.to_thread.run_sync(_trust_code, command, self._state, self._path)
        row = command_row(command, sender_of())
        outcome: asyncio.Future[Applied] = asyncio.Future()
        self._outcomes[row.id] = outcome
        try:
            await self._write(row)
            return await outcome
        finally:
            del self._outcomes[row.id]

    async def _write(self, row: CommandRow) -> None:
        """Write a command into the inbox, together with others that arrived meanwhile."""
        future: asyncio.Future[None] = asyncio.Future()
        self._queued_rows[future] = row
        try:
            async with self._write_lock:
                if not future.done():
                    await self._write_all()
        finally:  # cancelled before its turn: not sent
            self._queued_rows.pop(future, None)
        await future

    async def _write_all(self) -> None:
        batch, self._queued_rows = self._queued_rows, {}
        with anyio.CancelScope(shield=True):
            error: StoreError | None = None
            try:
                await anyio.to_thread.run_sync(put_rows, self._path, list(batch.values()))
            except StoreError as store_error:
                error = store_error
        for future in batch:
            _resolve(future, None, error)

    @override
    def post(self, make: Make) -> None:
        """Raise NotInThisVersion: the outcome from another process has to be awaited."""
        raise NotInThisVersion("a change by assignment from another process", "await reconfigure_coordination")

    @override
    async def wait_for_run(self, run_id: str) -> RunSummary:
        """Wait until a run has ended, and return its summary."""
        async with self._follow():
            if run_id in self._state.runs:
                future = self._runs.setdefault(run_id, asyncio.Future())
                await asyncio.wait([future])
                return future.result()
        summary = await self.finished_run(run_id)
        if summary is None:
            raise UnknownRun(run_id)
        return summary

    @property
    @override
    def journal(self) -> JournalLink:
        """The journal in the team's file."""
        return self._journal

    @property
    @override
    def database(self) -> Path | None:
        """The file of the team."""
        return self._path

    @override
    def events(self) -> Subscription[tuple[int, Event]]:
        """Return the events from now on, while the context of `running` is open and an engine runs."""
        return self._bus.subscribe()

    @override
    def stream(self) -> AttachedStream:
        """Return events and live output from now on; otherwise as `events`."""
        return AttachedStream(self._path, self.events())

    async def _read_after(self, after_seq: int) -> list[tuple[int, Event]]:
        return await anyio.to_thread.run_sync(events_after, self._path, after_seq)

    @asynccontextmanager
    async def _follow(self) -> AsyncIterator[None]:
        with self._guard.use():
            try:
                self._ensure_following()
                yield
            finally:
                if self._guard.users == 1:
                    self._stop_following()
                    self._runs.clear()  # futures of cancelled callers, which nothing removes

    def _ensure_following(self) -> Following:
        if self._follower is None:
            if self._is_stale:
                (self._state, self._mark), self._is_stale = _read(self._path), False
            self._follower = _Follower(self, asyncio.get_running_loop())
            self._follower.following = follow(self._path, self._state.seq, self._follower, mark=self._mark)
        return self._follower.following

    async def _wait_until_current(self) -> None:
        """Wait until the state is as recent as the file was at the time of the call."""
        ticket = self._ensure_following().request_ticket()
        while ticket is None:  # the follower has just ended; all waiters continue with the next one
            self._drop_follower()
            ticket = self._ensure_following().request_ticket()
            self._ticket_waiters = [(ticket or 0, waiter) for _, waiter in self._ticket_waiters]
        waiter: asyncio.Future[None] = asyncio.Future()
        self._ticket_waiters.append((ticket, waiter))
        await waiter

    def _stop_following(self) -> None:
        if self._follower is not None:
            self._follower.following.leave()
            self._drop_follower()

    def _drop_follower(self) -> None:
        """Drop the follower, and keep its mark: the next one checks that the file still has what this one has read."""
        if self._follower is not None:
            self._mark, self._follower = self._follower.following.mark, None

    def handle_events(self, follower: "_Follower", events: list[Event], sizes_bytes: list[int]) -> None:
        """Fold events of the file, and resolve the futures that wait for them."""
        # A call that the thread of a dropped follower had queued in the loop.
        if follower is not self._follower:
            return
        first_seq = self._state.seq + 1
        try:
            fold(self._state, events)
        except CoreError as error:
            self._stop_following()
            self._fail(error)
            return
        for seq, (event, size_bytes) in enumerate(zip(events, sizes_bytes, strict=True), first_seq):
            self._journal.texts.keep(seq, event, size_bytes)
            if isinstance(event, CommandApplied) and event.command_id in self._outcomes:
                _resolve(self._outcomes[event.command_id], Applied(seq, event.summary, event.result))
            elif isinstance(event, CommandRefused) and event.command_id in self._outcomes:
                _resolve(self._outcomes[event.command_id], error=CommandRefusedError(event.code, event.reason))
            elif isinstance(event, RunFinished) and event.run_id in self._runs:
                _resolve(self._runs.pop(event.run_id), summary_of(event, seq))
        self._bus.publish_events(first_seq, events)

    def handle_ticket(self, follower: "_Follower", ticket: int) -> None:
        """Wake the waiters for this ticket and earlier ones."""
        if follower is self._follower:
            for waiter_ticket, future in self._ticket_waiters:
                if waiter_ticket <= ticket:
                    _resolve(future, None)
            self._ticket_waiters = [waiter for waiter in self._ticket_waiters if waiter[0] > ticket]

    def handle_end(self, follower: "_Follower", error: Exception | None) -> None:
        """Fail all waiters, because nothing more will come."""
        if follower is self._follower:
            self._drop_follower()
            self._is_stale = isinstance(error, ReadRowsLost)
            hint = f"start its program, or: quarterdeck engine --db {shlex.quote(str(self._path))}"
            self._fail(error or HostStopped(f"no engine works on {self._path}; {hint}"))

    def _fail(self, error: Exception) -> None:
        waiting: list[asyncio.Future[Any]] = [*self._outcomes.values(), *self._runs.values()]
        for future in (*waiting, *(future for _, future in self._ticket_waiters)):
            _resolve(future, error=error)
        self._runs.clear()
        self._ticket_waiters.clear()
        self._bus.end()


class _Follower:
    """Callbacks of the thread that follows the file; passes everything to the event loop, in order."""

    following: Following

    def __init__(self, engine: RemoteEngine, loop: asyncio.AbstractEventLoop) -> None:
        self._engine = engine
        self._loop = loop
        self._passed_batches = 0
        self._folded_batches = 0

    def has_room(self) -> bool:
        """Return whether the loop is keeping up; called in the thread, so the counters are only compared."""
        return self._passed_batches - self._folded_batches < MAX_UNFOLDED_BATCHES

    def take(self, records: list[Record]) -> None:
        """Pass on events."""
        self._passed_batches += 1
        self._call_in_loop(self._handle_events, events_of(records), [len(record.body) for record in records])

    def reach(self, ticket: int) -> None:
        """Pass on that everything up to a ticket was passed on."""
        self._call_in_loop(self._engine.handle_ticket, self, ticket)

    def end(self, error: Exception | None) -> None:
        """Pass on that nothing more comes."""
        self._call_in_loop(self._engine.handle_end, self, error)

    def _handle_events(self, events: list[Event], sizes_bytes: list[int]) -> None:
        self._folded_batches += 1
        self._engine.handle_events(self, events, sizes_bytes)

    def _call_in_loop(self, call: Callable[..., None], *args: object) -> None:
        try:
            self._loop.call_soon_threadsafe(call, *args)
        except RuntimeError:  # the loop was closed, with all waiters
            self.following.leave()


def _read(path: Path) -> tuple[State, HashedRow | None]:
    """Fold the state of a file; return it with the mark of its last event."""
    with Reader(path) as reader:
        state = fold_from(reader)
        return state, mark_at(reader, state.seq)


def _resolve(future: "asyncio.Future[T]", value: T | None = None, error: Exception | None = None) -> None:
    """Resolve a future with a value or an error, unless it was cancelled."""
    if not future.done():
        if error is not None:
            future.set_exception(error)
            future.exception()  # counts as retrieved, also if its caller is cancelled at this moment
        else:
            future.set_result(value)  # type: ignore[arg-type]  # None where None is the value


def _check_importable(command: Command) -> None:
    """Refuse a command with callables of this process."""
    for spec in specs_of(command):
        if any(not isinstance(code, str) for code in (spec.run or "", *spec.tools)):
            name = spec.name
            raise Unusable(f"agent {name!r} has code of this process alone; name it by its reference 'module:function'")


def _trust_code(command: Command, state: State, db: Path) -> None:
    """Add the code that a command names to the user's trust list, where the engine looks it up."""
    references = references_in_command(command)
    allowed = user_list()
    if references and allowed is not None and needs_trust(allowed, references, state, db):
        grant(allowed, references, state, db=db, path=db.resolve(), sha256="")
