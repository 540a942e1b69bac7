"""Events whose values are large take little memory, and fold to the same state."""

import json
from typing import Any

import pytest

from dashboard.views.abridged import CHARACTERS, LARGE_BYTES
from dashboard.views.event_log import Entry
from engine.core.commands import Submit
from engine.core.encoding.codec import decode_events, encode_event, encode_state
from engine.core.events import AttemptDone, Event
from engine.core.fold import fold
from engine.core.state import State
from store.journals.records import Record
from tests.story import attempt, submitted
from tests.world import World, agent, team_world

LARGE = [
    "x" * 500_000,
    ["y" * 1_000] * 300,
    {f"name {at}": {"texts": ["z" * 50] * 20} for at in range(200)},
    list(range(30_000)),
    {"k" * 300_000: 1},
]


def entry(seq: int, event: Event) -> Entry:
    kind, body = event.type, encode_event(event)
    (read,) = decode_events([(seq, kind, body)])
    return Entry.of(Record(seq, event.at_ms, kind, body, None, None, None), read)


def busy(value: Any) -> World:
    """Return a team whose requests, delegated work and outputs are large."""
    work = team_world(agent("chief"), agent("ada"), participants=["chief"])
    work.order(Submit(request=value))
    work.ask(attempt(work, "chief"), "ada", [value])
    work.record(attempt(work, "ada"), "look", value)
    work.succeed(attempt(work, "ada"), value)
    work.succeed(attempt(work, "chief"), value)
    work.settle()
    return work


@pytest.mark.parametrize("value", LARGE)
def test_large_values_are_kept_by_their_beginning_and_fold_to_the_same_state(value: Any) -> None:
    work = busy(value)
    entries = [entry(seq, event) for seq, event in enumerate(work.journal, 1)]
    state = State()
    fold(state, [one.event for one in entries])

    assert encode_state(state) == encode_state(work.state)
    assert sum(len(encode_event(one)) > LARGE_BYTES for one in work.journal) >= 5
    assert max(len(encode_event(one.event)) for one in entries) < 4 * CHARACTERS


def test_an_abridged_text_says_how_long_it_is_and_what_is_not_large_is_whole() -> None:
    work = team_world(agent("ada"))
    submitted(work)
    work.record(attempt(work, "ada"), "look", "w" * (LARGE_BYTES // 2))
    work.succeed(attempt(work, "ada"), "x" * 5_000_000)
    whole = {one.type: one for one in work.journal}
    read = {kind: entry(1, one).event for kind, one in whole.items()}

    done = read["attempt_done"]
    assert isinstance(done, AttemptDone)
    assert done.output == "x" * CHARACTERS + "… (5,000,000 characters)"
    told = {kind: (json.loads(encode_event(read[kind])), json.loads(encode_event(whole[kind]))) for kind in whole}
    assert [kind for kind, (one, other) in told.items() if one != other] == ["attempt_done"]
