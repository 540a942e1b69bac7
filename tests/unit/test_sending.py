"""What is sent to providers: a conversation that strict ones take, whatever models have written."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from engine.models.records import Call, Message
from engine.models.sending import sent
from tests.strict_history import fault_of

CALLS = st.builds(
    Call,
    id=st.sampled_from(["", "a", "a_2", "call", "call_0"]),
    name=st.sampled_from(["", "weather", "functions.weather:0", " ", "tides" * 20]),
    arguments=st.sampled_from([{"city": "Oslo"}, None, [1]]),
)
TURNS = st.lists(st.tuples(st.text("ab"), st.lists(CALLS, max_size=4)), max_size=4)


def conversation(turns: list[tuple[str, list[Call]]]) -> list[Message]:
    """Return the messages of turns: an answer, the result of each of its calls, and a word of the user."""
    messages = [Message(role="user", text="go")]
    for place, (text, calls) in enumerate(turns):
        messages.append(Message(role="assistant", text=text, calls=tuple(calls)))
        results = [f"result {place} {number}" for number in range(len(calls))]
        messages += [
            Message(role="tool", call_id=call.id, text=result) for call, result in zip(calls, results, strict=True)
        ]
        messages.append(Message(role="user", text="go on"))
    return messages


@given(TURNS)
def test_every_conversation_is_sent_in_a_form_that_strict_providers_take(turns: list[Any]) -> None:
    messages = conversation(turns)

    form = sent(messages, "openai")

    assert fault_of(form) is None
    told = [str(one["content"]).removeprefix("[result] ") for one in form if one["role"] in ("tool", "user")]
    assert sorted(told) == sorted(one.text for one in messages if one.role != "assistant")


@given(TURNS)
def test_results_stand_under_the_calls_that_they_are_of(turns: list[Any]) -> None:
    form = sent(conversation(turns), "openai")

    place = 0
    for number, (_, calls) in enumerate(turns):
        place = next(at for at in range(place, len(form)) if form[at]["role"] == "assistant")
        ids = [call["id"] for call in form[place].get("tool_calls", ())]
        results = {one["tool_call_id"]: one["content"] for one in form[place + 1 :][: len(ids)]}
        named = [at for at, call in enumerate(calls) if call.name]
        assert [results[id] for id in ids] == [f"result {number} {at}" for at in named]
        place += 1
