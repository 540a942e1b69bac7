"""Tool servers (MCP): one connection for each server in an engine, started by the first attempt that needs it.

A server that ended is restarted by the next attempt or call that needs it, after a pause that grows with each failure.
It ends with the engine, also if that is killed (`programs.external_programs`). See docs/reference/tools.md.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Protocol

import anyio

from engine.children.child import Child
from engine.core.queries.team.code import reference_of_server
from engine.core.queries.team.models import team_servers
from engine.core.specs.model_spec import McpSpec
from engine.core.specs.spec import digest
from engine.core.state import State
from engine.errors import EngineError, PermanentFailure, Unusable, first_error
from engine.runtimes.attempts.pending import Pending
from engine.runtimes.attempts.work import Work
from engine.runtimes.functions.threads import Threads
from engine.runtimes.programs.environment import build_environment, check_program
from engine.runtimes.programs.external_programs import Programs
from engine.runtimes.toolbox.mcp_connection import Connection, connect, load
from engine.runtimes.toolbox.mcp_records import LastWords, NotReached, OfferedTool
from engine.runtimes.values import one_line
from engine.trusted_code.references import Origin

START_TIMEOUT_S = 30.0
"""Time limit for the start of a server, in seconds."""
FIRST_PAUSE_MS = 500
PAUSE_LIMIT_MS = 60_000
STEADY_MS = 60_000
"""A server that ran at least this long starts again with the shortest pause."""


class UnknownServer(PermanentFailure):
    """An agent names a server that neither its supervisor nor one above defines."""


class ServerDown(EngineError):
    """A server does not start or does not answer; a later attempt may succeed.

    Attributes:
        retryable: Whether a retry may help.
    """

    def __init__(self, name: str, reason: str, *, retryable: bool = True) -> None:
        super().__init__(f"the tool server {name!r} does not work: {reason}")
        self.retryable = retryable


class ServerCode(Protocol):
    """The means by which a server is started."""

    folder: Path
    threads: Threads
    programs: Programs

    async def locate(self, reference: str) -> Origin:
        """Return where a reference is imported from; raises `Unusable` if it is not trusted."""


class Server:
    """One server during the life of an engine. Its program lives as long as the connection to it (`over_pipes`).

    Args:
        start: Starts a task that runs as long as the engine.
    """

    def __init__(self, name: str, spec: McpSpec, start: Callable[..., object]) -> None:
        self.name = name
        self.spec = spec
        self._start = start
        self._connection: Connection | None = None
        self._tools: list[OfferedTool] = []
        self._listing = anyio.Lock()
        self._waiting: list[Pending[Connection]] | None = None
        """Attempts that wait for its start; None while it is not starting."""
        self._starts = 0
        self._began_ms = self._pause_ms = self._not_before_ms = 0
        self._scope: anyio.CancelScope | None = None

    async def tools(self, code: ServerCode, work: Work) -> list[OfferedTool]:
        """Return the tools that it offers; requests them again if they may have changed.

        Raises:
            ServerDown: If it does not work.
        """
        try:
            return await self._current_tools(await self.connection(code, work))
        except NotReached:
            connection = await self.connection(code, work)
        try:
            return await self._current_tools(connection)
        except NotReached as error:
            raise ServerDown(self.name, one_line(error)) from error

    async def _current_tools(self, connection: Connection) -> list[OfferedTool]:
        async with self._listing:  # one attempt requests the list, and waiting ones get the same
            if connection.close_event.is_set():
                raise NotReached("it ended")
            if connection.is_stale:
                await self._refresh_tools(connection)
            return self._tools

    async def _refresh_tools(self, connection: Connection) -> None:
        try:
            with anyio.fail_after(START_TIMEOUT_S):
                self._tools = await connection.tools()
        except TimeoutError as error:
            connection.close_event.set()
            raise ServerDown(self.name, f"it did not say its tools for {START_TIMEOUT_S:g} s") from error
        except NotReached:
            raise
        except EngineError as error:
            connection.close_event.set()
            raise ServerDown(self.name, one_line(error)) from error
        except BaseException:  # the attempt was stopped while it waited; the next one requests the list
            connection.is_stale = True
            raise

    async def connection(self, code: ServerCode, work: Work) -> Connection:
        """Return the connection to the server, after starting it if it does not run.

        Raises:
            ServerDown: If it does not start.
        """
        while True:
            if self._connection is not None and not self._connection.close_event.is_set():
                return self._connection
            wait_ms = self._not_before_ms - work.attempt.now_ms()
            if self._waiting is not None or wait_ms <= 0:
                break
            async with work.slot.parked("backoff", self._not_before_ms):
                await work.attempt.sleep(wait_ms / 1000)
        if self._waiting is None:
            self._waiting = []
            self._count_start(work.attempt.now_ms())
            self._start(self._run, code, self._starts)
        pending: Pending[Connection] = Pending()
        self._waiting.append(pending)
        return await pending.wait()

    def _count_start(self, now_ms: int) -> None:
        """Count a start, and set the earliest time of the next one: later each time, unless the server ran long."""
        is_steady = self._starts == 0 or now_ms - self._began_ms >= STEADY_MS
        self._pause_ms = FIRST_PAUSE_MS if is_steady else min(2 * self._pause_ms, PAUSE_LIMIT_MS)
        self._not_before_ms, self._began_ms = now_ms + self._pause_ms, now_ms
        self._starts += 1

    def end(self) -> None:
        """Close the connection, which ends its program (`over_pipes`); the next call starts the server again."""
        if self._scope is not None:
            self._scope.cancel()

    async def _run(self, code: ServerCode, start: int) -> None:
        """Start it and wait until it ends, in one task, to which the connection belongs."""
        words = LastWords()
        failure = ServerDown(self.name, "it ended")
        try:
            with anyio.CancelScope() as self._scope:
                with anyio.move_on_after(START_TIMEOUT_S) as starting:
                    await code.locate(reference_of_server(self.spec))
                    async with connect(self.spec, partial(self._start_program, code), words) as connection:
                        starting.deadline = float("inf")
                        self._set_connection(connection)
                        await connection.close_event.wait()
                if starting.cancelled_caught:
                    reasons = [f"it did not answer for {START_TIMEOUT_S:g} s", words.kill_reason]
                    failure = ServerDown(self.name, "; ".join(filter(None, reasons)))
        except Unusable as unusable:
            failure = ServerDown(self.name, unusable.reason, retryable=False)
            self._not_before_ms = 0
        except Exception as error:  # a violation of the protocol may raise anything in the package
            failure = ServerDown(self.name, str(words) or one_line(first_error(error)))
        finally:
            if start == self._starts:  # the end of an old start does not affect a newer one
                self._set_failure(failure)

    def _set_connection(self, connection: Connection) -> None:
        self._connection = connection
        waiting, self._waiting = self._waiting, None
        for pending in waiting or ():
            pending.put(connection)

    def _set_failure(self, failure: ServerDown) -> None:
        if self._connection is not None:
            self._connection.close_event.set()
        self._connection = None
        waiting, self._waiting = self._waiting, None
        for pending in waiting or ():
            pending.fail(failure)

    async def _start_program(self, code: ServerCode) -> Child:
        spec, folder = self.spec, code.folder or Path.cwd()
        env = build_environment(spec.env)
        await code.threads.run(partial(check_program, spec.argv[0], cwd=folder, env=env))
        return await code.programs.start(spec.argv, env=env, cwd=folder)


class Servers:
    """The servers of one engine.

    Args:
        start: Starts a task that runs as long as the engine.
    """

    def __init__(self, start: Callable[..., object]) -> None:
        self._start = start
        self._servers: dict[str, Server] = {}
        self._is_loaded = False

    def server(self, state: State, supervisor_id: str, name: str) -> Server:
        """Return the server of a name for a supervisor: the nearest definition, from it upwards.

        Raises:
            UnknownServer: If there is none.
        """
        definitions = team_servers(state, supervisor_id)
        if name not in definitions:
            names = ", ".join(definitions) or "none"
            raise UnknownServer(f"no tool server {name!r}; its supervisors name {names} under mcp")
        key = f"{name} {digest(definitions[name])}"
        if key not in self._servers:
            self._sweep(state)
            self._servers[key] = Server(name, definitions[name], self._start)
        return self._servers[key]

    async def prepare(self, code: ServerCode) -> None:
        """Import the client of servers in a thread, because that takes a second."""
        if not self._is_loaded:
            await code.threads.run(load)
            self._is_loaded = True

    def _sweep(self, state: State) -> None:
        """Drop servers that no supervisor names any more."""
        keys_in_use: set[str] = set()
        for supervisor in state.supervisors.values():
            keys_in_use |= {f"{name} {digest(spec)}" for name, spec in supervisor.options.mcp.items()}
        for key in self._servers.keys() - keys_in_use:
            self._servers.pop(key).end()
