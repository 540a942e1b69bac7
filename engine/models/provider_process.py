"""The engine's handle on a provider process: starts it, writes to it, watches it and ends it."""

import os
import sys
from collections.abc import AsyncIterator, Callable, Iterable
from tempfile import TemporaryFile

import anyio

from engine.children.child import Child, start_child
from engine.models import bounds
from engine.models import child_messages as messages
from engine.models.awake import AwakeTimer
from engine.models.request_marker import BYTES, CurrentRequest
from engine.platform.redaction import redact

WATCH_INTERVAL_S = 5.0
"""Interval of the checks of a busy process, in seconds."""


class ProviderProcess:
    """One provider process.

    Args:
        current_request: The request that it is working on.
        secrets: Values to remove from its last words.
    """

    def __init__(self, child: Child, current_request: CurrentRequest, secrets: Iterable[str]) -> None:
        self.child = child
        self.current_request = current_request
        self._secrets = list(secrets)
        self._used = anyio.Event()
        self._answered = anyio.Event()

    @classmethod
    async def start(cls, variables: Iterable[str]) -> "ProviderProcess":
        """Start a process with these variables of the environment in addition to the plain ones."""
        names = [name for name in variables if name in os.environ]
        environment = {name: os.environ[name] for name in (*messages.PLAIN, *names) if name in os.environ}
        with TemporaryFile() as shared:
            shared.write(bytes(BYTES))
            shared.flush()
            current_request = CurrentRequest(shared.fileno())
            command = [sys.executable, "-P", "-m", "engine.models.child", str(shared.fileno())]
            child = await start_child(command, env=environment, pass_fds=[shared.fileno()])
        return cls(child, current_request, [os.environ[name] for name in names])

    @property
    def last_words(self) -> str:
        """How it ended, with the last line of its standard error."""
        return f"the provider process {redact(self.child.ending, self._secrets)}"

    async def write(self, message: messages.ToChild) -> None:
        """Send a message."""
        if not isinstance(message, messages.Ping):
            self._used.set()
        await self.child.send(messages.line(message))

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield the lines that it writes, until it is gone."""
        async for line in self.child.lines():
            yield line
        await self.child.reap()

    async def watch(self, awake: AwakeTimer, is_busy: Callable[[], bool]) -> None:
        """Kill the process if its loop stands still; checked after each message, and while requests wait for it."""
        await self._ping()  # its start takes seconds
        while True:
            await self._used.wait()
            self._used = anyio.Event()
            with awake.limit(bounds.MAX_SILENCE_S) as scope:
                await self._ping()
            if scope.cancelled_caught:
                self.child.kill(f"stood still for {bounds.MAX_SILENCE_S:g} s, and was ended")
                return
            await anyio.sleep(WATCH_INTERVAL_S)
            if is_busy():
                self._used.set()

    async def _ping(self) -> None:
        self._answered = anyio.Event()
        await self.write(messages.Ping())
        await self._answered.wait()

    def note_pong(self) -> None:
        """Note that a `Pong` has arrived."""
        self._answered.set()
