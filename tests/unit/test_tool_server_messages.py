"""What tool servers send is taken apart before the package reads it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.runtimes.toolbox.mcp_answers import answered_id, error_response, parse
from engine.runtimes.toolbox.mcp_http import _events, _json
from engine.runtimes.toolbox.mcp_records import Fault

pytestmark = pytest.mark.anyio

ENDS = ["\n\n", "\r\n\r\n", "\r\r"]
RESULT = '{"jsonrpc":"2.0","id":7,"result":{"content":[]}}'


class Body:
    """The body of a response, which arrives in pieces."""

    def __init__(self, body: str, size: int, error: Exception | None = None) -> None:
        data = body.encode()
        self.stream = self
        self.pieces = [data[at : at + size] for at in range(0, len(data), size)]
        self.error = error
        self.is_closed = False

    async def __aiter__(self) -> Any:
        for piece in self.pieces:
            yield piece
        if self.error is not None:
            raise self.error

    async def aclose(self) -> None:
        self.is_closed = True


async def read(body: Body, request_id: int | None) -> str:
    """Return what the package gets of a stream of events."""
    events = _events(body, request_id)
    data = b"".join([piece async for piece in events])
    await events.aclose()
    assert body.is_closed
    return data.decode()


def fault(code: Fault, reason: str) -> str:
    """Return the event of an error in place of an answer."""
    return f"\n\nevent: message\ndata: {_json(error_response(7, code, reason))}\n\n"


# Not the events themselves: the package they are made with would be loaded by each worker that collects.
ENDED = (Fault.LOST, "the server ended its answer before the result")
BROKEN = (Fault.LOST, "the server ended before its answer was complete")
LINES = [
    (["event: ping", "data: no json"], "event: ping\ndata: no json"),
    ([": comment"], ": comment"),
    (["data:"], "data:"),
    (["data: " + RESULT], f"event: message\ndata: {RESULT}"),
    (["event:message", "data:" + RESULT[:17], "data: " + RESULT[17:]], f"event: message\ndata: {RESULT}"),
]
"""Events as they are sent, and as the package reads them."""


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("size", [1, 3, 60, 1_000])
@pytest.mark.parametrize(("lines", "event"), LINES, ids=range(len(LINES)))
async def test_each_event_is_read_however_its_lines_end(end: str, size: int, lines: list[str], event: str) -> None:
    newline = end[: len(end) // 2]
    sent = newline.join(lines) + end
    same = event.replace("\n", newline) + end if "message" not in event else event + "\n\n"

    short = (
        f":a{end}data: {{{end}"  # the second is passed on where no request is answered, and is an error where one is
    )
    ended = await read(Body(sent * 2 + short, size), 7)
    assert ended.startswith(f"{same * 2}:a{end}\n\nevent: message\ndata: ")
    assert ended.count("it is not JSON") == 1
    assert await read(Body(sent * 2, size), 7) == same * 2 + fault(*ENDED)
    assert await read(Body(sent * 2 + short, size), None) == sent * 2 + short


async def test_a_stream_with_ids_is_resumed_by_the_package() -> None:
    import httpx2

    sent = f"id: 3\ndata: {RESULT}\n\n"
    lost = httpx2.ReadError("gone")

    assert await read(Body(sent, 5), 7) == f"id: 3\nevent: message\ndata: {RESULT}\n\n"
    for request_id, body in ((7, sent), (None, "data: x\n\n")):
        with pytest.raises(httpx2.ReadError):
            await read(Body(body, 5, lost), request_id)
    assert await read(Body("data:\n\n", 5, lost), 7) == "data:\n\n" + fault(*BROKEN)


async def test_an_event_that_cannot_be_read_is_an_error_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.runtimes.toolbox.mcp_answers.MAX_LINE_BYTES", 1024 * 1024)
    assert await read(Body(f"data: {RESULT}", 4), 7) == f"event: message\ndata: {RESULT}\n\n{fault(*ENDED)}"
    unreadable = await read(Body("data: {\n\ndata: {}\n\n", 4), 7)

    assert unreadable.startswith(fault(Fault.UNUSABLE, "it is not JSON: ")[:60])
    assert unreadable.count("event: message") == 1
    large = "x" * (1024 * 1024 + 1)
    assert await read(Body(large, 100_000), 7) == fault(Fault.UNUSABLE, "it is too large: more than 1 MB")
    assert await read(Body(large, 100_000), None) == ""


@given(st.sampled_from(["", " ", "\n"]), st.integers(0, 10**18 - 1), st.booleans())
def test_the_request_of_an_unreadable_answer_is_found_outside_of_its_result(gap: str, id: int, is_first: bool) -> None:
    own, body = f'"id"{gap}:{gap}{id}', '"result": {"a": {"id": 5}, "b": {"id": 5}}' + gap
    parts = [own, body] if is_first else [body, own]
    text = (gap + "{" + f"{gap},".join(parts) + gap + "}" + gap).encode()

    assert answered_id(text, text) == id
    assert answered_id(text[:40], text[-40:]) == id
    for other in (
        f'[{{"id": {id}}}]',
        f"{{{body}}}",
        f'{{"id": "{id}", {body}}}',
        f'x{{"id": {id}}}',
        f'{{"id": {id}}}x',
    ):
        assert answered_id(other.encode(), other.encode()) is None


async def test_what_servers_leave_out_of_their_answers_is_completed() -> None:
    tools = '[{"name": "a", "outputSchema": {}, "inputSchema": {"type": "array", "x": 1}}, 3, {"name": "b"}]'
    message: Any = await parse(b'{"jsonrpc": "2.0", "id": 7, "result": {"tools": %s}}' % tools.encode())
    structured: Any = await parse(b'{"jsonrpc": "2.0", "id": 7, "result": {"structuredContent": {"a": 1}}}')
    plain: Any = await parse(b'{"jsonrpc": "2.0", "id": 7, "result": {"structuredContent": null}}')

    assert message.result == {"tools": [
        {"name": "a", "inputSchema": {"type": "object", "x": 1}}, {"name": "b", "inputSchema": {"type": "object"}},
    ]}  # fmt: skip
    assert structured.result == {"structuredContent": {"a": 1}, "content": []}
    assert plain.result == {"structuredContent": None}
