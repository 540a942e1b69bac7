"""A model server on this computer: the OpenAI chat protocol over HTTP, with every shape of failure.

It answers each request with the next thing that it was told to say, counts what it was asked, and knows who hung up:

    with model_server() as server:
        server.say(Say("Hello"), Say(status=429, retry_after_s=2), Say(calls=[("delegate", {"worker": "scout"})]))
        spec = ModelSpec(model="openai/tested", base_url=server.url)

Nothing left to say: it repeats the last message. `server.by(function)` lets a function of the request's body decide. As
strict providers do, it answers 400 to a conversation with calls that have no name, no id of their own or no result.
As a program (`python -m tests.model_server PORT`) it repeats what was said to it.
"""

import asyncio
import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.patience import PATIENCE_S
from tests.strict_history import fault_of

PIECE = 8
"""Characters of a streamed piece."""


@dataclass(frozen=True)
class Say:
    """One answer of the server."""

    text: str = ""
    calls: Sequence[tuple[str, Any]] = ()
    """Tools to call: names with arguments; a text in place of an object is sent as it is, so it may be no JSON."""
    thinking: str = ""
    tokens: tuple[int, int] | None = None
    """What it says it has read and written; None counts words."""
    cached: int = 0
    """Of the tokens read, those from its cache."""
    usage: bool = True
    """Whether it says what was used."""
    finish: str | None = None
    status: int = 200
    message: str = "the server says no"
    """Of an error."""
    retry_after_s: float | None = None
    cut_after: int | None = None
    """Pieces after which the connection breaks."""
    stall_after: int | None = None
    """Pieces after which nothing more comes."""
    before_s: float = 0.0
    """Before the first byte."""
    every_s: float = 0.0
    """Between two pieces."""
    junk: bytes | None = None
    """Sent in place of an answer."""
    piece: int = PIECE
    events: Sequence[dict[str, Any]] | None = None
    """Chunks of a stream in place of those that would be made; `[DONE]` follows."""
    body: bytes | dict[str, Any] | None = None
    """Sent whole in place of a stream, as JSON or with the `headers`."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Of the answer, in addition."""


@dataclass
class Seen:
    """One request that came."""

    body: dict[str, Any]
    headers: dict[str, str]
    hung_up: threading.Event = field(default_factory=threading.Event)
    """The client let go of the connection before the answer was over."""
    over: threading.Event = field(default_factory=threading.Event)

    @property
    def last(self) -> str:
        """The text of the last message."""
        content = self.body["messages"][-1].get("content") or ""
        return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


class ModelServer:
    """What the server is told to say, and what it has seen."""

    def __init__(self) -> None:
        self.url = ""
        self.seen: list[Seen] = []
        self._waiting: list[Say] = []
        self._by: Callable[[dict[str, Any]], Say] | None = None
        self._over: Callable[[dict[str, Any]], object] = lambda body: None
        self._came = threading.Condition()

    def say(self, *says: Say) -> None:
        """Answer the next requests with these, in order."""
        self._waiting += says

    def by(self, function: Callable[[dict[str, Any]], Say] | None) -> None:
        """Let a function of the request's body decide, where nothing is left to say."""
        self._by = function

    def once_answered(self, function: Callable[[dict[str, Any]], object]) -> None:
        """Call a function with the body of each request that was answered whole, in the thread of the server."""
        self._over = function

    def forget(self) -> None:
        """Begin anew: nothing seen, nothing to say."""
        self.seen, self._waiting, self._by = [], [], None

    def wait_for(self, requests: int) -> None:
        """Return once so many requests have come; blocks."""
        with self._came:
            assert self._came.wait_for(lambda: len(self.seen) >= requests, PATIENCE_S)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer one request."""
        seen = Seen(body=await request.json(), headers=dict(request.headers))
        with self._came:
            self.seen.append(seen)
            self._came.notify_all()
        say = self._waiting.pop(0) if self._waiting else self._by(seen.body) if self._by else Say(seen.last)
        try:
            await asyncio.sleep(say.before_s)
            if say.junk is not None:
                return web.Response(body=say.junk, content_type="text/event-stream")
            if fault := fault_of(seen.body["messages"]):
                return _refusal(Say(status=400, message=fault))
            if say.body is not None:
                return _whole_body(say)
            if say.status != 200:
                return _refusal(say)
            if not seen.body.get("stream"):
                return web.json_response(_whole(say, seen))
            response = await self._streamed(say, seen, request)
            self._over(seen.body)
            return response
        except (asyncio.CancelledError, ConnectionError):
            seen.hung_up.set()
            raise
        finally:
            seen.over.set()

    async def _streamed(self, say: Say, seen: Seen, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", **say.headers})
        await response.prepare(request)
        pieces = _pieces(say, seen) if say.events is None else say.events
        for count, piece in enumerate(pieces):
            if count == say.stall_after:
                await asyncio.sleep(PATIENCE_S)
            if count == say.cut_after:
                assert request.transport is not None
                request.transport.abort()
                return response
            await response.write(b"data: " + json.dumps(piece).encode() + b"\n\n")
            if say.every_s:
                await asyncio.sleep(say.every_s)
        await response.write(b"data: [DONE]\n\n")
        return response


def _whole_body(say: Say) -> web.Response:
    if isinstance(say.body, bytes):
        return web.Response(body=say.body, status=say.status, headers=say.headers)
    return web.json_response(say.body, status=say.status, headers=say.headers)


def _pieces(say: Say, seen: Seen) -> Iterator[dict[str, Any]]:
    yield delta_chunk({"role": "assistant", "content": ""})
    for start in range(0, len(say.thinking), say.piece):
        yield delta_chunk({"reasoning_content": say.thinking[start : start + say.piece]})
    for start in range(0, len(say.text), say.piece):
        yield delta_chunk({"content": say.text[start : start + say.piece]})
    for place, (name, arguments) in enumerate(say.calls):
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        head = {"index": place, "id": f"call_{place}", "type": "function", "function": {"name": name, "arguments": ""}}
        yield delta_chunk({"tool_calls": [head]})
        for start in range(0, len(text), say.piece):
            part = {"index": place, "function": {"arguments": text[start : start + say.piece]}}
            yield delta_chunk({"tool_calls": [part]})
    yield delta_chunk({}, finish=_finish(say))
    if say.usage and (seen.body.get("stream_options") or {}).get("include_usage"):
        yield {**delta_chunk({}), "choices": [], "usage": _usage(say, seen)}


def delta_chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    """Return a piece of a streamed answer."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "tested-1", "choices": [choice]}


def _whole(say: Say, seen: Seen) -> dict[str, Any]:
    calls = [
        {"id": f"call_{place}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for place, (name, arguments) in enumerate(say.calls)
    ]
    message = {"role": "assistant", "content": say.text, **({"tool_calls": calls} if calls else {})}
    choice = {"index": 0, "message": message, "finish_reason": _finish(say)}
    answer = {"id": "c1", "object": "chat.completion", "created": 1, "model": "tested-1", "choices": [choice]}
    return {**answer, "usage": _usage(say, seen)}


def _finish(say: Say) -> str:
    return say.finish or ("tool_calls" if say.calls else "stop")


def _usage(say: Say, seen: Seen) -> dict[str, Any]:
    read = sum(len(str(message.get("content") or "").split()) for message in seen.body["messages"])
    tokens_in, tokens_out = say.tokens or (read, len(say.text.split()))
    usage = {"prompt_tokens": tokens_in, "completion_tokens": tokens_out, "total_tokens": tokens_in + tokens_out}
    return {**usage, "prompt_tokens_details": {"cached_tokens": say.cached}}


def _refusal(say: Say) -> web.Response:
    headers = {} if say.retry_after_s is None else {"Retry-After": f"{say.retry_after_s:g}"}
    error = {"message": say.message, "type": "error", "code": None}
    return web.json_response({"error": error}, status=say.status, headers=headers)


async def _serve(server: ModelServer, port: int, started: Callable[[], object], end: asyncio.Event) -> None:
    # The handler is cancelled where the client hangs up: that is how a disconnect is seen.
    app = web.Application(client_max_size=100_000_000)
    app.router.add_post("/v1/chat/completions", server.answer)
    app.router.add_get("/v1/models", _models)
    runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=0)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    started()
    try:
        await end.wait()
    finally:
        await runner.cleanup()


async def _models(_: web.Request) -> web.Response:
    return web.json_response({"object": "list", "data": [{"id": "tested-1", "object": "model"}]})


@contextmanager
def model_server() -> Iterator[ModelServer]:
    """Serve in a thread of its own."""
    server, started, ends = ModelServer(), threading.Event(), []

    async def serve() -> None:
        end = asyncio.Event()
        loop = asyncio.get_running_loop()
        ends.append(lambda: loop.call_soon_threadsafe(end.set))
        await _serve(server, 0, started.set, end)

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert started.wait(PATIENCE_S)
    try:
        yield server
    finally:
        ends[0]()
        thread.join(PATIENCE_S)


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        alone = ModelServer()
        asyncio.run(_serve(alone, int(sys.argv[1]), lambda: print(alone.url, flush=True), asyncio.Event()))
