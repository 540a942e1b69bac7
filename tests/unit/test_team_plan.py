"""Changes that a description makes to a team, as people read them."""

from hypothesis import given
from hypothesis import strategies as st

from engine.core.queries.team.team_plan import FieldDifference, MemberChange, describe_change
from engine.core.records.records import JsonValue

records = st.dictionaries(st.sampled_from("abc"), st.integers(0, 2), max_size=3)


def described(was: JsonValue, now: JsonValue) -> str:
    fields = [FieldDifference(field="discovery", was=was, now=now)]
    return describe_change(MemberChange(change="changed", subject="supervisor", id="s1", path="chief", fields=fields))


@given(records, records)
def test_of_two_records_the_keys_that_differ_are_named_and_no_others(was: dict[str, int], now: dict[str, int]) -> None:
    text = described({**was}, {**now})

    for key in "abc":
        assert (f"discovery.{key} " in text) == (was.get(key) != now.get(key))


def test_a_record_that_was_not_there_is_named_whole() -> None:
    assert described(None, {"max_new": 1}) == 'changed chief: discovery null → {"max_new": 1}'
    assert described({"modes": ["rag"], "max_new": 3}, {"modes": ["rag"], "max_new": 1}) == (
        "changed chief: discovery.max_new 3 → 1"
    )
