"""The transport to a tool server at an address: each message is an HTTP request, answered by a body or a stream.

If the server has lost the session, for example after a restart, the call was not accepted; the connection ends, and the
next one begins a new session.
"""

import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
from mcp_types import INTERNAL_ERROR, ErrorData, JSONRPCError, JSONRPCResponse
from typing_extensions import override

from engine.core.specs.model_spec import McpSpec
from engine.runtimes.toolbox import mcp_answers
from engine.runtimes.toolbox.mcp_answers import Unreadable, error_response, parse, too_large
from engine.runtimes.toolbox.mcp_records import Fault, headers_of
from engine.runtimes.values import one_line

FORGOTTEN = frozenset({404, 410})
"""Statuses that end a session, as the protocol says."""
REFUSED = 400
"""Status with which many servers refuse an unknown session, with a message that names it."""
GATEWAY = frozenset({502, 504})
"""Statuses of a gateway that lost the server: the call may have taken place."""
_SESSION = "mcp-session-id"
_SESSION_WORDS = ("session", "not initialized")
_EVENT_END = re.compile(rb"\r?\n\r?\n|\r\r")


@asynccontextmanager
async def over_http(spec: McpSpec, transport: Callable[..., Any]) -> AsyncIterator[Any]:
    """Yield the streams of messages from and to an address.

    Args:
        transport: The package's transport over HTTP.
    """
    assert spec.url is not None

    class Requests(httpx2.AsyncClient):
        @override
        async def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:
            request_id = _request_id(request)
            try:
                response = await super().send(request, stream=True, **options)
            except httpx2.TransportError as error:
                if request_id is not None:
                    return _response(request, error_response(request_id, *_transport_fault(error)))
                if request.method == "POST":  # a notification, which has no answer; the next call reports the loss
                    return httpx2.Response(202, request=request)
                raise
            try:
                if request_id is not None:
                    return await _check_response(response, request_id)
                _check_plain(response)
                response.stream = _events(response, None)
                if not stream:
                    await response.aread()
            except BaseException:
                with anyio.CancelScope(shield=True):
                    await response.aclose()
                raise
            return response

    timeout = httpx2.Timeout(spec.timeout_s, read=None)  # the caller limits the time of a call
    async with (
        Requests(headers={"Accept-Encoding": "identity", **headers_of(spec)}, timeout=timeout) as client,
        # Without the package's limit on events: `_events` has one, which fails only the call that the event answers.
        transport(spec.url, http_client=client, max_sse_event_size=None) as streams,
    ):
        yield streams


def _request_id(request: Any) -> int | str | None:
    """Return the id of the message in a request; None if it expects no answer."""
    if request.method != "POST":
        return None
    message = json.loads(request.content)
    request_id: int | str | None = message.get("id") if "method" in message else None
    return request_id


def _transport_fault(error: Any) -> tuple[Fault, str]:
    if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout):
        return Fault.NOT_REACHED, f"no server answers at its address ({one_line(error)})"
    return Fault.LOST, "the server ended before it answered"


async def _check_response(response: Any, request_id: int | str) -> Any:
    """Return the response to a request, or one with an error of ours in its place."""
    kind = response.headers.get("content-type", "").lower()
    try:
        _check_plain(response)
        if response.status_code >= 400:
            message = await _refusal(response, await _body(response), request_id)
        elif response.is_success and kind.startswith("text/event-stream"):
            response.stream = _events(response, request_id)
            return response
        elif response.status_code == 200 and kind.startswith("application/json"):
            message = await parse(await _body(response))
            if getattr(message, "id", None) not in (request_id, str(request_id), None):
                raise Unreadable("it answers another request")
            message = message.model_copy(update={"id": request_id})
        else:
            return response  # a redirect, no body, or a kind that the package refuses
    except Unreadable as error:
        message = error_response(request_id, Fault.UNUSABLE, str(error))
    except httpx2.TransportError:
        message = error_response(request_id, Fault.LOST, "the server ended before its answer was complete")
    await response.aclose()
    return _response(response.request, message, session=response.headers.get(_SESSION))


def _response(request: Any, message: Any, *, session: str | None = None) -> Any:
    headers = {"Content-Type": "application/json", **({} if session is None else {_SESSION: session})}
    return httpx2.Response(200, headers=headers, content=_json(message), request=request)


def _json(message: Any) -> str:
    text: str = message.model_dump_json(by_alias=True, exclude_unset=True)
    return text


def _check_plain(response: Any) -> None:
    if response.headers.get("content-encoding", "identity") != "identity":
        raise Unreadable("it is compressed, although that was not asked for")


async def _body(response: Any) -> bytes:
    body = bytearray()
    async for piece in response.stream:
        body += piece
        if len(body) > mcp_answers.MAX_LINE_BYTES:
            raise Unreadable(too_large())
    return bytes(body)


async def _refusal(response: Any, body: bytes, request_id: int | str) -> Any:
    """Return the error in a response that refuses a request, or an error with the status of the response."""
    status, words = response.status_code, body[:1_000].decode(errors="replace").lower()
    has_session = _SESSION in response.request.headers
    if has_session and (status in FORGOTTEN or (status == REFUSED and any(word in words for word in _SESSION_WORDS))):
        return error_response(
            request_id, Fault.NOT_REACHED, f"the server does not know its session any more (status {status})"
        )
    try:
        message = await parse(body)
        if isinstance(message, JSONRPCError):
            return message.model_copy(update={"id": request_id})
    except Unreadable:
        pass
    reason = f"the server answered with status {status} {response.reason_phrase}".rstrip()
    if status in GATEWAY:
        return error_response(request_id, Fault.LOST, reason)
    return JSONRPCError(jsonrpc="2.0", id=request_id, error=ErrorData(code=INTERNAL_ERROR, message=reason))


def _events(response: Any, request_id: int | str | None) -> Any:
    """Return the checked events of a stream.

    Args:
        request_id: The request that the stream answers; it gets an error in place of an invalid event, which ends the
            stream. None for a stream of notifications, which ends without an error.
    """
    body = response.stream

    class Events(httpx2.AsyncByteStream):
        @override
        async def __aiter__(self) -> AsyncIterator[bytes]:
            is_resumable = False
            try:
                async for event in _whole_events(body):
                    fields = _fields(event)
                    is_resumable = is_resumable or "id" in fields
                    yield event if request_id is None else await _check_event(event, fields)
                if request_id is None or is_resumable:  # the package requests the rest
                    return
                fault = Fault.LOST, "the server ended its answer before the result"
            except httpx2.TransportError:
                if request_id is None or is_resumable:
                    raise
                fault = Fault.LOST, "the server ended before its answer was complete"
            except Unreadable as error:
                if request_id is None:
                    return
                fault = Fault.UNUSABLE, str(error)
            yield f"\n\nevent: message\ndata: {_json(error_response(request_id, *fault))}\n\n".encode()

        @override
        async def aclose(self) -> None:
            await body.aclose()

    return Events()


async def _whole_events(body: Any) -> AsyncIterator[bytes]:
    """Yield each event of a stream, with its empty line.

    Raises:
        Unreadable: If an event exceeds the size limit.
    """
    rest = bytearray()
    async for piece in body:
        start = max(len(rest) - 3, 0)
        rest += piece
        while match := _EVENT_END.search(rest, start):
            yield bytes(rest[: match.end()])
            del rest[: match.end()]
            start = 0
        if len(rest) > mcp_answers.MAX_LINE_BYTES:
            raise Unreadable(too_large())
    if rest:
        yield bytes(rest)


def _fields(event: bytes) -> dict[str, bytes]:
    """Return the fields of an event."""
    fields: dict[str, bytes] = {}
    for line in event.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n"):
        key, _, value = line.partition(b":")
        name = key.decode(errors="replace")
        value = value.removeprefix(b" ")
        fields[name] = fields["data"] + b"\n" + value if name == "data" and "data" in fields else value
    return fields


async def _check_event(event: bytes, fields: dict[str, bytes]) -> bytes:
    """Return an event in a form that the package can read.

    Raises:
        Unreadable: If its message cannot be used.
    """
    if not fields.get("data") or fields.get("event", b"message") != b"message":
        return event
    message = await parse(fields["data"])
    if not isinstance(message, JSONRPCResponse):
        return event
    mark = b"id: " + fields["id"] + b"\n" if "id" in fields else b""
    return mark + f"event: message\ndata: {_json(message)}\n\n".encode()
