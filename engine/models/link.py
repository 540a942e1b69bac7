"""The engine's side of the connection to the child process that talks to providers.

The child is started by the first request, ends with the engine, and is restarted after it died; requests that were
pending then fail and may be retried.
"""

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

import anyio
import msgspec
from anyio.abc import Process

from engine.models import child_messages as messages
from engine.models.records import Chunk, ModelAnswer, ModelRequest
from engine.models.redaction import redacted
from engine.runtimes.pending import Pending
from engine.runtimes.programs.tail import Tail, how_ended

T = TypeVar("T")
GONE_S = 5.0
"""How long the end of the child is waited for after it was killed."""
CANCEL_S = 1.0
"""Timeout for sending the cancellation of a request."""
LATE_S = 60.0
"""Added to the timeout of a request, because the child takes seconds to start."""


class _Id(msgspec.Struct):
    id: int


_ids = msgspec.json.Decoder(_Id)


class CallFailed(Exception):
    """A request failed; `said` holds the reason."""

    def __init__(self, said: messages.Failed) -> None:
        super().__init__(said.text)
        self.said = said


@dataclass
class _Request:
    process: Process
    """Which child it was sent to: an earlier one may be heard of last when the next is at work."""
    answer: Pending[messages.AskAnswered | messages.Found]
    on_chunk: Callable[[Chunk], None]


class Link:
    """A child process that talks to providers.

    Args:
        spawn: Starts the tasks that read its output.
        variables: Names of environment variables that it gets in addition to the plain ones.
    """

    def __init__(self, spawn: Callable[..., object], variables: Iterable[str] = ()) -> None:
        self._spawn = spawn
        self._variables = tuple(variables)
        self._process: Process | None = None
        self._starting = anyio.Lock()
        self._pending: dict[int, _Request] = {}
        self._last_id = 0

    async def ask(self, request: ModelRequest, key: str | None, on_chunk: Callable[[Chunk], None]) -> ModelAnswer:
        """Send a request and return its whole answer; when cancelled, the connection is closed.

        Raises:
            CallFailed: If there is no whole answer.
        """
        found = await self._send(
            lambda id: messages.Ask(id=id, request=request, key=key), on_chunk, request.model.timeout_s + LATE_S
        )
        assert isinstance(found, messages.AskAnswered)
        return found.answer

    async def look(self, model: str) -> messages.Facts:
        """Return litellm's facts about a model.

        Raises:
            CallFailed: If litellm does not know it.
        """
        found = await self._send(lambda id: messages.Look(id=id, model=model), _ignore, 60.0)
        assert isinstance(found, messages.Found)
        return found.facts

    async def close(self) -> None:
        """End the child process."""
        process, self._process = self._process, None
        if process is not None:
            _kill(process)
            with anyio.move_on_after(GONE_S, shield=True):
                await process.aclose()

    async def _send(
        self, message: Callable[[int], messages.ToChild], on_chunk: Callable[[Chunk], None], longest_s: float
    ) -> messages.AskAnswered | messages.Found:
        process = await self._started()
        self._last_id += 1
        id = self._last_id
        pending = self._pending[id] = _Request(process, Pending(), on_chunk)
        try:
            with anyio.move_on_after(longest_s):
                await _write(process, messages.line(message(id)))
                return await pending.answer.wait()
            _kill(process)  # The child enforces the timeouts itself: it hangs, and the next request starts another.
            raise CallFailed(_died(id, "the provider process hangs, and was ended"))
        finally:
            # Still pending means that this task was cancelled or timed out: the child may drop the request.
            if self._pending.pop(id, None) is not None:
                with anyio.move_on_after(CANCEL_S, shield=True), contextlib.suppress(CallFailed):
                    await _write(process, messages.line(messages.Cancel(id)))

    async def _started(self) -> Process:
        async with self._starting:
            running = self._process
            if running is not None and running.returncode is None:
                return running
            names = (*messages.PLAIN, *self._variables)
            environment = {name: os.environ[name] for name in names if name in os.environ}
            with anyio.CancelScope(shield=True):  # Cancelled half-way, a child would be orphaned.
                process = await anyio.open_process(
                    [sys.executable, "-P", "-m", "engine.models.child"], env=environment, start_new_session=True
                )
            self._process = process
            tail = Tail()
            self._spawn(self._read, process, tail)
            self._spawn(_keep_tail, process, tail)
            return process

    async def _read(self, process: Process, tail: Tail) -> None:
        """Dispatch the messages of the child until it is gone."""
        assert process.stdout is not None
        unread: list[bytes] = []
        with contextlib.suppress(anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            while True:
                first, *others = (await process.stdout.receive()).split(b"\n")
                unread.append(first)
                for one in others:
                    self._take(b"".join(unread))
                    unread = [one]
        _kill(process)
        with anyio.move_on_after(GONE_S):
            await process.wait()
        if self._process is process:
            self._process = None
        self._fail_all(process, self._last_words(process, tail))

    def _take(self, one: bytes) -> None:
        try:
            said = messages.from_child.decode(one)
        except msgspec.DecodeError:
            self._fail_garbled(one)
            return
        if isinstance(said, messages.Pieces):
            for id, thought, text in said.items:
                if (pending := self._pending.get(id)) is not None:
                    pending.on_chunk(Chunk("thought" if thought else "text", text))
            return
        pending = self._pending.pop(said.id, None)
        if pending is None:
            return
        if isinstance(said, messages.Failed):
            pending.answer.fail(CallFailed(said))
        else:
            pending.answer.put(said)

    def _fail_garbled(self, one: bytes) -> None:
        """Fail the request whose answer cannot be read; what is not a message at all is passed over."""
        try:
            id = _ids.decode(one).id
        except msgspec.DecodeError:
            return
        if (pending := self._pending.pop(id, None)) is not None:
            why = "the answer of the provider process cannot be read"
            pending.answer.fail(CallFailed(messages.Failed(id=id, text=why, error_type="server", retryable=True)))

    def _fail_all(self, process: Process, why: str) -> None:
        for id in [id for id, one in self._pending.items() if one.process is process]:
            self._pending.pop(id).answer.fail(CallFailed(_died(id, why)))

    def _last_words(self, process: Process, tail: Tail) -> str:
        secrets = [os.environ[name] for name in self._variables if name in os.environ]
        last = f"; it last said: {redacted(tail.line, secrets)}" if tail.line else ""
        return f"the provider process {how_ended(process.returncode)}{last}"


async def _keep_tail(process: Process, tail: Tail) -> None:
    assert process.stderr is not None
    with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
        async for chunk in process.stderr:
            tail.add(chunk)


def _died(id: int, why: str) -> messages.Failed:
    return messages.Failed(id=id, text=why, error_type="connection", retryable=True)


async def _write(process: Process, data: bytes) -> None:
    assert process.stdin is not None
    try:
        await process.stdin.send(data)
    except (anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
        raise CallFailed(_died(0, "the provider process is gone")) from error


def _kill(process: Process) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _ignore(chunk: Chunk) -> None:
    """Ignore a piece of an answer."""
