"""Scripted models: their pace, their silence, and failures that come a number of times."""

from collections import Counter

import pytest

from engine.core.records.records import Json
from engine.core.specs.model_spec import ModelSpec
from engine.errors import Unusable
from engine.models.records import Call, Chunk, Message, ModelError, ModelRequest
from engine.models.scripted import Failures, answer, replies_of, scripted_usage

pytestmark = pytest.mark.anyio


def request(replies: list[Json], *messages: Message) -> ModelRequest:
    return ModelRequest(
        name="fake", model=ModelSpec(replies=replies), messages=messages or (Message(role="user", text="go"),)
    )


async def said(asked: ModelRequest, failures: Failures | None = None) -> tuple[str, list[str | float]]:
    """Return the answer, and the pieces with the waits between them."""
    stream: list[str | float] = []

    def hear(chunk: Chunk) -> None:
        stream.append(chunk.text)

    async def sleep(seconds: float) -> None:
        stream.append(seconds)

    return (await answer(asked, hear, sleep, Counter() if failures is None else failures)).text, stream


async def test_a_reply_comes_in_pieces_at_its_pace_and_is_silent_in_their_middle() -> None:
    text = "a" * 24 + "b" * 24 + "c" * 24
    _, stream = await said(request([{"text": text, "delay_s": 2, "every_s": 0.5, "silent_s": 40}]))
    assert stream == [2.0, "a" * 24, 0.5, "b" * 24, 40.5, "c" * 24, 0.5]


async def test_a_failure_with_times_comes_so_often_and_then_the_next_reply_answers() -> None:
    failures: Failures = Counter()
    replies: list[Json] = [{"fail": "server", "times": 2}, {"text": "at last"}, {"text": "and on"}]
    first = request(replies)
    for _ in range(2):
        with pytest.raises(ModelError) as error:
            await said(first, failures)
        assert error.value.error_type == "server"
    assert (await said(first, failures))[0] == "at last"

    answered = (*first.messages, Message(role="assistant", calls=(Call(id="1", name="look"),)))
    later = request(replies, *answered, Message(role="tool", text="seen", call_id="1"))
    assert (await said(later, failures))[0] == "and on"
    assert (await said(later))[0] == "and on"  # also after a restart, which forgets what failed
    assert scripted_usage(later, Counter()).tokens_out == len("and on") // 4 + 1


def test_times_without_a_failure_is_refused_with_its_place() -> None:
    with pytest.raises(Unusable, match=r"replies.*'times' counts failures: say 'fail' too"):
        replies_of("fake", ModelSpec(replies=[{"text": "so", "times": 2}]))
