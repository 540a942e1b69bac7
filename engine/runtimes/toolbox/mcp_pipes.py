"""The transport to a tool server that is a program: messages are lines on its standard input and output."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import anyio
from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse

from engine.children.child import Child
from engine.runtimes.toolbox import mcp_answers
from engine.runtimes.toolbox.mcp_answers import Unreadable, answered_id, error_response, parse, too_large
from engine.runtimes.toolbox.mcp_records import Fault

CHUNK_BYTES = 256 * 1024
MAX_SKIPPED_LINES = 8
"""Size of a skipped answer, as a multiple of `MAX_LINE_BYTES`; a longer line ends the program."""
EXIT_TIMEOUT_S = 0.5
"""How long a program may take to exit after its input was closed, in seconds."""


@asynccontextmanager
async def over_pipes(program: Child, close_event: anyio.Event, wrap: Callable[[Any], Any]) -> AsyncIterator[Any]:
    """Yield the streams of messages from and to a program; ends the program afterwards.

    Args:
        wrap: Converts a message for the package.
    """
    inward, messages = anyio.create_memory_object_stream[Any](0)
    outward, requests = anyio.create_memory_object_stream[Any](0)
    open_request_ids: set[str] = set()

    async def write() -> None:
        async for message in requests:
            if isinstance(message.message, JSONRPCRequest):
                open_request_ids.add(str(message.message.id))
            line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            await program.send(line.encode() + b"\n")

    async def read() -> None:
        async with inward:
            async for line in _lines(program):
                message = await _message(line, open_request_ids)
                if message is not None:
                    await inward.send(wrap(message))
        close_event.set()

    try:
        async with inward, messages, outward, requests, anyio.create_task_group() as group:
            for part in (read, write):
                group.start_soon(part)
            yield messages, outward
            group.cancel_scope.cancel()
    finally:
        await program.end(EXIT_TIMEOUT_S)


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a program, or the two ends of a line that is too long."""

    start: bytes
    end: bytes
    is_whole: bool = True


async def _lines(program: Child) -> AsyncIterator[_Line]:
    """Yield the lines that a program writes.

    A line that is too long is skipped if it may be an answer; otherwise it ends the program.
    """
    start = last = b""
    pieces: list[bytes] = []
    length = 0
    with suppress(ConnectionError):
        while chunk := await program.stdout.read(CHUNK_BYTES):
            *endings, rest = chunk.split(b"\n")
            for piece in endings:
                if length + len(piece) <= mcp_answers.MAX_LINE_BYTES:
                    line = b"".join((*pieces, piece))
                    yield _Line(line, line)
                else:
                    yield _Line(start or piece, last + piece, is_whole=False)
                pieces = []
                start = b""
                last = b""
                length = 0
            length += len(rest)
            start, last = start or rest, (last + rest)[-CHUNK_BYTES:]
            if length <= mcp_answers.MAX_LINE_BYTES:
                pieces.append(rest)
                continue
            pieces = []
            if not start.lstrip().startswith(b"{") or length > MAX_SKIPPED_LINES * mcp_answers.MAX_LINE_BYTES:
                program.kill_reason = f"it wrote a line of more than {mcp_answers.MAX_LINE_BYTES // 1024 // 1024} MB"
                return


async def _message(line: _Line, open_request_ids: set[str]) -> Any:
    """Return the message in a line; None if there is none, because programs print other lines too."""
    try:
        if not line.is_whole:
            raise Unreadable(too_large())
        message = await parse(line.start)
    except Unreadable as error:
        request_id = answered_id(line.start, line.end)
        if str(request_id) not in open_request_ids or request_id is None:
            return None
        message = error_response(request_id, Fault.UNUSABLE, str(error))
    if isinstance(message, JSONRPCError) and message.id is None and len(open_request_ids) == 1:
        (message.id,) = open_request_ids
    if isinstance(message, JSONRPCError | JSONRPCResponse) and message.id is not None:
        open_request_ids.discard(str(message.id))
    return message
