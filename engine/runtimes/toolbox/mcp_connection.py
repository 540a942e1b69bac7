"""A connection to one tool server, through the `mcp` package: this is the only file that imports it.

Rule: what a server sends is data. It receives only the arguments of calls: sampling, elicitation and roots
are refused. Who starts a server, and when, is said in `mcp_servers`.
"""

import json
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio

from engine.core.model_spec import McpSpec
from engine.core.records import JsonValue
from engine.errors import EngineError, Unusable
from engine.garbage import importing
from engine.runtimes.programs.tail import Tail, how_ended
from engine.runtimes.programs.watched import Program
from engine.runtimes.toolbox.calling import ToolError
from engine.runtimes.values import clean, json_value, one_line

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import CallToolResult

LINE_BYTES = 32 * 1024 * 1024
"""Longest message of a server."""
MOST_PAGES = 50
MOST_TOOLS = 1_000
"""Most tools of one server; the rest are ignored."""
SHOWN_CHARACTERS = 10_000
"""Most characters of a tool's description for a model."""
GOES_S = 0.5
"""How long a program may take to end by itself after its input was closed, in seconds."""


class Lost(EngineError):
    """A server was lost before it answered: it is unknown whether the call took place."""


class NotReached(EngineError):
    """A server did not accept a call, which can be repeated over a new connection."""


@dataclass(frozen=True, slots=True)
class Offered:
    """A tool that a server offers."""

    name: str
    description: str
    parameters: Mapping[str, JsonValue]


class Connection:
    """A connection to a running server."""

    def __init__(self, client: "Client", ended: anyio.Event, refused: anyio.Event) -> None:
        self._client = client
        self._refused = refused
        self.ended = ended
        """Set once it no longer answers."""
        self.is_stale = True
        """Its tools are unknown, or have changed."""

    async def tools(self) -> list[Offered]:
        """Return the tools that it offers now.

        Raises:
            Lost: If the connection is lost.
            ToolError: If the server reports an error.
        """
        from mcp.shared.exceptions import MCPError

        self.is_stale = False
        found: list[Offered] = []
        cursor = None
        try:
            for _ in range(MOST_PAGES):
                page = await self._client.list_tools(cursor=cursor)
                found += [_offered(tool) for tool in page.tools]
                cursor = page.next_cursor
                if not cursor or len(found) >= MOST_TOOLS:
                    break
        except MCPError as error:
            self._note(error)
            raise ToolError(one_line(error)) from error
        return found[:MOST_TOOLS]

    async def call(self, name: str, arguments: Mapping[str, JsonValue]) -> JsonValue:
        """Return the result of a tool: its text, or its structured content.

        Raises:
            Lost: If the server is lost before it answers.
            NotReached: If the server is lost and did not accept the call.
            ToolError: If the tool reports a failure, or the server refuses the call.
        """
        from mcp.shared.exceptions import MCPError

        try:
            result = await self._client.call_tool(name, dict(arguments))
        except MCPError as error:
            self._note(error)
            raise ToolError(one_line(error)) from error
        except RuntimeError as error:  # its result is not what it declared
            raise ToolError(one_line(error)) from error
        output = _output(result)
        if result.is_error:
            raise ToolError(output if isinstance(output, str) and output else json.dumps(output))
        return output

    def _note(self, error: Any) -> None:
        """Raise if an error means that the server is lost.

        Raises:
            Lost: If it may have accepted the call.
            NotReached: If it has not.
        """
        from mcp_types import CONNECTION_CLOSED

        if error.code == CONNECTION_CLOSED:
            self.ended.set()
            if self._refused.is_set():
                raise NotReached("no server answers at its address") from error
            raise Lost("the server ended before it answered") from error
        if error.message == "Session terminated":  # a server at an address that was started anew
            self.ended.set()
            raise NotReached("the server was restarted") from error


class LastWords(Tail):
    """The last lines that a program wrote on its standard error, and how it ended."""

    def __init__(self) -> None:
        super().__init__()
        self._program: Program | None = None
        self.why = ""
        """Why it was ended; empty if it ended by itself."""

    async def listen(self, program: Program) -> None:
        """Read until it ends, because a program blocks when its pipe is full."""
        self._program = program
        with suppress(ValueError, ConnectionError):
            while chunk := await program.stderr.read(65_536):
                self.add(chunk)

    def __str__(self) -> str:
        """Return it as one line; empty if it neither ended nor wrote anything."""
        if self.why:
            return self.why
        code = None if self._program is None else self._program.returncode
        said = [] if code is None else [f"it {how_ended(code)}"]
        if self.line:
            said.append(f"it last said: {self.line[:300]}")
        return "; ".join(said)


@asynccontextmanager
async def connected(
    spec: McpSpec, start: Callable[[], Awaitable[Program]], words: LastWords
) -> AsyncIterator[Connection]:
    """Connect to a server while the context is open.

    Args:
        start: Starts it, if it is a program.
        words: Gets what it writes on its standard error.

    Raises:
        Exception: Any error of the connection, or a group of them.
    """
    from mcp import Client

    ended, refused = anyio.Event(), anyio.Event()
    connections: list[Connection] = []

    async def heard(message: Any) -> None:
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            for connection in connections:
                connection.is_stale = True

    transport = _over_http(spec, refused) if spec.url is not None else _over_pipes(await start(), ended, words)
    async with Client(transport, cache=None, message_handler=heard) as client:
        connections.append(Connection(client, ended, refused))
        yield connections[0]


@asynccontextmanager
async def _over_http(spec: McpSpec, refused: anyio.Event) -> AsyncIterator[Any]:
    """Yield the messages of an address; `refused` is set if it cannot be reached."""
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    assert spec.url is not None

    class Requests(httpx2.AsyncClient):
        async def send(self, request: Any, *, stream: bool = False, **named: Any) -> Any:
            try:
                response = await super().send(request, stream=True, **named)
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                refused.set()
                raise
            try:
                response.stream = bounded(response)
                if not stream:
                    await response.aread()
            except BaseException:
                await response.aclose()
                raise
            return response

    timeout = httpx2.Timeout(spec.timeout_s, read=None)  # how long a call may take is limited around it
    async with (
        Requests(headers={"Accept-Encoding": "identity", **_headers(spec)}, timeout=timeout) as client,
        streamable_http_client(spec.url, http_client=client) as streams,
    ):
        yield streams


def bounded(response: Any) -> Any:
    """Return the body of a response, which raises if one of its messages is longer than `LINE_BYTES`.

    A stream of events goes on for as long as the connection, so there each event is a message.
    """
    import httpx2

    body, kind = response.stream, response.headers.get("content-type", "")
    if response.headers.get("content-encoding", "identity") != "identity":
        raise httpx2.StreamError("it answers packed, although that was not asked for")

    class Bounded(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            length, tail = 0, b""
            async for piece in body:
                seen = (tail + piece).replace(b"\r", b"")
                end = seen.rfind(b"\n\n") if kind.startswith("text/event-stream") else -1
                length, tail = (length + len(piece) if end < 0 else len(seen) - end), seen[-1:]
                if length > LINE_BYTES:
                    words = f"it sent a message of more than {LINE_BYTES // 1024 // 1024} MB"
                    raise httpx2.StreamError(words)
                yield piece

        async def aclose(self) -> None:
            await body.aclose()

    return Bounded()


def _headers(spec: McpSpec) -> dict[str, str]:
    missing = next((name for name in spec.headers_env.values() if name not in os.environ), None)
    if missing is not None:
        raise Unusable(
            f"the engine's environment has no {missing}, which 'headers_env' names; set it and start the engine"
        )
    return {header: os.environ[name] for header, name in spec.headers_env.items()}


@asynccontextmanager
async def _over_pipes(program: Program, ended: anyio.Event, words: LastWords) -> AsyncIterator[Any]:
    """Yield the streams of messages from and to a program; ends the program afterwards."""
    from mcp.shared.message import SessionMessage

    said, messages = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_send, sent = anyio.create_memory_object_stream[SessionMessage](0)

    async def write() -> None:
        async for message in sent:
            line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            await program.send(line.encode() + b"\n")

    async def read() -> None:
        async with said:
            async for line in _lines(program, words):
                message = _message(line)
                if message is not None:
                    await said.send(message)
        ended.set()

    try:
        async with said, messages, to_send, sent, anyio.create_task_group() as group:
            for part in (read, write, partial(words.listen, program)):
                group.start_soon(part)
            yield messages, to_send
            group.cancel_scope.cancel()
    finally:
        program.close_input()
        with anyio.move_on_after(GOES_S, shield=True):
            await program.exited.wait()
        await program.end()


async def _lines(program: Program, words: LastWords) -> AsyncIterator[bytes]:
    """Yield the lines that a program writes; a line that is too long ends it."""
    try:
        while line := await program.stdout.readline():
            yield line
    except ValueError:
        words.why = f"it wrote a line of more than {LINE_BYTES // 1024 // 1024} MB"
    except ConnectionError:
        return


def _message(line: bytes) -> Any:
    """Return the message in a line; None if it is not one, because programs print other lines too."""
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter

    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except (ValueError, RecursionError):
        return None


def _offered(tool: Any) -> Offered:
    schema = tool.input_schema if isinstance(tool.input_schema, dict) else {}
    return Offered(
        name=clean(tool.name),
        description=clean(tool.description or tool.title or tool.name)[:SHOWN_CHARACTERS],
        parameters={"type": "object", "properties": {}, **_plain(schema)},
    )


def _plain(schema: dict[str, Any]) -> dict[str, JsonValue]:
    found = json_value(schema)
    return found if isinstance(found, dict) else {}


def _output(result: "CallToolResult") -> JsonValue:
    texts = [_text(block) for block in result.content]
    if result.structured_content is not None and not any(getattr(block, "text", None) for block in result.content):
        return json_value(result.structured_content)
    return clean("\n".join(texts))


def _text(block: Any) -> str:
    """Return a block of a result as text; other content is named, but left out."""
    if block.type == "text":
        return str(block.text)
    if block.type == "resource" and getattr(block.resource, "text", None) is not None:
        return str(block.resource.text)
    if block.type == "resource_link":
        return f"[{block.name}: {block.uri}]"
    held = getattr(block, "data", None) or getattr(getattr(block, "resource", None), "blob", None) or ""
    kind = getattr(block, "mime_type", None) or block.type
    return f"[{kind}, {len(held):,} characters of base64, left out: no text]"


def load() -> None:
    """Import the package, which takes a second, and stop it from logging to the terminal."""
    with importing():
        import mcp
        import mcp.client.streamable_http

    for name in (mcp.__name__, "client", "httpx2"):
        logging.getLogger(name).addHandler(logging.NullHandler())
