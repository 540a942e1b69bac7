"""Reads responses of providers before litellm does: bounds and decompresses them, and converts them to event streams.

Rule: a response is read in pieces, and exceeding a limit ends it with a `BadAnswer`. The libraries above wrap errors in
their own, so the fault is also kept in the `Exchange` of the request.
"""

import json
import re
import zlib
from collections.abc import AsyncIterator, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import anyio.lowlevel
import httpx
from typing_extensions import override

from engine.models import bounds
from engine.models.thoughts import split_content

INFLATE_BYTES = 16_384
"""Bytes that are decompressed at once; other requests have their turn after each such piece."""
_WEB_PAGE_TYPES = frozenset({"text/html", "application/xhtml+xml"})
_EVENT_STREAM = "text/event-stream"
_STREAM_REQUESTED = re.compile(rb'"stream"\s*:\s*true')
_CONTENT_LIST = re.compile(rb'"content"\s*:\s*\[')
_DONE_EVENT = re.compile(rb"^data:\s*\[DONE\]", re.MULTILINE)


class BadAnswer(Exception):
    """A response is not an answer of a model; `kind` is the `error_type` of the `ModelError`."""

    def __init__(self, text: str, kind: str) -> None:
        super().__init__(text)
        self.kind = kind


def describe_page(media: str) -> str:
    """Describe a response that is a web page, as one of a wrong address is."""
    return f"answered with a web page ({media}): is base_url right?"


@dataclass(eq=False)
class Exchange:
    """Observations about one request and its response."""

    fault: BadAnswer | None = None
    is_over: bool = False
    """Whether the server ended its stream as the protocol requires."""
    cost: str | None = None
    """Cost of the answer, as a proxy states it."""


exchange: ContextVar[Exchange] = ContextVar("exchange")
"""The exchange of the request that the present task sends."""


def limit_clients() -> None:
    """Make every httpx client created from now on pass its responses through `_receive`."""
    init = httpx.AsyncClient.__init__

    def bounded_init(client: httpx.AsyncClient, *args: Any, **options: Any) -> None:
        init(client, *args, **options)
        hooks = client.event_hooks
        client.event_hooks = {**hooks, "response": [*hooks.get("response", ()), _receive]}

    setattr(httpx.AsyncClient, "__init__", bounded_init)  # noqa: B010 - mypy forbids an assignment to a method


async def _receive(response: httpx.Response) -> None:
    """Replace the body of a response by a bounded one; runs before any of it is read."""
    current = exchange.get(Exchange())
    headers = response.headers
    media = headers.get("content-type", "").partition(";")[0].strip().lower()
    current.cost = headers.get("x-litellm-response-cost")
    assert isinstance(response.stream, httpx.AsyncByteStream)
    body = _Body(response.stream, headers.pop("content-encoding", ""), current, is_stream=media == _EVENT_STREAM)
    response.stream = body
    if not response.is_success:
        return
    if media in _WEB_PAGE_TYPES:
        raise body.fail(describe_page(media), "bad_request")
    if media == "application/json" and _STREAM_REQUESTED.search(response.request.content):
        content = b"".join([piece async for piece in body])
        await body.aclose()
        events = _events_of(content)
        headers["content-type"] = media if events is None else _EVENT_STREAM
        response.stream = httpx.ByteStream(content if events is None else events)
        current.is_over = events is not None


class _Body(httpx.AsyncByteStream):
    """The body of a response, bounded and decompressed.

    Args:
        encoding: Its content encoding.
        is_stream: It is a stream of events, each ended by an empty line.
    """

    def __init__(self, stream: httpx.AsyncByteStream, encoding: str, current: Exchange, *, is_stream: bool) -> None:
        self._stream = stream
        self._encoding = encoding.strip().lower()
        self._exchange = current
        self._is_stream = is_stream

    def fail(self, text: str, kind: str = "server") -> BadAnswer:
        """Return an error, and keep it in the exchange."""
        self._exchange.fault = BadAnswer(text, kind)
        return self._exchange.fault

    @override
    async def aclose(self) -> None:
        """Close the connection."""
        await self._stream.aclose()

    @override
    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        events = _Events(self._exchange)
        async for piece in self._decompress():
            size += len(piece)
            if size > bounds.MAX_ANSWER_BYTES:
                raise self.fail(f"answered with more than {bounds.MAX_ANSWER_BYTES:,} bytes")
            if not self._is_stream:
                yield piece
            else:
                for lines in events.feed(piece):
                    yield lines
                if events.excess:
                    raise self.fail(f"sent an event of more than {events.excess}")
            await anyio.lowlevel.checkpoint()  # buffered data does not wait, and would block other requests
        if self._is_stream:
            yield events.flush()

    async def _decompress(self) -> AsyncIterator[bytes]:
        """Yield the bytes, decompressed in small steps: two kilobytes may expand to two megabytes."""
        if self._encoding in ("", "identity"):
            async for piece in self._stream:
                yield piece
            return
        if self._encoding not in ("gzip", "x-gzip", "deflate"):
            raise self.fail(f"compressed its answer as {self._encoding[:20]}, which was not asked for")
        inflated = zlib.decompressobj(zlib.MAX_WBITS | 32)
        try:
            async for piece in self._stream:
                while piece:
                    yield inflated.decompress(piece, INFLATE_BYTES)
                    piece = inflated.unconsumed_tail
            yield inflated.flush()
        except zlib.error as error:
            raise self.fail("sent a compressed answer that cannot be read") from error


class _Events:
    """Splits a stream into lines, and measures each event."""

    def __init__(self, current: Exchange) -> None:
        self._exchange = current
        self._pieces: list[bytes] = []
        self._size = 0
        """Bytes of the present event."""
        self._lines = 0

    @property
    def excess(self) -> str | None:
        """The limit that an event exceeds; None if there is none."""
        if self._size + sum(map(len, self._pieces)) > bounds.MAX_EVENT_BYTES:
            return f"{bounds.MAX_EVENT_BYTES:,} bytes"
        return f"{bounds.MAX_EVENT_LINES:,} lines" if self._lines > bounds.MAX_EVENT_LINES else None

    def feed(self, piece: bytes) -> Iterator[bytes]:
        """Yield the complete lines, unless a limit is exceeded."""
        end = piece.rfind(b"\n") + 1
        if not end:
            self._pieces.append(piece)
            return
        lines = b"".join([*self._pieces, piece[:end]])
        self._pieces = []
        for line in lines.splitlines():
            self._size = self._size + len(line) if line else 0
            self._lines = self._lines + 1 if line else 0
            if self.excess:
                return
        self._pieces = [piece[end:]]  # the beginning of the next line
        yield self._adapt(lines)

    def flush(self) -> bytes:
        """Return the rest at the end of the stream."""
        return self._adapt(b"".join(self._pieces))

    def _adapt(self, lines: bytes) -> bytes:
        """Return the lines with text in place of lists of content parts, and note the end of the stream."""
        if _DONE_EVENT.search(lines) is not None:
            self._exchange.is_over = True
        if _CONTENT_LIST.search(lines) is None:
            return lines
        return b"".join(_join_line_parts(line) for line in lines.splitlines(keepends=True))


def _join_line_parts(line: bytes) -> bytes:
    """Return a line of a stream in which the content of a message is a text: litellm drops lists of parts."""
    start, _, data = line.partition(b"data:")
    if start or _CONTENT_LIST.search(data) is None:
        return line
    value = _object_in(data)
    choices = None if value is None else value.get("choices")
    if not isinstance(choices, list):
        return line
    for choice in choices:
        if isinstance(choice, dict) and isinstance(choice.get("delta"), dict):
            _join_parts(choice["delta"])
    return _event(value)[:-1]


def _join_parts(message: dict[str, Any]) -> None:
    if isinstance(message.get("content"), list):
        thought, message["content"] = split_content(message["content"])
        if thought:
            message["reasoning_content"] = thought


def _events_of(body: bytes) -> bytes | None:
    """Return a complete answer or an error as the events of a stream; None if it is neither."""
    value = _object_in(body)
    if value is None:
        return None
    if value.get("error"):
        return _event(value)
    choices = value.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(first, dict) or not isinstance(first.get("message"), dict):
        return None
    message = first["message"]
    _join_parts(message)
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        message["tool_calls"] = [{**call, "index": index} for index, call in enumerate(calls) if isinstance(call, dict)]
    frame = {**value, "object": "chat.completion.chunk"}
    usage = frame.pop("usage", None)
    delta = {"index": 0, "delta": message, "finish_reason": None}
    end: dict[str, Any] = {"index": 0, "delta": {}, "finish_reason": first.get("finish_reason") or "stop"}
    events = _event({**frame, "choices": [delta]}) + _event({**frame, "choices": [end]})
    if usage:
        events += _event({**frame, "choices": [], "usage": usage})
    return events + b"data: [DONE]\n\n"


def _object_in(data: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _event(value: Any) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"
