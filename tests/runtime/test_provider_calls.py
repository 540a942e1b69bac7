"""Requests to a provider: through the real process, over HTTP, to a server on this computer."""

import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import AsyncIterator, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgspec import structs

from engine.core.specs.model_spec import ModelSpec, Price
from engine.errors import Unusable
from engine.models.child_messages import Look, line
from engine.models.records import Call, Chunk, Message, ModelAnswer, ModelError, ModelRequest, ToolSchema
from engine.models.service import ModelService
from tests.model_server import ModelServer, Say, model_server
from tests.patience import PATIENCE_S
from tests.runtime.odd_habits import ONE_EVENT, gzipped

pytestmark = pytest.mark.anyio
SILENT_S = 5.0
"""Long enough for what a server does say to come first on a busy machine, too."""
PRICE = Price(in_usd=Decimal(1), out_usd=Decimal(2), cached_usd=Decimal("0.5"))
KEY = "sk-planted-0123456789abcdef"


@pytest.fixture(scope="module")
def served() -> Iterator[ModelServer]:
    """One server for all tests of this file."""
    with model_server() as server:
        yield server


@pytest.fixture
def server(served: ModelServer) -> ModelServer:
    """The server, which has seen nothing and has nothing to say."""
    served.forget()
    return served


@pytest.fixture(scope="module")
async def models() -> AsyncIterator[ModelService]:
    """One service, and so one process, for all tests of this file: starting it costs a second."""
    async with anyio.create_task_group() as group:
        service = ModelService(group.start_soon, trusted)
        yield service
        await service.close()
        group.cancel_scope.cancel()


def request(server: ModelServer, *messages: Message, tools: tuple[ToolSchema, ...] = (), **spec: Any) -> ModelRequest:
    """A request to a model of the server."""
    model = ModelSpec(model="openai/tested", base_url=server.url, **spec)
    said = messages or (Message(role="user", text="hello there"),)
    return ModelRequest(name="fast", model=model, messages=said, tools=tools)


async def trusted(reference: str) -> None:
    """Take every address for one that may be reached."""


async def sleep(seconds: float) -> None:
    """Wait, as `Attempt.sleep` does."""
    await anyio.sleep(seconds)


async def ask(models: ModelService, asked: ModelRequest, chunks: list[Chunk] | None = None) -> ModelAnswer:
    """What a request comes to."""
    with anyio.fail_after(PATIENCE_S):
        return await models.ask(asked, (chunks if chunks is not None else []).append, sleep)


async def failure(models: ModelService, asked: ModelRequest) -> ModelError:
    """How a request fails."""
    with pytest.raises(ModelError) as raised:
        await ask(models, asked)
    return raised.value


async def test_an_answer_streams_piece_by_piece_and_comes_whole(models: ModelService, server: ModelServer) -> None:
    server.say(Say("All is well in Lisbon.", thinking="Let me see.", tokens=(120, 30), cached=100))
    chunks: list[Chunk] = []

    answer = await ask(models, request(server, price=PRICE), chunks)

    assert answer.text == "All is well in Lisbon."
    assert (answer.finish, answer.model, answer.thinking) == ("stop", "tested", "Let me see.")
    assert "".join(chunk.text for chunk in chunks if chunk.kind == "text") == answer.text
    assert "".join(chunk.text for chunk in chunks if chunk.kind == "thought") == "Let me see."
    assert (answer.usage.tokens_in, answer.usage.tokens_out, answer.usage.tokens_cached) == (120, 30, 100)
    assert str(answer.usage.cost_usd) == "0.00013"
    assert len(server.seen) == 1


async def test_parallel_calls_are_put_together_and_one_without_an_object_is_named(
    models: ModelService, server: ModelServer
) -> None:
    server.say(Say("I ask two.", calls=[("delegate", {"worker": "scout", "n": [1, 2]}), ("delegate", '{"worker": "a')]))
    schema = ToolSchema(name="delegate", description="Hand over", parameters={"type": "object", "properties": {}})

    answer = await ask(models, request(server, tools=(schema,)))

    good, bad = answer.calls
    assert (answer.finish, good.name, good.arguments) == ("calls", "delegate", {"worker": "scout", "n": [1, 2]})
    assert (bad.arguments, bad.invalid) == (None, '{"worker": "a')
    assert server.seen[0].body["tools"][0]["function"]["name"] == "delegate"


async def test_a_conversation_is_sent_as_it_was_with_calls_results_and_own_thinking(
    models: ModelService, server: ModelServer
) -> None:
    thought = {"thinking": "I need the tide.", "provider": f"openai@{server.url}"}
    called = Call(id="c1", name="tides", arguments={"at": "Lisbon"})
    other = Call(id="c2", name="tides", invalid="{")

    await ask(
        models,
        request(
            server,
            Message(role="system", text="Be brief."),
            Message(role="user", text="When?"),
            Message(role="assistant", text="", calls=(called,), **thought),
            Message(role="tool", call_id="c1", text="at six"),
            Message(role="assistant", calls=(other,), thinking="Elsewhere.", provider="anthropic"),
            Message(role="tool", call_id="c2", text="not an object"),
            tools=(ToolSchema("tides", "When.", {"type": "object"}),),
        ),
    )

    sent = server.seen[0].body["messages"]
    assert [one["role"] for one in sent] == ["system", "user", "assistant", "tool", "assistant", "tool"]
    assert sent[2]["tool_calls"][0]["function"] == {"name": "tides", "arguments": '{"at": "Lisbon"}'}
    assert (sent[2]["reasoning_content"], "reasoning_content" in sent[4]) == ("I need the tide.", False)
    assert sent[4]["tool_calls"][0]["function"]["arguments"] == "{}"
    assert (sent[3]["tool_call_id"], sent[3]["content"]) == ("c1", "at six")


async def test_calls_of_earlier_runs_are_told_in_words_where_a_request_has_no_tools(
    models: ModelService, server: ModelServer
) -> None:
    called = Call(id="c1", name="tides", arguments={"at": "Lisbon"})

    await ask(
        models,
        request(
            server,
            Message(role="user", text="When?"),
            Message(role="assistant", text="I look.", calls=(called,)),
            Message(role="tool", call_id="c1", text="at six"),
            Message(role="user", text="And now?"),
        ),
    )

    sent = server.seen[0].body["messages"]
    assert [one["role"] for one in sent] == ["user", "assistant", "user", "user"]
    assert sent[1]["content"] == 'I look.\n[calls tides {"at": "Lisbon"}]'
    assert sent[2]["content"] == "[result] at six"


@pytest.mark.parametrize(
    ("say", "error_type", "retryable", "retry_after_s"),
    [
        (Say(status=429, retry_after_s=2), "rate_limit", True, 2.0),
        (Say(status=429, message="You exceeded your current quota"), "rate_limit", False, None),
        (Say(status=500), "server", True, None),
        (Say(status=503, retry_after_s=7), "server", True, 7.0),
        (Say(status=401), "auth", False, None),
        (Say(status=403), "auth", False, None),
        (Say(status=404), "bad_request", False, None),
        (Say(status=400), "bad_request", False, None),
        (Say(status=400, message="This model's maximum context length is 9 tokens"), "context", False, None),
        (Say(junk=b"<html>not a model</html>"), "cut", True, None),
        (Say(junk=b"data: {not json\n\n"), "cut", True, None),
    ],
)
async def test_a_failure_is_one_request_one_line_and_says_whether_to_ask_again(
    models: ModelService, server: ModelServer, say: Say, error_type: str, retryable: bool, retry_after_s: float | None
) -> None:
    server.say(say)

    error = await failure(models, request(server))

    assert (error.error_type, error.retryable, error.retry_after_s) == (error_type, retryable, retry_after_s)
    assert str(error).startswith("fast: ")
    assert "\n" not in str(error)
    assert "litellm" not in str(error).lower()
    assert len(server.seen) == 1


async def test_a_stream_that_is_cut_keeps_what_came_and_counts_about_what_it_used(
    models: ModelService, server: ModelServer
) -> None:
    server.say(Say("A long answer that will be cut in its middle.", cut_after=4))

    error = await failure(models, request(server, price=PRICE))

    assert (error.error_type, error.retryable, error.partial) == ("cut", True, "A long answer that will ")
    assert (error.usage.tokens_in, error.usage.tokens_out) == (3, 6)
    assert error.usage.cost_usd == Decimal("0.000015")
    assert "about 9 tokens" in str(error)


@pytest.mark.parametrize("limit", ["timeout_s", "idle_s"])
async def test_a_server_that_says_nothing_more_is_hung_up_on_in_time(
    models: ModelService, server: ModelServer, limit: str
) -> None:
    server.say(Say("A long answer that never ends.", stall_after=2))
    limits: dict[str, Any] = {limit: SILENT_S}

    error = await failure(models, request(server, **limits))

    assert (error.error_type, error.retryable, error.partial) == ("timeout", True, "A long a")
    assert f"{SILENT_S:g} s" in str(error)
    assert server.seen[0].hung_up.wait(PATIENCE_S)


async def test_a_cancelled_request_hangs_up_at_once(models: ModelService, server: ModelServer) -> None:
    server.say(Say("A long answer that never ends.", stall_after=2))
    began = anyio.Event()

    async with anyio.create_task_group() as group:
        group.start_soon(models.ask, request(server), lambda chunk: began.set(), sleep)
        with anyio.fail_after(PATIENCE_S):
            await began.wait()
        group.cancel_scope.cancel()

    assert await anyio.to_thread.run_sync(server.seen[0].hung_up.wait, PATIENCE_S)
    assert (await ask(models, request(server))).text == "hello there"


async def test_a_server_that_is_not_there_is_a_connection_that_failed(models: ModelService) -> None:
    model = ModelSpec(model="openai/tested", base_url="http://127.0.0.1:9/v1")

    error = await failure(models, ModelRequest(name="fast", model=model, messages=(Message(role="user", text="hi"),)))

    assert (error.error_type, error.retryable) == ("connection", True)


async def test_a_dead_process_fails_what_is_under_way_and_the_next_request_starts_another(
    models: ModelService, server: ModelServer
) -> None:
    server.say(Say("A long answer that never ends.", stall_after=2))
    killed: set[int] = set()

    def kill(chunk: Chunk) -> None:
        for pid in children() - killed:
            killed.add(pid)
            os.kill(pid, signal.SIGKILL)

    with pytest.raises(ModelError) as raised:
        await models.ask(request(server), kill, sleep)

    assert (raised.value.error_type, raised.value.retryable) == ("connection", True)
    assert "killed by SIGKILL" in str(raised.value)
    assert (await ask(models, request(server))).text == "hello there"
    assert len(killed) == 1
    assert children().isdisjoint(killed)


async def test_halves_of_characters_are_put_together_and_one_without_the_other_is_replaced(
    models: ModelService, server: ModelServer
) -> None:
    server.say(Say("a\ud83d\ude00b\ud83dc\ude00", thinking="\udc00", piece=2, calls=[("d\ud800", '{"a": "\ud800"}')]))
    chunks: list[Chunk] = []

    answer = await ask(models, request(server), chunks)

    assert answer.text == "a\U0001f600b\ufffdc\ufffd"
    assert "".join(chunk.text for chunk in chunks if chunk.kind == "text") == answer.text
    assert answer.thinking == "\ufffd"
    assert answer.calls == (Call(id="call_0", name="d\ufffd", arguments={"a": "\ufffd"}),)
    assert (await ask(models, request(server))).text == "hello there"


async def test_counts_that_cannot_be_are_none(models: ModelService, server: ModelServer) -> None:
    server.say(Say("odd", tokens=(-5, 10**30), cached=-1))

    answer = await ask(models, request(server, price=PRICE))

    assert (answer.text, answer.usage.tokens_in, answer.usage.tokens_out) == ("odd", 0, 0)


def test_a_process_that_can_tell_nobody_ends() -> None:
    command = [sys.executable, "-P", "-m", "engine.models.child"]

    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.close()
        process.stdin.write(line(Look(id=1, model="openai/tested")))
        process.stdin.flush()

        assert process.wait(PATIENCE_S) == 1


async def test_the_same_piece_a_hundred_times_is_no_error(models: ModelService, server: ModelServer) -> None:
    server.say(Say("-" * 1_200))

    assert (await ask(models, request(server))).text == "-" * 1_200


async def test_parameters_are_handed_on_and_addresses_and_headers_among_them_refused(
    models: ModelService, server: ModelServer
) -> None:
    good = structs.replace(request(server), params={"temperature": 0.5, "top_k": 4})
    bad = [structs.replace(request(server), params={name: "x"}) for name in ("api_base", "extra_headers", "api_key")]

    await ask(models, good)
    errors = [await failure(models, one) for one in bad]

    assert (server.seen[0].body["temperature"], server.seen[0].body["top_k"]) == (0.5, 4)
    assert len(server.seen) == 1
    assert [error.error_type for error in errors] == ["bad_request"] * 3
    assert str(errors[0]).startswith("fast: openai takes no parameter 'api_base'; ")


# Keys


async def test_without_a_key_one_line_names_the_variable(models: ModelService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    said = (Message(role="user", text="hi"),)

    own = await failure(models, ModelRequest(name="a", model=ModelSpec(model="openai/gpt-4o-mini"), messages=said))
    named = ModelSpec(model="openai/gpt-4o-mini", key_env="TEAM_KEY")
    other = await failure(models, ModelRequest(name="b", model=named, messages=said))

    assert str(own) == "a: no key: set the environment variable OPENAI_API_KEY where the engine runs"
    assert str(other) == "b: no key: set the environment variable TEAM_KEY where the engine runs"
    assert (own.error_type, own.retryable) == ("auth", False)


async def test_an_address_that_is_not_trusted_is_not_reached(server: ModelServer) -> None:
    async def refuse(reference: str) -> None:
        raise Unusable(f"{reference!r} is not trusted")

    async with anyio.create_task_group() as group:
        error = await failure(ModelService(group.start_soon, refuse), request(server, key_env="TEAM_KEY"))

    assert str(error) == f"fast: 'net:{server.url} [env TEAM_KEY]' is not trusted"
    assert not server.seen


async def test_a_model_that_nobody_knows_is_refused_in_one_line(models: ModelService) -> None:
    said = (Message(role="user", text="hi"),)

    error = await failure(models, ModelRequest(name="m", model=ModelSpec(model="nosuchthing"), messages=said))

    assert str(error).startswith("m: no model provider is known for 'nosuchthing'; write it as provider/model")
    assert (error.error_type, error.retryable) == ("bad_request", False)


async def test_another_address_gets_the_key_that_is_named_for_it_and_no_other(
    models: ModelService, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("TEAM_KEY", "team-1234")

    await ask(models, request(server))
    await ask(models, request(server, key_env="TEAM_KEY"))

    assert [seen.headers["Authorization"] for seen in server.seen] == ["Bearer none", "Bearer team-1234"]


async def test_a_key_that_a_provider_repeats_is_in_no_error_and_no_environment(
    models: ModelService, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEAM_KEY", KEY)
    server.say(Say(status=401, message=f"Incorrect API key provided: {KEY}. Header was Bearer {KEY[:20]}"))

    error = await failure(models, request(server, key_env="TEAM_KEY"))

    told = "".join(traceback.format_exception(error))
    assert KEY not in told
    assert KEY[:20] not in told
    assert "Incorrect API key provided: [key]" in str(error)
    assert environments()
    assert all(KEY.encode() not in one for one in environments())


def children() -> set[int]:
    """The processes of this one that talk to providers."""
    found = set()
    for pid in Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split():
        if b"engine.models.child" in Path(f"/proc/{pid}/cmdline").read_bytes():
            found.add(int(pid))
    return found


def environments() -> list[bytes]:
    """What those processes were started with."""
    return [Path(f"/proc/{pid}/environ").read_bytes() for pid in children()]


async def test_a_very_long_answer_takes_time_for_its_length_alone(models: ModelService, server: ModelServer) -> None:
    server.say(Say("tide " * 6_000_000, piece=1_000_000))

    began_s = time.process_time()
    answer = await ask(models, request(server))

    assert len(answer.text) == 30_000_000
    assert time.process_time() - began_s < 3


async def test_an_answer_of_many_small_pieces_leaves_others_their_turn(
    models: ModelService, server: ModelServer
) -> None:
    server.by(lambda body: MANY if body["messages"][-1]["content"] == "many" else Say("fine"))
    pieces, began = [0], anyio.Event()

    def count(chunk: Chunk) -> None:
        pieces[0] += len(chunk.text)
        began.set()

    async with anyio.create_task_group() as group:
        group.start_soon(models.ask, request(server, Message(role="user", text="many")), count, sleep)
        with anyio.fail_after(PATIENCE_S):
            await began.wait()
        before = pieces[0]
        answer = await ask(models, request(server))
        group.cancel_scope.cancel()

    assert answer.text == "fine"
    # Far from all of them, which take the process a minute.
    assert pieces[0] - before < 20_000


MANY = gzipped(ONE_EVENT * 150_000)
"""An answer of two hundred kilobytes, that is thirty million bytes."""
