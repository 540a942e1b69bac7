"""Laws of standing permissions: a call goes on without a question only by one that is in force for it."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.core.events import GrantGiven
from engine.core.queries.people.grants import AskedCall, find_grant, grant_from
from engine.core.state import State
from tests.depth import examples

values = st.sampled_from([1, 1.0, True, "1", None, [1], {"a": 1, "b": 2}, {"b": 2, "a": 1}])
arguments = st.dictionaries(st.sampled_from(["path", "text"]), values, max_size=2)
SCOPES: dict[str, dict[str, Any]] = {
    "always": {},
    "task": {"scope_id": "t1"},
    "run": {"scope_id": "r1"},
    "until": {"until_ms": 1_000},
}


@st.composite
def given_grants(draw: st.DrawFn) -> GrantGiven:
    scope: Any = draw(st.sampled_from([*SCOPES]))
    return GrantGiven(
        grant_id=f"g{draw(st.integers(1, 99))}",
        agent_id=draw(st.sampled_from(["a1", "a2"])),
        generation=draw(st.integers(1, 2)),
        tool=draw(st.sampled_from(["send", "drop"])),
        allows=draw(st.booleans()),
        scope=scope,
        where={name: json.dumps(value, sort_keys=True) for name, value in draw(arguments).items()},
        **SCOPES[scope],
    )


@settings(max_examples=examples(150))
@given(st.data())
def test_a_call_is_allowed_without_a_question_only_by_a_grant_in_force(data: st.DataObject) -> None:
    grants = data.draw(st.lists(given_grants(), max_size=4, unique_by=lambda grant: grant.grant_id))
    task, run = data.draw(st.sampled_from(["t1", "t2"])), data.draw(st.sampled_from(["r1", "r2"]))
    passed: Any = data.draw(arguments)
    now_ms, event_ms = data.draw(st.sampled_from([0, 999, 1_000, 1_001])), data.draw(st.sampled_from([0, 999, 1_000]))
    state = State(at_ms=event_ms, grants={grant.grant_id: grant_from(grant, 0) for grant in grants})
    call = AskedCall("a1", 1, "send", task, run, passed)

    in_force = [
        grant
        for grant in grants
        if (grant.agent_id, grant.generation, grant.tool) == ("a1", 1, "send")
        and grant.scope_id in (None, task, run)
        and (grant.until_ms is None or (now_ms < 1_000 and event_ms < 1_000))
        and all(
            name in passed and json.dumps(passed[name], sort_keys=True) == grant.where[name] for name in grant.where
        )
    ]
    found = find_grant(state, call, now_ms)

    assert (found is None) == (not in_force)
    if found is not None:
        assert found.id in [grant.grant_id for grant in in_force]
        assert found.allows == all(grant.allows for grant in in_force), "a rejection wins"
