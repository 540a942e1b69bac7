"""The process of litellm as the engine sees it: started, written to, watched, ended."""

import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterable
from tempfile import TemporaryFile

import anyio
from anyio.abc import Process

from engine.children.tail import Tail, how_ended
from engine.models import bounds
from engine.models import child_messages as messages
from engine.models.at_work import BYTES, AtWork
from engine.models.awake import Awake
from engine.models.redaction import redacted

GONE_S = 5.0
"""How long the end of the process is waited for after it was killed."""
LOOK_S = 5.0
"""Between two looks at a process that has something to do."""


class ProcessGone(Exception):
    """The process cannot be written to."""


class ProviderProcess:
    """One process of litellm.

    Args:
        at_work: The request that it works at.
        secrets: Values that its last words must not hold.
    """

    def __init__(self, process: Process, at_work: AtWork, secrets: Iterable[str]) -> None:
        self._process = process
        self.at_work = at_work
        self._secrets = list(secrets)
        self._tail = Tail()
        self._used = anyio.Event()
        self._answered = anyio.Event()
        self._end = ""

    @classmethod
    async def started(cls, variables: Iterable[str]) -> "ProviderProcess":
        """Start one that gets these variables of the environment besides the plain ones."""
        names = [name for name in variables if name in os.environ]
        environment = {name: os.environ[name] for name in (*messages.PLAIN, *names) if name in os.environ}
        with TemporaryFile() as shared:
            shared.write(bytes(BYTES))
            shared.flush()
            at_work = AtWork(shared.fileno())
            command = [sys.executable, "-P", "-m", "engine.models.child", str(shared.fileno())]
            with anyio.CancelScope(shield=True):  # Cancelled half-way, a child would be orphaned.
                process = await anyio.open_process(
                    command, env=environment, start_new_session=True, pass_fds=[shared.fileno()]
                )
        return cls(process, at_work, [os.environ[name] for name in names])

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._process.returncode is None

    @property
    def last_words(self) -> str:
        """How it ended, and what it said last."""
        last = f"; it last said: {redacted(self._tail.line, self._secrets)}" if self._tail.line else ""
        return f"the provider process {self._end or how_ended(self._process.returncode)}{last}"

    async def wait(self) -> None:
        """Return once it has ended."""
        await self._process.wait()

    async def close(self) -> None:
        """End it."""
        self.kill()
        with anyio.move_on_after(GONE_S, shield=True):
            await self._process.aclose()

    def kill(self, why: str = "") -> None:
        """End it at once."""
        self._end = self._end or why
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    async def write(self, message: messages.ToChild) -> None:
        """Send a message.

        Raises:
            ProcessGone: If nothing reads it.
        """
        assert self._process.stdin is not None
        if not isinstance(message, messages.Ping):
            self._used.set()
        try:
            await self._process.stdin.send(messages.line(message))
        except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            raise ProcessGone from error

    async def lines(self) -> AsyncIterator[bytes]:
        """Yield what it writes, until it is gone."""
        assert self._process.stdout is not None
        unread: list[bytes] = []
        with contextlib.suppress(anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            while True:
                first, *others = (await self._process.stdout.receive()).split(b"\n")
                unread.append(first)
                for other in others:
                    yield b"".join(unread)
                    unread = [other]
        self.kill()
        with anyio.move_on_after(GONE_S):
            await self._process.wait()

    async def keep_tail(self) -> None:
        """Read its standard error, until it is gone."""
        assert self._process.stderr is not None
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async for chunk in self._process.stderr:
                self._tail.add(chunk)

    async def watch(self, awake: Awake, is_busy: Callable[[], bool]) -> None:
        """End the process if it stands still: one that works at a cancelled request for ever does too.

        Args:
            is_busy: Whether it has something to do; what was sent last is looked after in any case.
        """
        with contextlib.suppress(ProcessGone):
            await self._ping()  # its start takes seconds
            while True:
                await self._used.wait()
                self._used = anyio.Event()
                with awake.at_most(bounds.SILENT_S) as scope:
                    await self._ping()
                if scope.cancelled_caught:
                    self.kill(f"stood still for {bounds.SILENT_S:g} s, and was ended")
                    return
                await anyio.sleep(LOOK_S)
                if is_busy():
                    self._used.set()

    async def _ping(self) -> None:
        self._answered = anyio.Event()
        await self.write(messages.Ping())
        await self._answered.wait()

    def answered(self) -> None:
        """Take note of a `Pong`."""
        self._answered.set()
