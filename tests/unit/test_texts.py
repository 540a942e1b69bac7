"""Texts by reference: resolved from what was just written, else from the journal, within a bound."""

import json

import pytest
from pydantic import JsonValue

from engine.core.events import AttemptDone, Delegated
from engine.core.events.task import ChildPlan
from engine.core.records.values import TextRef
from engine.reading.texts import Texts

pytestmark = pytest.mark.anyio


class Journal:
    """Bodies by seq, and which were read."""

    def __init__(self, **bodies: object) -> None:
        self.bodies = {int(key.removeprefix("s")): json.dumps(body).encode() for key, body in bodies.items()}
        self.read: list[int] = []

    async def body(self, seq: int) -> bytes:
        self.read.append(seq)
        return self.bodies[seq]


def done(output: JsonValue) -> AttemptDone:
    return AttemptDone(
        at_ms=1, run_id="r1", task_id="t1", attempt=1, agent_id="a1", output=output, duration_ms=1
    )  # fmt: skip


async def test_short_values_are_themselves() -> None:
    assert await Texts(Journal().body).resolve("short") == "short"
    assert await Texts(Journal().body).resolve(None) is None


async def test_what_was_just_written_is_not_read_again() -> None:
    journal = Journal()
    texts = Texts(journal.body)
    texts.keep(7, done(["a", "list"]), 100)

    assert await texts.resolve(TextRef(seq=7, path="output")) == ["a", "list"]
    assert journal.read == []


async def test_what_is_read_is_read_once() -> None:
    journal = Journal(s3={"output": {"deep": ["x", "y"]}})
    texts = Texts(journal.body)

    assert await texts.resolve(TextRef(seq=3, path="output.deep.1")) == "y"
    assert await texts.resolve(TextRef(seq=3, path="output")) == {"deep": ["x", "y"]}
    assert journal.read == [3]


async def test_an_input_of_a_delegation_is_found_by_its_place() -> None:
    child = ChildPlan(
        task_id="t2", kind="agent", title="", queue="q", worker_id=None, supervisor_id="s1", input={"n": 2}
    )
    event = Delegated(
        at_ms=1, run_id="r1", task_id="t1", attempt=1, agent_id="a1", call_key="k", call_kind="map", children=[child]
    )
    texts = Texts(Journal().body)
    texts.keep(9, event, 100)

    assert await texts.resolve(TextRef(seq=9, path="children.0.input")) == {"n": 2}


async def test_the_oldest_makes_room_for_the_newest() -> None:
    journal = Journal(s1={"output": "first " * 100})
    texts = Texts(journal.body, kept_bytes=5_000)
    texts.keep(1, done("first " * 100), 3_000)
    texts.keep(2, done("second " * 100), 3_000)

    assert await texts.resolve(TextRef(seq=2, path="output")) == "second " * 100
    assert journal.read == []
    assert await texts.resolve(TextRef(seq=1, path="output")) == "first " * 100
    assert journal.read == [1]
