"""A server of the web dashboard in a process of its own, and who visits it without a browser."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp
import anyio
from aiohttp import web

from dashboard.web.gate import RequestGate
from dashboard.web.logins import Login
from dashboard.web.server import ServerOptions, WebServer
from dashboard.web.session import Session
from tests.patience import PATIENCE_S
from tests.web.letters import Letters


class Served:
    """A running server."""

    def __init__(self, process: asyncio.subprocess.Process, said: dict[str, Any]) -> None:
        self.process = process
        self.link: str = said["link"]
        """Signs one browser in."""
        self.base, _, self.token = self.link.partition("/#token=")

    async def next_link(self) -> str:
        """Wait for the link that is printed after one was used."""
        assert self.process.stdout is not None
        with anyio.fail_after(PATIENCE_S):
            said = json.loads(await self.process.stdout.readline())
        assert said["kind"] == "signed_in"
        self.link = said["link"]
        self.token = self.link.partition("/#token=")[2]
        return self.link

    def children(self) -> list[int]:
        """Process ids of its tabs."""
        found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(self.process.pid)], capture_output=True, text=True)
        return [int(word) for word in found.stdout.split()]

    async def until_children(self, number: int) -> list[int]:
        """Return the process ids of its tabs once there are as many."""
        with anyio.fail_after(PATIENCE_S):
            while len(found := self.children()) != number:  # noqa: ASYNC110 - nothing tells when a process is gone
                await anyio.sleep(0.02)
        return found


@asynccontextmanager
async def served(db: Path, *options: str, variables: Mapping[str, str] | None = None) -> AsyncIterator[Served]:
    """Serve a database on any port of this machine while the block runs."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "dashboard", "serve", "--bind", "127.0.0.1:0", "--json", "--db", str(db), *options,
        stdout=subprocess.PIPE, env={**os.environ, **(variables or {})},
    )  # fmt: skip
    assert process.stdout is not None
    try:
        with anyio.fail_after(PATIENCE_S):
            line = await process.stdout.readline()
        yield Served(process, json.loads(line))
    finally:
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGINT)
        with anyio.CancelScope(shield=True), anyio.fail_after(PATIENCE_S):
            await process.wait()


class Inside(Served):
    """A server in the process of the test, whose patience is set."""

    def __init__(self, server: WebServer, connections: web.Server, base: str) -> None:
        self.server, self.base, self.token = server, base, server.logins.new_token()
        self._connections = connections

    def closes_silent_after(self, silent_s: float) -> None:
        """Close each connection that is made from now on once it has sent no whole request for so long."""
        self._connections._kwargs["keepalive_timeout"] = silent_s

    async def next_link(self) -> str:
        """Return a link at once."""
        self.token = self.server.logins.new_token()
        return f"{self.base}/#token={self.token}"

    def sessions(self) -> list[tuple[Session, Login]]:
        """Open tabs, with whose they are; the oldest first."""
        return list(self.server.sessions.values())

    async def keeps(self, key: str) -> bool:
        """Return whether the server still knows a download."""
        try:
            await self.server.download_manager.get_download_metadata(key)
        except KeyError:
            return False
        return True

    def pids(self) -> list[int]:
        """Process ids of its tabs, the oldest first."""
        return [session.pid for session, _ in self.server.sessions.values() if session.pid is not None]


@asynccontextmanager
async def inside(db: Path, **terms: Any) -> AsyncIterator[Inside]:
    """Serve a database from this process while the block runs."""
    server = WebServer(ServerOptions(db=db, gate=RequestGate("127.0.0.1"), **terms))
    runner = await server.make_runner()
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        port = runner.addresses[0][1]
        server.set_port(port)
        assert runner.server is not None
        yield Inside(server, runner.server, f"http://127.0.0.1:{port}")
    finally:
        with anyio.CancelScope(shield=True):
            await runner.cleanup()


class Tab:
    """One open tab: its socket, and the screen that its bytes draw."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, columns: int, lines: int) -> None:
        self.socket = socket
        self._letters = Letters(columns, lines)
        self._news = anyio.Event()
        self._end: tuple[int | None, str] | None = None
        self.told: list[list[Any]] = []
        """Text frames: what the page is told."""

    @property
    def text(self) -> str:
        """The lines of the screen."""
        return self._letters.text

    async def listen(self) -> None:
        """Take what comes until the server closes the socket, and tell it what was drawn, as the page does."""
        while self._end is None:
            message = await self.socket.receive()
            if message.type is aiohttp.WSMsgType.BINARY:
                self._letters.feed(message.data)
                with suppress(ConnectionError):
                    await self.socket.send_json(["drawn", len(message.data)])
            elif message.type is aiohttp.WSMsgType.TEXT:
                self.told.append(json.loads(message.data))
            else:
                reason = str(message.extra or "") if message.type is aiohttp.WSMsgType.CLOSE else ""
                self._end = self.socket.close_code, reason
            self._news.set()
            self._news = anyio.Event()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds.

        Raises:
            AssertionError: If the tab is closed before.
        """
        with anyio.fail_after(PATIENCE_S):
            while not holds():
                assert self._end is None, f"closed with {self._end}\n{self.told}\n{self.text}"
                await self._news.wait()

    async def sees(self, text: str) -> None:
        """Wait until a text stands on the screen."""
        try:
            await self.until(lambda: text in self.text)
        except TimeoutError:
            raise AssertionError(f"no {text!r} on\n{self.text}\n{self.told}") from None

    async def hears(self, kind: str) -> Any:
        """Wait until the page is told something of a kind, and return that; the oldest first."""
        await self.until(lambda: any(one[0] == kind for one in self.told))
        return self.told.pop(next(place for place, one in enumerate(self.told) if one[0] == kind))[1]

    async def comes_to(self, place: str) -> None:
        """Wait until the page is told that it shows a place."""
        await self.until(lambda: ["place", place] in self.told)

    async def type(self, *keys: str) -> None:
        """Press keys, or send what they are as a terminal."""
        for key in keys:
            await self.socket.send_json(["stdin", key])

    async def closed(self) -> tuple[int | None, str]:
        """Wait until the server closes it, and return code and reason."""
        with anyio.fail_after(PATIENCE_S):
            while self._end is None:
                await self._news.wait()
        return self._end


@asynccontextmanager
async def listening(
    socket: aiohttp.ClientWebSocketResponse, *, columns: int = 120, lines: int = 40
) -> AsyncIterator[Tab]:
    """Have a tab on a socket that is read while the block runs."""
    tab = Tab(socket, columns, lines)
    task = asyncio.create_task(tab.listen())
    try:
        yield tab
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


class Visitor:
    """Somebody with a cookie jar."""

    def __init__(self, http: aiohttp.ClientSession, at: Served) -> None:
        self.http, self.at = http, at
        self.origin = {"Origin": at.base}

    async def sign_in(self, token: str | None = None) -> int:
        """Exchange a token, by default that of the server's link; the status of the answer."""
        data = self.at.token if token is None else token
        async with self.http.post(f"{self.at.base}/login", data=data, headers=self.origin) as answer:
            return answer.status

    async def get(self, path: str, **headers: str) -> tuple[int, str]:
        """Status and text of an answer."""
        async with self.http.get(f"{self.at.base}{path}", headers=headers) as answer:
            return answer.status, await answer.text()

    async def post(self, path: str, data: bytes, **headers: str) -> tuple[int, str]:
        """Status and text of an answer; from the page of the server, unless `Origin` says otherwise."""
        async with self.http.post(f"{self.at.base}{path}", data=data, headers={**self.origin, **headers}) as answer:
            return answer.status, await answer.text()

    @asynccontextmanager
    async def tab(self, *, columns: int = 120, lines: int = 40, place: str = "") -> AsyncIterator[Tab]:
        """Have a tab while the block runs."""
        address = f"{self.at.base}/ws?width={columns}&height={lines}&open={place}"
        async with (
            self.http.ws_connect(address, headers=self.origin, max_msg_size=0) as socket,
            listening(socket, columns=columns, lines=lines) as tab,
        ):
            yield tab


@asynccontextmanager
async def visitor(at: Served, *, signed_in: bool = True) -> AsyncIterator[Visitor]:
    """Be somebody, by default with the link of the server."""
    # Certificates of tests are signed by nobody.
    any_certificate = aiohttp.TCPConnector(ssl=False)
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True), connector=any_certificate) as http:
        one = Visitor(http, at)
        if signed_in:
            assert await one.sign_in() == 204
            await at.next_link()
        yield one
