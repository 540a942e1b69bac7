"""What a provider sends is read within bounds, decompressed, and made a stream of events where one was wanted."""

import gzip
import json
import zlib
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import anyio
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.models import bounds
from engine.models.responses import BadAnswer, Exchange, exchange, limit_clients

PAGE = "answered with a web page ({}): is base_url right?"
EVENTS, JSON = "text/event-stream", "application/json"


@dataclass(frozen=True)
class Answer:
    """What a server sends, and what is wanted of it."""

    body: bytes
    media: str = "text/plain"
    encoding: str | None = None
    status: int = 200
    request: bytes = b'{"stream": true}'
    cost: str | None = None
    piece: int = 1_000
    """Bytes that arrive at once."""


@dataclass(frozen=True)
class Outcome:
    """What comes of it."""

    body: bytes = b""
    media: str = "text/plain"
    fault: tuple[str, str] | None = None
    is_over: bool = False
    cost: str | None = None
    is_closed: bool = True
    hooks: tuple[str, ...] = ("own",)


class Pieces(httpx.AsyncByteStream):
    """A body that arrives in pieces."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.is_closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        body, step = self.answer.body, self.answer.piece
        for start in range(0, len(body), step):
            yield body[start : start + step]

    async def aclose(self) -> None:
        self.is_closed = True


def outcome(answer: Answer) -> Outcome:
    """Return what a client of httpx gets of an answer."""
    return anyio.run(_outcome, answer)


async def _outcome(answer: Answer) -> Outcome:
    pieces, current, hooks = Pieces(answer), Exchange(), list[str]()
    headers = {"content-type": answer.media}
    if answer.encoding is not None:
        headers["content-encoding"] = answer.encoding
    if answer.cost is not None:
        headers["x-litellm-response-cost"] = answer.cost

    async def own(response: httpx.Response) -> None:
        hooks.append("own")

    exchange.set(current)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(httpx.AsyncClient, "__init__", httpx.AsyncClient.__init__)
        limit_clients()
        transport = httpx.MockTransport(lambda request: httpx.Response(answer.status, headers=headers, stream=pieces))
        client = httpx.AsyncClient(transport=transport, event_hooks={"response": [own]})
    body, media = b"", answer.media
    async with client:
        with suppress(BadAnswer):
            response = await client.post("http://provider", content=answer.request)
            body, media = response.content, response.headers["content-type"]
    fault = None if current.fault is None else (str(current.fault), current.fault.kind)
    return Outcome(body, media, fault, current.is_over, current.cost, pieces.is_closed, tuple(hooks))


LONG = b"tide " * 40_000
PACKED = {
    None: LONG, "": LONG, "identity": LONG, "gzip": gzip.compress(LONG), "x-gzip": gzip.compress(LONG),
    "deflate": zlib.compress(LONG), " GZip ": gzip.compress(LONG),
}  # fmt: skip


@pytest.mark.parametrize("encoding", PACKED)
def test_an_answer_is_decompressed_as_it_says(encoding: str | None) -> None:
    answer = Answer(PACKED[encoding], encoding=encoding, cost="0.25", piece=100)

    assert outcome(answer) == Outcome(LONG, cost="0.25")


@pytest.mark.parametrize("encoding", ["br", "zstd", "snappy", "gzip, gzip"])
def test_another_compression_is_a_fault_of_the_server(encoding: str) -> None:
    text = f"compressed its answer as {encoding}, which was not asked for"

    assert outcome(Answer(b"x", encoding=encoding)) == Outcome(fault=(text, "server"))
    unreadable = ("sent a compressed answer that cannot be read", "server")
    assert outcome(Answer(b"no gzip", encoding="gzip")) == Outcome(fault=unreadable)


@pytest.mark.parametrize("media", ["text/html", "application/xhtml+xml", "Text/HTML ; charset=utf-8"])
def test_a_page_is_no_answer_and_that_of_an_error_is_left_to_its_status(media: str) -> None:
    page, plain = Answer(b"<html>", media), media.partition(";")[0].strip().lower()

    assert outcome(page) == Outcome(media=media, fault=(PAGE.format(plain), "bad_request"))
    assert outcome(replace(page, status=404)) == Outcome(b"<html>", media)


@pytest.mark.parametrize("encoding", [None, "gzip"])
@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize("media", ["text/plain", EVENTS])
def test_an_answer_may_be_as_long_as_its_bound(
    monkeypatch: pytest.MonkeyPatch, encoding: str | None, status: int, media: str
) -> None:
    monkeypatch.setattr(bounds, "MAX_ANSWER_BYTES", 1_000)
    bodies = [b"\n" * size for size in (1_000, 1_001)]
    fits, exceeds = (
        Answer(body if encoding is None else gzip.compress(body), media, encoding, status) for body in bodies
    )

    assert outcome(fits) == Outcome(bodies[0], media)
    assert outcome(exceeds) == Outcome(media=media, fault=("answered with more than 1,000 bytes", "server"))


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("piece", [1, 7, 100_000])
def test_each_event_may_be_as_long_as_its_bounds(monkeypatch: pytest.MonkeyPatch, end: bytes, piece: int) -> None:
    monkeypatch.setattr(bounds, "MAX_EVENT_BYTES", 40)
    monkeypatch.setattr(bounds, "MAX_EVENT_LINES", 4)
    fine = [b"x" * (41 - len(end)) + end, (b"x" * 9 + end) * 4, (b"x" + end) * 4]

    several = Answer(end.join([*fine, *fine, b""]), EVENTS, piece=piece)
    assert outcome(several) == Outcome(several.body, EVENTS)
    for excess, body in {
        "40 bytes": [b"x" * 41 + end, b"x" * 100, (b"x" * 20 + end) * 3],
        "4 lines": [(b"x" + end) * 5],
    }.items():
        for event in body:
            got = outcome(Answer(fine[0] + end + event, EVENTS, piece=piece))
            assert (got.fault, got.is_closed) == ((f"sent an event of more than {excess}", "server"), True)


def event(value: Any) -> bytes:
    """Return an event of a stream."""
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def chunk(delta: Any) -> dict[str, Any]:
    """Return a piece of an answer."""
    return {"id": "c", "choices": [{"index": 0, "delta": delta}]}


THOUGHT = {"type": "thinking", "thinking": "plan"}
AS_TEXT: list[tuple[Any, Any]] = [
    ({"content": ["a", {"type": "text", "text": "b"}]}, {"content": "ab"}),
    ({"content": [THOUGHT, "a"], "role": "assistant"},
     {"content": "a", "role": "assistant", "reasoning_content": "plan"}),
    ({"content": [], "reasoning_content": "own"}, {"content": "", "reasoning_content": "own"}),
]  # fmt: skip
"""Pieces with lists of parts, and with text instead."""
UNCHANGED = [
    b": ping\n\n", b'event: x\ndata: {"content": []}\n\n', b'data: {"content": [\n\n', b'data: [{"content": []}]\n\n',
    b'id: data: {"choices": [{"delta": {"content": ["a"]}}]}\n\n',
    b'data: {"choices": {"content": []}}\n\n', event(chunk({"content": "a"})),
    event(chunk({"content": "it ends with data: [DONE]"})), b": data: [DONE]\n\n",
]  # fmt: skip


@given(
    st.lists(
        st.sampled_from([*((event(chunk(a)), event(chunk(b))) for a, b in AS_TEXT), *((one, one) for one in UNCHANGED)])
    ),
    st.sampled_from([b"", b"data: [DONE]", b"data:[DONE]\n\n", b"data:  [DONE]\n\n", b"data: [DONE\n\n"]),
    st.sampled_from([1, 5, 1_000]),
)
def test_lists_of_parts_in_a_stream_become_text_and_all_else_stays(
    events: list[tuple[bytes, bytes]], end: bytes, piece: int
) -> None:
    answer = Answer(b"".join(sent for sent, _ in events) + end, EVENTS, piece=piece)

    expected = b"".join(read for _, read in events) + end
    assert outcome(answer) == Outcome(expected, EVENTS, is_over=b"[DONE]" in end)


def test_a_list_of_parts_beside_choices_that_are_none_is_passed_over() -> None:
    delta = {"content": ["a"]}
    odd = [None, 1, {"delta": None}, {"delta": delta}]

    got = outcome(Answer(event({"choices": odd}), EVENTS))

    assert got.body == event({"choices": [*odd[:3], {"delta": {"content": "a"}}]})


FRAME = {"id": "c", "model": "m", "object": "chat.completion"}
CALL = {"id": "a", "function": {"name": "f", "arguments": "{}"}}
WHOLE: dict[str, tuple[dict[str, Any], dict[str, Any], str, Any]] = {
    "text": ({"content": "a"}, {"content": "a"}, "stop", None),
    "parts": ({"content": [THOUGHT, "a"]}, {"content": "a", "reasoning_content": "plan"}, "length", {"n": 1}),
    "calls": ({"tool_calls": [CALL, CALL]}, {"tool_calls": [{**CALL, "index": 0}, {**CALL, "index": 1}]},
              "tool_calls", {"n": 2}),
    "calls of none": ({"content": "a", "tool_calls": None}, {"content": "a", "tool_calls": None}, "", None),
}  # fmt: skip


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("media", [JSON, "Application/JSON; charset=utf-8"])
def test_a_whole_answer_is_the_stream_that_was_wanted(name: str, media: str) -> None:
    message, delta, finish, usage = WHOLE[name]
    value = {**FRAME, "choices": [{"message": message, "finish_reason": finish or None}], "usage": usage}
    piece = {**FRAME, "object": "chat.completion.chunk"}
    choices = [
        [{"index": 0, "delta": delta, "finish_reason": None}],
        [{"index": 0, "delta": {}, "finish_reason": finish or "stop"}],
    ]

    got = outcome(Answer(json.dumps(value).encode(), media))

    events = [*({**piece, "choices": choice} for choice in choices)]
    events += [{**piece, "choices": [], "usage": usage}] if usage else []
    spaced = outcome(Answer(json.dumps(value).encode(), media, request=b'{"stream" :  true}'))
    assert got == spaced == Outcome(b"".join(map(event, events)) + b"data: [DONE]\n\n", EVENTS, is_over=True)


def test_an_error_in_place_of_a_stream_is_an_event_of_it() -> None:
    error = {"error": {"message": "no"}, "choices": []}

    assert outcome(Answer(json.dumps(error).encode(), JSON)) == Outcome(event(error), EVENTS, is_over=True)


@pytest.mark.parametrize(
    "value", [[], 1, {}, {"choices": []}, {"choices": {"a": 1}}, {"choices": [1]}, {"choices": [{"message": "a"}]}]
)
def test_what_is_neither_an_answer_nor_an_error_stays(value: Any) -> None:
    answer = Answer(json.dumps(value).encode(), JSON)

    assert outcome(answer) == Outcome(answer.body, JSON)
    assert outcome(replace(answer, body=b"{")) == Outcome(b"{", JSON)


@pytest.mark.parametrize(
    "changes", [{"request": b'{"stream": false}'}, {"request": b"{}"}, {"status": 400}, {"media": "text/plain"}]
)
def test_a_whole_answer_that_was_wanted_so_or_is_an_error_stays(changes: dict[str, Any]) -> None:
    answer = replace(Answer(json.dumps({"choices": [{"message": {"content": "a"}}]}).encode(), JSON), **changes)

    assert outcome(answer) == Outcome(answer.body, answer.media)
