"""The engine's side of the connection to the child process that talks to providers.

The child is started by the first request, ends with the engine, and is restarted after it died. The request that it was
working on then fails and may be retried; the others are sent to the next child. If it is unknown which request that
was, all of them fail.
"""

import contextlib
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

import anyio
import msgspec

from engine.models import child_messages as messages
from engine.models.awake import AwakeTimer
from engine.models.provider_process import ProviderProcess
from engine.models.records import Chunk, ModelAnswer, ModelRequest
from engine.runtimes.attempts.pending import Pending

T = TypeVar("T")
CANCEL_S = 1.0
"""Timeout for sending the cancellation of a request."""
START_MARGIN_S = 60.0
"""Added to the timeout of a request, because the child takes seconds to start."""
MAX_SENDS = 5
"""How often a request is sent again after other requests ended the child."""


class _Id(msgspec.Struct):
    id: int


_ids = msgspec.json.Decoder(_Id)


class RequestFailed(Exception):
    """A request failed; `failure` holds the reason."""

    def __init__(self, failure: messages.Failed) -> None:
        super().__init__(failure.text)
        self.failure = failure


class _OtherRequestFailed(Exception):
    """The child ended, and another request was the cause."""


@dataclass
class _Request:
    process: ProviderProcess
    """The child that it was sent to; the end of an earlier child may be noticed when the next one already runs."""
    answer: Pending[messages.AskAnswered | messages.LookAnswered]
    on_chunk: Callable[[Chunk], None]


class Link:
    """A child process that talks to providers.

    Args:
        spawn: Starts the tasks that read its output.
        variables: Names of environment variables that it gets in addition to the plain ones.
        now_s: The clock by which its silence is measured, in seconds.
    """

    def __init__(
        self,
        spawn: Callable[..., object],
        variables: Iterable[str] = (),
        *,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._spawn = spawn
        self._variables = tuple(variables)
        self._now_s = now_s
        self._process: ProviderProcess | None = None
        self._start_lock = anyio.Lock()
        self._pending: dict[int, _Request] = {}
        self._last_id = 0

    async def ask(self, request: ModelRequest, key: str | None, on_chunk: Callable[[Chunk], None]) -> ModelAnswer:
        """Send a request; return its whole answer or raise RequestFailed. When cancelled, the connection is closed."""
        reply = await self._send(
            lambda id: messages.Ask(id=id, request=request, key=key), on_chunk, request.model.timeout_s + START_MARGIN_S
        )
        assert isinstance(reply, messages.AskAnswered)
        return reply.answer

    async def look(self, model: str) -> messages.Facts:
        """Return litellm's facts about a model; raises RequestFailed if litellm does not know it."""
        reply = await self._send(lambda id: messages.Look(id=id, model=model), _ignore, 60.0)
        assert isinstance(reply, messages.LookAnswered)
        return reply.facts

    async def close(self) -> None:
        """End the child process."""
        process = self._process
        self._process = None
        if process is not None:
            await process.child.end()

    async def _send(
        self, message: Callable[[int], messages.ToChild], on_chunk: Callable[[Chunk], None], longest_s: float
    ) -> messages.AskAnswered | messages.LookAnswered:
        for _ in range(MAX_SENDS):
            with contextlib.suppress(_OtherRequestFailed):
                return await self._send_once(message, on_chunk, longest_s)
        raise RequestFailed(
            _connection_failure(0, f"the provider process was ended {MAX_SENDS} times by other requests")
        )

    async def _send_once(
        self, message: Callable[[int], messages.ToChild], on_chunk: Callable[[Chunk], None], longest_s: float
    ) -> messages.AskAnswered | messages.LookAnswered:
        process = await self._running_process()
        self._last_id += 1
        id = self._last_id
        pending = self._pending[id] = _Request(process, Pending(), on_chunk)
        try:
            with anyio.move_on_after(longest_s):
                await process.write(message(id))
                return await pending.answer.wait()
            # The child enforces the timeouts itself, so it hangs; the next request starts another child.
            process.child.kill()
            raise RequestFailed(_connection_failure(id, "the provider process hangs, and was ended"))
        finally:
            # Still pending means that this task was cancelled or timed out: the child may drop the request.
            if self._pending.pop(id, None) is not None:
                with anyio.move_on_after(CANCEL_S, shield=True):
                    await process.write(messages.Cancel(id))

    async def _running_process(self) -> ProviderProcess:
        async with self._start_lock:
            if self._process is not None and not self._process.child.exited.is_set():
                return self._process
            process = self._process = await ProviderProcess.start(self._variables)
            self._spawn(self._read, process)
            return process

    def _pending_ids(self, process: ProviderProcess) -> list[int]:
        """Return the ids of the requests that wait for a child."""
        return [id for id, request in self._pending.items() if request.process is process]

    async def _read(self, process: ProviderProcess) -> None:
        """Dispatch the messages of the child until it is gone."""
        async with anyio.create_task_group() as group:
            awake = AwakeTimer(self._now_s)
            group.start_soon(awake.run)
            group.start_soon(process.watch, awake, lambda: bool(self._pending_ids(process)))
            async for line in process.lines():
                self._dispatch(process, line)
            group.cancel_scope.cancel()
        if self._process is process:
            self._process = None
        cause = process.current_request.id
        for id in self._pending_ids(process):
            failure = RequestFailed(_connection_failure(id, process.last_words))
            self._pending.pop(id).answer.fail(failure if cause in (0, id) else _OtherRequestFailed())

    def _dispatch(self, process: ProviderProcess, line: bytes) -> None:
        try:
            message = messages.from_child.decode(line)
        except msgspec.DecodeError:
            self._fail_garbled(line)
            return
        if isinstance(message, messages.Pong):
            process.note_pong()
            return
        if isinstance(message, messages.Pieces):
            for id, thought, text in message.items:
                if (pending := self._pending.get(id)) is not None:
                    pending.on_chunk(Chunk("thought" if thought else "text", text))
            return
        pending = self._pending.pop(message.id, None)
        if pending is None:
            return
        if isinstance(message, messages.Failed):
            pending.answer.fail(RequestFailed(message))
        else:
            pending.answer.put(message)

    def _fail_garbled(self, line: bytes) -> None:
        """Fail the request whose answer cannot be read; a line without an id is ignored."""
        try:
            id = _ids.decode(line).id
        except msgspec.DecodeError:
            return
        if (pending := self._pending.pop(id, None)) is not None:
            reason = "the answer of the provider process cannot be read"
            pending.answer.fail(RequestFailed(messages.Failed(id=id, text=reason, error_type="server", retryable=True)))


def _connection_failure(id: int, reason: str) -> messages.Failed:
    return messages.Failed(id=id, text=reason, error_type="connection", retryable=True)


def _ignore(chunk: Chunk) -> None:
    """Ignore a piece of an answer."""
