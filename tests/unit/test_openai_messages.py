"""What is sent to providers: a conversation that strict ones take, whatever models have written."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from engine.core.records.records import JsonValue
from engine.models.openai_messages import to_openai_messages, to_openai_tools
from engine.models.records import Call, Message, ToolSchema
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

    form = to_openai_messages(messages, "openai")

    assert fault_of(form) is None
    told = [str(one["content"]).removeprefix("[result] ") for one in form if one["role"] in ("tool", "user")]
    assert sorted(told) == sorted(one.text for one in messages if one.role != "assistant")


@given(TURNS)
def test_results_stand_under_the_calls_that_they_are_of(turns: list[Any]) -> None:
    form = to_openai_messages(conversation(turns), "openai")

    place = 0
    for number, (_, calls) in enumerate(turns):
        place = next(at for at in range(place, len(form)) if form[at]["role"] == "assistant")
        ids = [call["id"] for call in form[place].get("tool_calls", ())]
        results = {one["tool_call_id"]: one["content"] for one in form[place + 1 :][: len(ids)]}
        named = [at for at, call in enumerate(calls) if call.name]
        assert [results[id] for id in ids] == [f"result {number} {at}" for at in named]
        place += 1


def function(id: str, name: str, arguments: str) -> dict[str, Any]:
    """Return a call as it is sent."""
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


BLOCKS: JsonValue = [{"type": "thinking", "thinking": "plan", "signature": "s"}]
OSLO: JsonValue = {"city": "Tromsø"}
ASKED: tuple[Message, ...] = (
    Message(role="system", text="be brief"),
    Message(role="user", text="go"),
    Message(
        role="assistant",
        text="so",
        calls=(Call("a", "", OSLO), Call("b", "w.x" * 30, OSLO), Call("c", "w", None, "[")),
        thinking="plan",
        provider="openai",
    ),
    Message(role="tool", call_id="a", text="ra"),
    Message(role="tool", call_id="b", text="rb"),
    Message(role="tool", call_id="c", text="rc"),
    Message(role="assistant", calls=(Call("b", "w", OSLO),), thinking=BLOCKS, provider="openai"),
    Message(role="tool", call_id="b", text="rb2"),
    Message(role="tool", call_id="gone", text="rg"),
    Message(role="assistant", text="done", thinking="end", provider="openai"),
    Message(role="assistant", text="done", thinking=BLOCKS, provider="openai"),
)


def test_a_conversation_is_sent_with_its_calls_and_the_thoughts_of_its_provider() -> None:
    arguments = '{"city": "Tromsø"}'
    form: list[dict[str, Any]] = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": f"so\n[calls  {arguments}]",
            "tool_calls": [function("b", ("w_x" * 30)[:64], arguments), function("c", "w", "{}")],
            "reasoning_content": "plan",
        },
        {"role": "tool", "tool_call_id": "b", "content": "rb"},
        {"role": "tool", "tool_call_id": "c", "content": "rc"},
        {"role": "user", "content": "[result] ra"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [function("b_2", "w", arguments)],
            "thinking_blocks": BLOCKS,
        },
        {"role": "tool", "tool_call_id": "b_2", "content": "rb2"},
        {"role": "tool", "tool_call_id": "gone", "content": "rg"},
        {"role": "assistant", "content": "done"},
        {"role": "assistant", "content": "done", "thinking_blocks": BLOCKS},
    ]

    assert to_openai_messages(ASKED, "openai") == form
    thoughtless = [
        {key: value for key, value in one.items() if key not in ("reasoning_content", "thinking_blocks")}
        for one in form
    ]
    assert to_openai_messages(ASKED, "anthropic") == thoughtless


def test_without_tools_calls_and_results_are_sent_in_words() -> None:
    arguments = '{"city": "Tromsø"}'
    said = f"so\n[calls  {arguments}]\n[calls {'w.x' * 30} {arguments}]\n[calls w null]"

    form = to_openai_messages(ASKED, "openai", with_tools=False)

    assert [(one.pop("role"), one.pop("content")) for one in form] == [
        ("system", "be brief"), ("user", "go"), ("assistant", said), ("user", "[result] ra"), ("user", "[result] rb"),
        ("user", "[result] rc"), ("assistant", f"[calls w {arguments}]"), ("user", "[result] rb2"),
        ("user", "[result] rg"), ("assistant", "done"), ("assistant", "done"),
    ]  # fmt: skip
    assert form == [{}] * 10 + [{"thinking_blocks": BLOCKS}]


def test_a_tool_is_sent_with_all_that_is_known_of_it() -> None:
    tool = ToolSchema("weather", "Tell it.", {"type": "object"})

    function = {"name": "weather", "description": "Tell it.", "parameters": {"type": "object"}}
    assert to_openai_tools([tool]) == [{"type": "function", "function": function}]
