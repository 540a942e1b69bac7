"""The child process that talks to model providers.

It keeps the import of litellm (seconds), its memory and its work per chunk out of the engine. It reads and writes the
messages of `child_messages` as lines on standard input and output, and exits when the engine is gone. Its environment
contains only the variables that it needs.
"""

import os
import resource
import sys
import threading
import time
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, suppress
from typing import Any, BinaryIO, cast

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup
from anyio.from_thread import BlockingPortal

from engine.core.records.values import NO_USAGE, Usage
from engine.models import bounds
from engine.models import child_messages as messages
from engine.models.assembly import Assembly
from engine.models.awake import AwakeTimer
from engine.models.failures import Failure, failure_of
from engine.models.litellm_client import Litellm
from engine.models.request_marker import CurrentRequest, RequestMarker
from engine.models.responses import Exchange
from engine.platform.redaction import MIN_SECRET_CHARACTERS, credentials_in

FLUSH_S = 0.005
"""Chunks of answers that arrive within this time are sent in one message."""


class TookTooLong(Exception):
    """An answer, or its next chunk, did not arrive in time."""


class RequestServer:
    """Serves the engine's requests.

    Args:
        output: The stream to the engine.
        litellm: Sends the requests.
        current_request: Marks the request that it is working on.
    """

    def __init__(self, output: BinaryIO, litellm: Litellm, current_request: CurrentRequest) -> None:
        self._output = output
        self._litellm = litellm
        self._current_request = current_request
        self._scopes: dict[int, anyio.CancelScope] = {}
        self._pieces: list[tuple[int, bool, str]] = []
        self._pieces_arrived = anyio.Event()
        self._awake = AwakeTimer()
        variables = {name: value for name, value in os.environ.items() if name not in messages.PLAIN}
        self._secrets = [value for value in variables.values() if len(value) >= MIN_SECRET_CHARACTERS]
        self._secrets += [credential for value in os.environ.values() for credential in credentials_in(value)]

    async def run(self, requests: BinaryIO) -> None:
        """Read requests in a thread, which sees the end of the engine even while the loop is blocked."""
        async with BlockingPortal() as portal, anyio.create_task_group() as group:
            threading.Thread(target=_read, args=(requests, portal, lambda line: self._dispatch(line, group))).start()
            group.start_soon(self._awake.run)
            await self._flush()

    def _dispatch(self, line: bytes, group: TaskGroup) -> None:
        message = messages.to_child.decode(line)
        if isinstance(message, messages.Cancel):
            if message.id in self._scopes:
                self._scopes[message.id].cancel()
            return
        if isinstance(message, messages.Ping):
            self._write(messages.Pong())
            return
        scope = self._scopes[message.id] = anyio.CancelScope()
        group.start_soon(self._answer, message, scope)

    async def _answer(self, message: messages.Ask | messages.Look, scope: anyio.CancelScope) -> None:
        with scope:
            try:
                if isinstance(message, messages.Look):
                    reply = self._look(message)
                else:
                    reply = await RequestMarker(self._current_request, message.id, self._ask(message))
                self._write_pieces()
                self._write(reply)
            except Exception as error:  # an answer that cannot be read must not end the other requests
                text = failure_of(error, self._secrets, now_s=time.time()).text
                self._write(messages.Failed(id=message.id, text=text, error_type="server", retryable=True))
        del self._scopes[message.id]

    def _look(self, message: messages.Look) -> messages.FromChild:
        try:
            return messages.LookAnswered(id=message.id, facts=self._litellm.facts(message.model))
        except ValueError as error:
            return messages.Failed(id=message.id, text=str(error), error_type="bad_request", retryable=False)

    async def _ask(self, ask: messages.Ask) -> messages.FromChild:
        assembly = Assembly()
        current = Exchange()
        try:
            with self._awake.limit(ask.request.model.timeout_s) as scope:
                async for piece in self._timed_chunks(ask, current):
                    for thought, text in assembly.add_chunk(piece):
                        self._add_piece(ask.id, thought=thought, text=text)
                    await anyio.lowlevel.checkpoint()  # buffered chunks do not wait, and would block other requests
            if scope.cancelled_caught:
                raise TookTooLong(f"took longer than {ask.request.model.timeout_s:g} s")
        except Exception as error:  # litellm and the libraries below it raise many types
            secrets = [*self._secrets, ask.key or ""]
            return self._failure_message(ask, assembly, current, failure_of(error, secrets, now_s=time.time()))
        return messages.AskAnswered(id=ask.id, answer=self._litellm.answer(ask.request, assembly, current))

    async def _timed_chunks(self, ask: messages.Ask, current: Exchange) -> AsyncIterator[Any]:
        """Yield the chunks of an answer; raise if none arrives for `idle_s`."""
        idle_s = ask.request.model.idle_s
        async with aclosing(cast(Any, self._litellm.stream(ask, current))) as pieces:
            while True:
                with self._awake.limit(idle_s) as scope:
                    try:
                        piece = await anext(pieces)
                    except StopAsyncIteration:
                        return
                if scope.cancelled_caught:
                    raise TookTooLong(f"said nothing for {idle_s:g} s")
                yield piece

    def _failure_message(
        self, ask: messages.Ask, assembly: Assembly, current: Exchange, failure: Failure
    ) -> messages.Failed:
        usage = self._usage_of_failed(ask, assembly, current, failure)
        text = failure.text
        if assembly.usage is None and usage.tokens_in is not None:
            text = f"{text}; it has used about {usage.tokens_in + (usage.tokens_out or 0):,} tokens"
        return messages.Failed(
            id=ask.id,
            text=text,
            error_type=failure.error_type,
            retryable=failure.retryable,
            retry_after_s=failure.retry_after_s,
            usage=usage,
            partial=assembly.text,
        )

    def _usage_of_failed(self, ask: messages.Ask, assembly: Assembly, current: Exchange, failure: Failure) -> Usage:
        """Return the usage of a failed request: as the provider reports it, else an estimate if it had begun."""
        if assembly.usage is not None:
            return self._litellm.usage(ask.request, assembly.usage, current)
        has_begun = assembly.characters > 0 or failure.error_type in ("cut", "timeout")
        return self._litellm.estimate(ask.request, assembly.characters) if has_begun else NO_USAGE

    # Output to the engine

    def _add_piece(self, id: int, *, thought: bool, text: str) -> None:
        last = self._pieces[-1] if self._pieces else None
        if last is not None and last[:2] == (id, thought):
            self._pieces[-1] = (id, thought, last[2] + text)
        else:
            self._pieces.append((id, thought, text))
        self._pieces_arrived.set()

    async def _flush(self) -> None:
        while True:
            await self._pieces_arrived.wait()
            await anyio.sleep(FLUSH_S)
            self._write_pieces()
            self._pieces_arrived = anyio.Event()

    def _write_pieces(self) -> None:
        if self._pieces:
            pieces = tuple(self._pieces)
            self._pieces = []
            self._write(messages.Pieces(items=pieces))

    def _write(self, message: messages.FromChild) -> None:
        self._output.write(messages.line(message))
        self._output.flush()


def _read(requests: BinaryIO, portal: BlockingPortal, dispatch: Callable[[bytes], None]) -> None:
    try:
        for line in requests:
            portal.call(dispatch, line)
    finally:
        os._exit(0)


def _limit_memory() -> None:
    """Make allocations beyond the limit fail, if the system can."""
    _, hard_limit = resource.getrlimit(resource.RLIMIT_DATA)
    is_unlimited = hard_limit == resource.RLIM_INFINITY
    soft_limit = bounds.MAX_PROCESS_BYTES if is_unlimited else min(bounds.MAX_PROCESS_BYTES, hard_limit)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_DATA, (soft_limit, hard_limit))


def main() -> None:
    """Serve the engine until it is gone."""
    requests, output = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # The real standard output belongs to the protocol: everything that litellm prints goes to standard error instead.
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    _limit_memory()
    server = RequestServer(output, Litellm(), CurrentRequest(int(sys.argv[1]) if sys.argv[1:] else -1))
    try:
        anyio.run(server.run, requests)
    except BaseException:  # any error ends the process, which the reading thread would otherwise keep alive
        traceback.print_exc()
    finally:
        os._exit(1)


if __name__ == "__main__":
    main()
