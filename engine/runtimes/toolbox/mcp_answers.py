"""Parses and checks messages of a tool server before the `mcp` package gets them.

Rule: an invalid answer fails only its own call. The package would drop an unreadable message, so that the call waits
for its timeout, and would end the connection if a request fails. Instead, such a call gets an error of ours (`Fault`).
"""

import re
from typing import Any

import anyio.to_thread
from mcp_types import ErrorData, JSONRPCError, JSONRPCMessage, JSONRPCResponse, jsonrpc_message_adapter
from pydantic import ValidationError

from engine.errors import NotJson
from engine.runtimes.toolbox.mcp_records import MAX_TOOLS, Fault
from engine.runtimes.values import json_value

MAX_LINE_BYTES = 32 * 1024 * 1024
"""Size of a message of a server."""
LOOP_BYTES = 128 * 1024
"""Larger messages are parsed in a thread."""
MAX_BLOCKS = 1_000
"""Blocks (texts, pictures) of a result."""
_END_BYTES = 256
"""Bytes at each end of a message that are searched for its id."""
_ID = re.compile(rb'"id"\s*:\s*(\d{1,18})\s*[,}]')


class Unreadable(ValueError):
    """A message cannot be used; the text says why."""


async def parse(data: bytes) -> JSONRPCMessage:
    """Return the message in `data`.

    Raises:
        Unreadable: If it is not a message, or exceeds a limit.
    """
    return _parse(data) if len(data) <= LOOP_BYTES else await anyio.to_thread.run_sync(_parse, data)


def _parse(data: bytes) -> JSONRPCMessage:
    try:
        message = jsonrpc_message_adapter.validate_json(data, by_name=False)
    except ValidationError as error:
        raise Unreadable(_reason(data, error)) from error
    if isinstance(message, JSONRPCResponse):
        _tidy(message.result)
    return message


def _reason(data: bytes, error: Any) -> str:
    try:
        data.decode()
    except UnicodeDecodeError as fault:
        return f"it is not UTF-8 at byte {fault.start + 1:,}"
    first = error.errors(include_url=False, include_input=False, include_context=True)[0]
    if first["type"] == "json_invalid":
        return f"it is not JSON: {first['ctx']['error']}"
    return "it is no message of the protocol (JSON-RPC 2.0)"


def _tidy(result: dict[str, Any]) -> None:
    """Add missing fields to a result, and drop the schemas of outputs.

    The package would check each result against these schemas in the event loop, which is the server's own task.

    Raises:
        Unreadable: If it has too many blocks, or its structured content is not plain JSON.
    """
    if result.get("structuredContent") is not None:
        result.setdefault("content", [])
        try:
            result["structuredContent"] = json_value(result["structuredContent"])
        except NotJson as error:
            raise Unreadable(f"its structured content is no JSON: {error}") from error
    blocks, tools = result.get("content"), result.get("tools")
    if isinstance(blocks, list) and len(blocks) > MAX_BLOCKS:
        raise Unreadable(f"it has more than {MAX_BLOCKS:,} blocks of content")
    if isinstance(tools, list):
        result["tools"] = [tool for tool in tools[:MAX_TOOLS] if isinstance(tool, dict)]
        for tool in result["tools"]:
            tool.pop("outputSchema", None)
            schema = tool.get("inputSchema")
            tool["inputSchema"] = {**(schema if isinstance(schema, dict) else {}), "type": "object"}


def error_response(request_id: int | str, fault: Fault, reason: str) -> JSONRPCError:
    """Return an error in place of the answer to a request."""
    return JSONRPCError(jsonrpc="2.0", id=request_id, error=ErrorData(code=fault, message=reason))


def too_large() -> str:
    """Return the fault of a message that exceeds `MAX_LINE_BYTES`."""
    return f"it is too large: more than {MAX_LINE_BYTES // 1024 // 1024} MB"


def answered_id(start: bytes, end: bytes) -> int | None:
    """Return the id of the request that an unreadable message answers, from its two ends; None if it is no answer.

    Only the parts outside of the result are searched: before the second brace, or after the last but one.
    """
    first, second = start[:_END_BYTES].lstrip(), end[-_END_BYTES:].rstrip()
    if not first.startswith(b"{") or not second.endswith(b"}"):
        return None
    head = first[: first.find(b"{", 1)] if b"{" in first[1:] else first
    match = _ID.search(head) or _ID.search(second[second.rfind(b"}", 0, -1) + 1 :])
    return int(match[1]) if match else None
