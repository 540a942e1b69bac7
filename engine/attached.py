"""A supervisor of a team that works in another process: the same calls, by way of the team's file, without its code.

One rule holds inside: what became of a command, and of a run, is what the journal says; the inbox only carries it
there.
"""

import os
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import anyio.to_thread
from pydantic import JsonValue

from engine.core.codec import encode_command
from engine.core.commands import AddAgent, Command, SwapAgent, SwapAgents
from engine.core.decide.trust import references_of
from engine.core.errors import Refused
from engine.core.events import CommandApplied, CommandRefused, Event, RunFinished
from engine.core.fact import changed
from engine.core.fold import fold
from engine.core.queries.targets import find_supervisor
from engine.core.spec import AgentSpec
from engine.core.state import RunSummary, State
from engine.core.values import Held
from engine.errors import CommandRefusedError, HostStopped, UnknownRun, Unusable
from engine.folding import PAGE, events_of, folded
from engine.host.orders import Applied
from engine.supervisor.changes import Changes
from engine.supervisor.duties import Duties
from engine.supervisor.errors import NotInThisVersion
from engine.supervisor.filed import text_in
from engine.supervisor.follower import Follower
from engine.supervisor.requests import Requests
from engine.supervisor.views import Views
from store import CommandRow, InboxClient, Reader


class AttachedSupervisor(Requests, Duties, Changes, Views):
    """One supervisor of a team that works elsewhere; made by `DynamicSupervisor.attach`.

    What it shows is as of the last awaited call. Specs that it gives name code by reference, `module:function`; to
    name it here is to trust it there.

    Raises:
        StoreError: If there is no database of ours.
        CommandRefusedError: If the team has no such supervisor.
    """

    def __init__(self, path: str | os.PathLike[str], supervisor: str | None = None) -> None:
        self._file = AttachedLine(Path(path))
        state = self._file.state
        try:
            found = find_supervisor(state, supervisor)
        except Refused as refusal:
            raise CommandRefusedError(refusal.code, refusal.reason) from refusal
        self._id = found.id
        names = [found.name]
        while found.parent_id is not None:
            found = state.supervisors[found.parent_id]
            names.append(found.name)
        self._path = tuple(reversed(names))

    @property
    def _line(self) -> "AttachedLine":  # type: ignore[override]  # a line is a line
        return self._file

    async def refresh(self) -> None:
        """Read what happened since the last call."""
        await self._file.refresh()


class AttachedLine:
    """The line to an engine in another process."""

    is_running = True
    """Whether one is there shows when it is asked."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._state = folded(path)
        self._turn = anyio.Lock()

    @property
    def state(self) -> State:
        """The state as of the last call."""
        return self._state

    @property
    def posted(self) -> list[Command]:
        """Nothing: every command is waited for."""
        return []

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Read what happened since; the engine is somebody else's."""
        await self.refresh()
        yield

    async def refresh(self) -> None:
        """Fold what happened since; the file is read in a thread."""
        async with self._turn:
            while events := await anyio.to_thread.run_sync(_page, self._path, self._state.seq):
                fold(self._state, events)

    async def order(self, make: Callable[[], Command]) -> Applied:
        """Put a command into the inbox and return its outcome.

        Raises:
            CommandRefusedError: If it was not carried out.
            HostStopped: If no engine is there to take it; the next one will.
            Unusable: If it brings code that only this process has.
        """
        await self.refresh()
        command = _with_trust(make())
        order_id = uuid.uuid4().hex
        with Follower(self._path, self._state.seq) as follower:
            await anyio.to_thread.run_sync(_put, self._path, order_id, command)
            async for seq, event in follower:
                if isinstance(event, CommandApplied) and event.command_id == order_id:
                    await self.refresh()
                    return Applied(seq, event.summary, event.result)
                if isinstance(event, CommandRefused) and event.command_id == order_id:
                    raise CommandRefusedError(event.code, event.reason)
        raise self._no_engine()

    def post(self, make: Callable[[], Command]) -> None:
        """Refuse: an answer from another process has to be waited for."""
        raise NotInThisVersion("a change by assignment from another process", "await reconfigure_coordination")

    async def run_ended(self, run_id: str) -> RunSummary:
        """Return the summary of a run once it has its outcome."""
        await self.refresh()
        if run_id in self._state.runs:
            with Follower(self._path, self._state.seq) as follower:
                async for _, event in follower:
                    if isinstance(event, RunFinished) and event.run_id == run_id:
                        break
                else:
                    raise self._no_engine()
            await self.refresh()
        for summary in reversed(self._state.finished):
            if summary.id == run_id:
                return summary
        raise UnknownRun(run_id)

    async def text(self, value: Held) -> JsonValue:
        """Return a value that the state holds by reference."""
        return await anyio.to_thread.run_sync(text_in, self._path, value)

    def events(self) -> "Follower":
        """Return the events from now on."""
        return Follower(self._path, self._state.seq)

    def is_ours(self, member_id: str) -> bool:
        """Return True: nobody is taken over from here."""
        return True

    def restored(self, spec: AgentSpec) -> AgentSpec:
        """Return `spec` as it is: its callables are elsewhere."""
        return spec

    def _no_engine(self) -> HostStopped:
        return HostStopped(f"nobody works on {self._path}; start its program, or: quarterdeck engine --db {self._path}")


def _page(path: Path, after_seq: int) -> list[Event]:
    with Reader(path) as reader:
        return events_of(reader.records(after_seq, PAGE))


def _put(path: Path, order_id: str, command: Command) -> None:
    with InboxClient(path) as inbox:
        inbox.put(
            CommandRow(
                id=order_id,
                kind=command.type,
                body=encode_command(command),
                sender="python",
                role="operator",
                at_ms=time.time_ns() // 1_000_000,
            )
        )


def _with_trust(command: Command) -> Command:
    if isinstance(command, SwapAgents):
        return changed(command, swaps=[_with_trust(one) for one in command.swaps])
    if not isinstance(command, AddAgent | SwapAgent) or command.spec is None:
        return command
    if any(not isinstance(one, str) for one in (command.spec.run or "", *command.spec.tools)):
        name = command.spec.name
        raise Unusable(f"agent {name!r} has code of this process alone; name it by its reference 'module:function'")
    return changed(command, trusted=references_of(command.spec))
