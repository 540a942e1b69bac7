"""A connection to one tool server, through the `mcp` package; the only file that imports it.

Rule: a server only sends data, and only receives the arguments of calls: sampling, elicitation and roots are refused.
`mcp_servers` starts servers; `mcp_answers` limits what they may send.
"""

import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

import anyio

from engine.children.child import Child
from engine.core.records.records import JsonValue
from engine.core.specs.model_spec import McpSpec
from engine.models.bounds import SCHEMA_CHARACTERS
from engine.platform.garbage import importing_package
from engine.runtimes.toolbox.calling import ToolError
from engine.runtimes.toolbox.mcp_records import MAX_TOOLS, Fault, LastWords, Lost, NotReached, OfferedTool
from engine.runtimes.values import clean, json_value, one_line

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import CallToolResult

MAX_PAGES = 50
"""Pages of a server's list of tools."""
DESCRIPTION_CHARACTERS = 10_000
"""Characters of a tool's description for a model; the rest is cut."""


class Connection:
    """A connection to a running server."""

    def __init__(self, client: "Client", close_event: anyio.Event) -> None:
        self._client = client
        self.close_event = close_event
        """Set once it no longer answers."""
        self.is_stale = True
        """Its tools are unknown, or have changed."""

    async def tools(self) -> list[OfferedTool]:
        """Return the tools that it offers now.

        Raises:
            Lost, NotReached: If the connection is lost.
            ToolError: If the server reports an error, or its answer cannot be used.
        """
        self.is_stale = False
        offered: dict[str, OfferedTool] = {}
        cursors: set[str | None] = {None}
        cursor = None
        for _ in range(MAX_PAGES):
            with self._translate_errors():
                page = await self._client.list_tools(cursor=cursor)
                for tool in page.tools:
                    offered.setdefault(tool.name, _to_offered_tool(tool))
            cursor = page.next_cursor
            if cursor in cursors or len(offered) >= MAX_TOOLS:
                break
            cursors.add(cursor)
        return list(offered.values())[:MAX_TOOLS]

    async def call(self, name: str, arguments: Mapping[str, JsonValue]) -> JsonValue:
        """Return the result of a tool: its text, or its structured content.

        Raises:
            Lost: If the server is lost before it answers.
            NotReached: If the server is lost and did not accept the call.
            ToolError: If the tool reports a failure, the server refuses the call, or its answer cannot be used.
        """
        with self._translate_errors():
            result = await self._client.call_tool(name, dict(arguments))
            output = _output(result)
        if result.is_error:
            text = output if isinstance(output, str) else json.dumps(output)
            raise ToolError(text or "the tool failed, and does not say why")
        return output

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Turn what a server or the package reports in place of an answer into an error of ours.

        Raises:
            Lost, NotReached, ToolError: As `call`.
        """
        from mcp.shared.exceptions import MCPError
        from pydantic import ValidationError

        try:
            yield
        except MCPError as error:
            self._raise_if_lost(error)
            reason = f"the server reports error {error.code}, and does not say why"
            raise ToolError(one_line(error) if error.message else reason) from error
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(part) for part in first["loc"][-3:])
            raise _make_unusable_error(f"it does not follow the protocol ({place}: {first['msg']})") from error
        except RuntimeError as error:  # requests of the server in place of a result
            raise _make_unusable_error(one_line(error)) from error

    def _raise_if_lost(self, error: Any) -> None:
        """Raise if an error means that the server is lost, or its answer useless.

        Raises:
            Lost, NotReached, ToolError: As `call`.
        """
        from mcp_types import CONNECTION_CLOSED

        if error.code == Fault.UNUSABLE:
            raise _make_unusable_error(error.message) from error
        if error.code == Fault.NOT_REACHED:
            self.close_event.set()
            raise NotReached(error.message) from error
        if error.code == Fault.LOST:
            raise Lost(error.message) from error
        if error.code == CONNECTION_CLOSED:
            self.close_event.set()
            raise Lost("the server ended before it answered") from error


def _make_unusable_error(reason: str) -> ToolError:
    return ToolError(f"the server has ended the call, but its answer cannot be used: {reason}")


@asynccontextmanager
async def connect(spec: McpSpec, start: Callable[[], Awaitable[Child]], words: LastWords) -> AsyncIterator[Connection]:
    """Connect to a server while the context is open.

    Args:
        start: Starts it, if it is a program.
        words: Gets the started program, to describe its end.

    Raises:
        Exception: Any error of the connection, or a group of them.
    """
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared.message import SessionMessage

    from engine.runtimes.toolbox.mcp_http import over_http
    from engine.runtimes.toolbox.mcp_pipes import over_pipes

    close_event = anyio.Event()
    connections: list[Connection] = []

    async def note_tool_change(message: Any) -> None:
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            for connection in connections:
                connection.is_stale = True

    if spec.url is not None:
        transport = over_http(spec, streamable_http_client)
    else:
        words.program = await start()
        transport = over_pipes(words.program, close_event, SessionMessage)
    async with Client(transport, cache=None, message_handler=note_tool_change) as client:
        connections.append(Connection(client, close_event))
        yield connections[0]


def _to_offered_tool(tool: Any) -> OfferedTool:
    schema = tool.input_schema if isinstance(tool.input_schema, dict) else {}
    return OfferedTool(
        name=clean(tool.name),
        description=clean(tool.description or tool.title or tool.name)[:DESCRIPTION_CHARACTERS],
        parameters={"type": "object", "properties": {}, **_plain_schema(schema)},
    )


def _plain_schema(schema: dict[str, Any]) -> dict[str, JsonValue]:
    """Return the schema of a tool's arguments; empty if it is very long: the server checks calls itself."""
    if len(json.dumps(schema)) > SCHEMA_CHARACTERS:
        return {}
    plain = json_value(schema)
    return plain if isinstance(plain, dict) else {}


def _output(result: "CallToolResult") -> JsonValue:
    texts = [_text(block) for block in result.content]
    if result.structured_content is not None and not any(getattr(block, "text", None) for block in result.content):
        structured: JsonValue = result.structured_content  # plain JSON since `mcp_answers`
        return structured
    return clean("\n".join(texts))


def _text(block: Any) -> str:
    """Return a block of a result as text; other content is named, but left out."""
    if block.type == "text":
        return str(block.text)
    if block.type == "resource" and getattr(block.resource, "text", None) is not None:
        return str(block.resource.text)
    if block.type == "resource_link":
        return f"[{block.name}: {block.uri}]"
    content = getattr(block, "data", None) or getattr(getattr(block, "resource", None), "blob", None) or ""
    kind = getattr(block, "mime_type", None) or block.type
    return f"[{kind}, {len(content):,} characters of base64, left out: no text]"


def load() -> None:
    """Import the package, which takes a second, and stop it from logging to the terminal."""
    with importing_package():
        import mcp
        import mcp.client.streamable_http

    for name in (mcp.__name__, "client", "httpx2"):
        logging.getLogger(name).addHandler(logging.NullHandler())
