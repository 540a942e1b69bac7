"""What a browser may say: seven kinds of messages, whatever else it sends is refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.web.protocol import Drawn, Focused, InvalidMessage, Resized, ServerPing, Size, Typed, message_of


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ('["stdin","\\u001b[B"]', Typed("\x1b[B")),
        ('["resize",{"width":120,"height":40}]', Resized(Size(120, 40))),
        ('["resize",{"width":-1,"height":1000000000}]', Resized(Size(20, 200))),
        ('["resize",{"width":1000000000,"height":0}]', Resized(Size(500, 5))),
        ('["ping","1795379086406"]', ServerPing("1795379086406")),
        (json.dumps(["ping", "x" * 1000]), ServerPing("x" * 40)),
        ('["focus"]', Focused(True)),
        ('["blur"]', Focused(False)),
        ('["drawn",16384]', Drawn(16384)),
    ],
)
def test_what_the_page_says_is_understood(frame: str, message: object) -> None:
    assert message_of(frame) == message


@pytest.mark.parametrize(
    "frame",
    [
        "", "x", "{}", "[]", "null", "5", '"stdin"', '["stdin"]', '["stdin",', '["stdin",5]', '["resize",{}]',
        '["resize",[1,2]]', '["resize",{"width":"9","height":9}]', '["resize",{"width":1e9,"height":9}]',
        '["resize",{"width":NaN,"height":1}]', '["resize",{"width":true,"height":1}]', '["exec","id"]', '["quit"]',
        '["uploaded","/etc/passwd"]', "[" * 100_000, '[["stdin"],"x"]', "\x00", '{"a":1}', '["focus","x"]',
        '["drawn",-1]', '["drawn",1.5]', '["drawn"]',
        '["resize",{"width":' + "9" * 5_000 + ',"height":1}]',
    ],
    ids=range(28),
)  # fmt: skip
def test_what_it_would_not_say_is_refused(frame: str) -> None:
    with pytest.raises(InvalidMessage):
        message_of(frame)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
WORDS = st.sampled_from(["stdin", "resize", "ping", "focus", "blur", "drawn", "quit"])


@given(st.text() | JSON.map(json.dumps) | st.tuples(WORDS, JSON).map(json.dumps))
def test_anything_is_a_message_or_is_refused(frame: str) -> None:
    try:
        found = message_of(frame)
    except InvalidMessage:
        return
    if isinstance(found, Resized):
        assert 20 <= found.size.width <= 500
        assert 5 <= found.size.height <= 200
