"""The engine of a supervisor in another process, seen through the team's file.

One rule holds inside: what became of a command, and of a run, is what the journal says; the inbox only carries it
there. While anybody waits, this process follows the file in one thread, whoever else follows it here, and the state
and all who wait are brought up to date by the events as they come.
"""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio.to_thread
from pydantic import JsonValue

from engine.core.code import named_in, specs_of
from engine.core.codec import encode_command
from engine.core.commands import Command
from engine.core.errors import CoreError
from engine.core.events import CommandApplied, CommandRefused, Event, RunFinished
from engine.core.finished import summary_of
from engine.core.fold import fold
from engine.core.spec import AgentSpec
from engine.core.state import RunSummary, State
from engine.core.values import Held
from engine.errors import CommandRefusedError, HostStopped, UnknownRun, Unusable
from engine.folding import events_of, folded_from
from engine.granting import grant, needs_trust
from engine.host.orders import Applied
from engine.host.subscriptions import BUFFERED, Listeners, Subscription
from engine.runtimes.slot import Slot
from engine.sender import sender_of
from engine.supervisor.errors import NotInThisVersion
from engine.supervisor.filed import body_in, finished_in
from engine.supervisor.home import Home
from engine.supervisor.options import checked_command
from engine.supervisor.outbox import Outbox
from engine.texts import Texts
from engine.trust import user_list
from store import CommandRow, Following, Mark, Reader, ReadRowsLost, Record, follow, mark_at

UNFOLDED = 8
"""How many batches of events may wait for the loop; the rest stays in the file meanwhile."""


class RemoteEngine:
    """The line to an engine in another process.

    Args:
        path: The team's file.

    Raises:
        StoreError: If there is no database of ours.
        CoreError: If its journal cannot be folded.
    """

    is_running = True
    """Whether one is there shows when it is asked."""

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()
        self._state, self._mark = _read(self._path)
        instead = f"attach in each thread: DynamicSupervisor.attach({str(self._path)!r})"
        self._home = Home(f"the supervisor attached to {path.name}", instead=instead)
        self._outbox = Outbox(self._path)
        self._is_stale = False
        """The file has lost events that were folded; the next call begins with what it holds."""
        self._users = 0
        self._ear: _Ear | None = None
        self._texts = Texts(self._body)
        self._listeners = Listeners()
        self._orders: dict[str, Slot[Applied]] = {}
        self._runs: dict[str, list[Slot[RunSummary]]] = {}
        self._levels: list[tuple[int, Slot[None]]] = []

    @property
    def state(self) -> State:
        """The state as of the last call, or of the moment while anybody waits."""
        return self._state

    @property
    def posted(self) -> list[Command]:
        """Nothing: every command is waited for."""
        return []

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Follow what happens; the engine is somebody else's.

        Raises:
            WrongLoop: If another loop waits for this engine at the moment.
        """
        async with self._followed():
            await self._level()
            yield

    def check_whole(self) -> None:
        """Leave it to the team's own engine: this program describes nothing."""

    async def refresh(self) -> None:
        """Learn what happened since the last call."""
        async with self.running():
            pass

    async def order(self, make: Callable[[], Command]) -> Applied:
        """Put a command into the inbox and return its outcome.

        Raises:
            CommandRefusedError: If it was not carried out.
            HostStopped: If no engine is there to take it; the next one will.
            Unusable: If it brings code that only this process has.
        """
        async with self.running():
            command = checked_command(make)
            _check_importable(command)
            if specs_of(command):
                await anyio.to_thread.run_sync(_allow, command, self._state, self._path)
            row = _row_of(command)
            slot = self._orders[row.id] = Slot()
            try:
                await self._outbox.put(row)
                return await slot.wait()
            finally:
                self._orders.pop(row.id, None)

    def post(self, make: Callable[[], Command]) -> None:
        """Refuse: an answer from another process has to be waited for."""
        raise NotInThisVersion("a change by assignment from another process", "await reconfigure_coordination")

    async def run_ended(self, run_id: str) -> RunSummary:
        """Return the summary of a run once it has its outcome."""
        async with self._followed():
            if run_id in self._state.runs:
                slot: Slot[RunSummary] = Slot()
                self._runs.setdefault(run_id, []).append(slot)
                return await slot.wait()
        summary = await self.finished_run(run_id)
        if summary is None:
            raise UnknownRun(run_id)
        return summary

    async def finished_run(self, run_id: str) -> RunSummary | None:
        """Return the summary of a run that has ended, however long ago."""
        return self._state.summary(run_id) or await anyio.to_thread.run_sync(finished_in, self._path, run_id)

    async def text(self, value: Held) -> JsonValue:
        """Return a value that the state holds by reference."""
        return await self._texts.resolve(value)

    def events(self) -> Subscription:
        """Return the events from now on, for as long as the context of `running` is open and an engine is there."""
        return self._listeners.add(BUFFERED)

    def is_ours(self, member_id: str) -> bool:
        """Return True: nobody is taken over from here."""
        return True

    def restored(self, spec: AgentSpec) -> AgentSpec:
        """Return `spec` as it is: its callables are elsewhere."""
        return spec

    # Following the file

    @asynccontextmanager
    async def _followed(self) -> AsyncIterator[None]:
        with self._home.used():
            self._users += 1
            try:
                self._listen()
                yield
            finally:
                self._users -= 1
                if not self._users:
                    self._leave()

    def _listen(self) -> "_Ear":
        if self._ear is None:
            if self._is_stale:
                (self._state, self._mark), self._is_stale = _read(self._path), False
            self._ear = _Ear(self, asyncio.get_running_loop())
            self._ear.following = follow(self._path, self._state.seq, self._ear, mark=self._mark)
        return self._ear

    async def _level(self) -> None:
        """Return once the state is that of the file at the moment of the call."""
        slot: Slot[None] = Slot()
        ticket = self._listen().following.ask()
        while ticket is None:  # it ended a moment ago; all who wait go on with the next one
            self._drop_ear()
            ticket = self._listen().following.ask()
            self._levels = [(ticket or 0, one) for _, one in self._levels]
        self._levels.append((ticket, slot))
        await slot.wait()

    def _leave(self) -> None:
        if self._ear is not None:
            self._ear.following.leave()
            self._drop_ear()

    def _drop_ear(self) -> None:
        """Follow with another one from now on, which has to find in the file what this one has read."""
        if self._ear is not None:
            self._mark, self._ear = self._ear.following.mark, None

    async def _body(self, seq: int) -> bytes:
        return await anyio.to_thread.run_sync(body_in, self._path, seq)

    def hear(self, ear: "_Ear", events: list[Event], sizes_bytes: list[int]) -> None:
        """Take the next events of the file."""
        if ear is not self._ear:
            return
        seq = self._state.seq + 1
        try:
            fold(self._state, events)
        except CoreError as error:
            self._leave()
            self._fail(error)
            return
        for place, (event, size_bytes) in enumerate(zip(events, sizes_bytes, strict=True), seq):
            self._texts.keep(place, event, size_bytes)
            self._tell(place, event)
        self._listeners.tell(seq, events)

    def _tell(self, seq: int, event: Event) -> None:
        if isinstance(event, CommandApplied) and event.command_id in self._orders:
            self._orders[event.command_id].put(Applied(seq, event.summary, event.result))
        elif isinstance(event, CommandRefused) and event.command_id in self._orders:
            self._orders[event.command_id].fail(CommandRefusedError(event.code, event.reason))
        elif isinstance(event, RunFinished):
            for slot in self._runs.pop(event.run_id, ()):
                slot.put(summary_of(event, seq))

    def level(self, ear: "_Ear", ticket: int) -> None:
        """Let go on who asked for what stood in the file by then."""
        if ear is self._ear:
            for _, slot in (one for one in self._levels if one[0] <= ticket):
                slot.put(None)
            self._levels = [one for one in self._levels if one[0] > ticket]

    def ended(self, ear: "_Ear", error: Exception | None) -> None:
        """Tell everybody who waits that nothing more will come."""
        if ear is self._ear:
            self._drop_ear()
            self._is_stale = isinstance(error, ReadRowsLost)
            path = self._path
            hint = f"start its program, or: quarterdeck engine --db {path}"
            self._fail(error or HostStopped(f"nobody works on {path}; {hint}"))

    def _fail(self, error: Exception) -> None:
        for order in self._orders.values():
            order.fail(error)
        for run in (slot for slots in self._runs.values() for slot in slots):
            run.fail(error)
        for _, level in self._levels:
            level.fail(error)
        self._runs.clear()
        self._levels.clear()
        self._listeners.end()


class _Ear:
    """What the thread that follows the file calls; it hands everything over to the loop, in order."""

    following: Following

    def __init__(self, engine: RemoteEngine, loop: asyncio.AbstractEventLoop) -> None:
        self._engine = engine
        self._loop = loop
        self._handed = 0
        self._heard = 0

    def has_room(self) -> bool:
        """Tell whether the loop keeps up."""
        return self._handed - self._heard < UNFOLDED

    def take(self, records: list[Record]) -> None:
        """Hand over events."""
        self._handed += 1
        self._in_loop(self._hear, events_of(records), [len(record.body) for record in records])

    def level(self, ticket: int) -> None:
        """Hand over that everything was handed over."""
        self._in_loop(self._engine.level, self, ticket)

    def end(self, error: Exception | None) -> None:
        """Hand over that nothing more comes."""
        self._in_loop(self._engine.ended, self, error)

    def _hear(self, events: list[Event], sizes_bytes: list[int]) -> None:
        self._heard += 1
        self._engine.hear(self, events, sizes_bytes)

    def _in_loop(self, call: Callable[..., None], *args: object) -> None:
        try:
            self._loop.call_soon_threadsafe(call, *args)
        except RuntimeError:  # the loop was closed, so nobody waits any more
            self.following.leave()


def _read(path: Path) -> tuple[State, Mark | None]:
    """Return the state that a file holds, with what it was read up to."""
    with Reader(path) as reader:
        state = folded_from(reader)
        return state, mark_at(reader, state.seq)


def _row_of(command: Command) -> CommandRow:
    return CommandRow(
        id=uuid.uuid4().hex,
        kind=command.type,
        body=encode_command(command),
        sender=sender_of(),
        role="operator",
        at_ms=time.time_ns() // 1_000_000,
    )


def _check_importable(command: Command) -> None:
    """Raise where a command brings code that only this process has."""
    for spec in specs_of(command):
        if any(not isinstance(one, str) for one in (spec.run or "", *spec.tools)):
            name = spec.name
            raise Unusable(f"agent {name!r} has code of this process alone; name it by its reference 'module:function'")


def _allow(command: Command, state: State, db: Path) -> None:
    """Put the code that a command of this program names on the list of its user: the engine looks it up there."""
    references = named_in(command)
    allowed = user_list()
    if references and allowed is not None and needs_trust(allowed, references, state, db):
        grant(allowed, references, state, db=db, path=db.resolve(), sha256="")
