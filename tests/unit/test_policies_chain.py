"""Each policy says what is next or has nothing left to give; a chain asks them from the left, and always ends."""

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core.specs.failure_policies import (
    AskPerson,
    Escalate,
    Fail,
    Failover,
    FailurePolicy,
    Failures,
    GiveTo,
    GiveUp,
    Retry,
    Skip,
    TryAgain,
    walk,
)
from engine.simulation.teams import CHAINS

ERRORS = st.sampled_from([["ValueError", "Exception"], ["TimeoutError", "OSError", "Exception"], ["Odd", "Exception"]])


def failed(*types: str, **fields: Any) -> Failures:
    return Failures(error="broken", error_types=types or ("ValueError", "Exception"), jitter=0.5, **fields)


def policies() -> st.SearchStrategy[FailurePolicy]:
    names = st.lists(st.sampled_from(["ValueError", "OSError", "Odd"]), max_size=1)
    return st.one_of(
        st.builds(Retry, st.integers(0, 3), on=names, never_on=names),
        st.builds(Failover, st.sampled_from([None, 1, 2])),
        st.builds(Escalate, st.sampled_from([None, 5.0]), st.sampled_from(["reject", "retry", "skip"])),
        st.just(Fail()),
        st.just(Skip()),
    )


@given(st.lists(policies(), max_size=5), st.integers(0, 4), st.data())
def test_every_chain_ends_whatever_is_raised_and_gives_no_agent_a_second_turn(
    chain: list[FailurePolicy], others: int, data: st.DataObject
) -> None:
    left, turns = [f"a{number}" for number in range(others)], ["first"]
    retries = failovers = 0
    for _ in range(200):
        failures = failed(*data.draw(ERRORS), retries=retries, failovers=failovers, others=left)
        _, verdict = walk(chain, failures)
        if isinstance(verdict, TryAgain):
            retries += 1
        elif isinstance(verdict, GiveTo):
            left = [one for one in left if one != verdict.agent_id]
            turns.append(verdict.agent_id)
            retries, failovers = 0, failovers + 1
        else:
            break

    assert isinstance(verdict, AskPerson | GiveUp)
    assert len(set(turns)) == len(turns)
    assert retries <= sum(policy.retries for policy in chain if isinstance(policy, Retry))


@given(st.lists(policies(), max_size=5), st.data())
def test_what_is_rejected_goes_on_behind_the_question_and_never_back(
    chain: list[FailurePolicy], data: st.DataObject
) -> None:
    place = data.draw(st.integers(-1, len(chain)))

    found, _ = walk(chain, failed(others=["a1"]), after=place)

    assert found > place or found == len(chain)


@given(st.floats(0, 1, exclude_max=True), st.floats(0, 2 * 86_400), st.integers(0, 5))
def test_a_retry_never_comes_before_the_time_that_the_error_asked_for(jitter: float, asked_s: float, past: int) -> None:
    failures = Failures(error="busy", retries=past, retry_after_s=asked_s, jitter=jitter)

    _, verdict = walk([Retry(10)], failures)

    assert isinstance(verdict, TryAgain)
    assert verdict.delay_ms >= min(asked_s, 86_400) * 1000


def test_the_policies_are_asked_in_the_order_in_which_they_are_written() -> None:
    chain: list[FailurePolicy] = [Retry(2), Failover(), Escalate(30.0, "reject")]

    assert walk(chain, failed(others=["a2"])) == (0, TryAgain(delay_ms=250))
    assert walk(chain, failed(retries=2, others=["a2", "a3"])) == (1, GiveTo(agent_id="a2"))
    assert walk(chain, failed(retries=2, failovers=2)) == (2, AskPerson(after_ms=30_000, default="reject"))


def test_retries_on_both_sides_of_a_failover_are_their_own() -> None:
    chain: list[FailurePolicy] = [Retry(1), Failover(1), Retry(2, base_s=8)]

    assert walk(chain, failed(retries=1, failovers=1, others=["a3"])) == (2, TryAgain(delay_ms=4000))
    assert walk(chain, failed(retries=3, failovers=1, others=["a3"])) == (3, GiveUp())


@pytest.mark.parametrize(
    ("policy", "types", "said", "worth"),
    [
        (Retry(1), ["ValueError"], None, True),
        (Retry(1), ["ValueError"], False, False),
        (Retry(1, on=["OSError"]), ["TimeoutError", "OSError"], None, True),
        (Retry(1, on=["OSError"]), ["ValueError"], None, False),
        (Retry(1, on=["OSError"]), ["ValueError"], True, True),
        (Retry(1, on=["ValueError"]), ["ValueError"], False, True),
        (Retry(1, never_on=["ValueError"]), ["Odd", "ValueError"], True, False),
        (Retry(1, on=["Odd"], never_on=["ValueError"]), ["Odd", "ValueError"], None, False),
    ],
)
def test_what_is_worth_a_retry_is_declared(policy: Retry, types: list[str], said: bool | None, worth: bool) -> None:
    _, verdict = walk([policy], failed(*types, retryable=said))

    assert isinstance(verdict, TryAgain) is worth


def test_an_error_that_is_not_worth_a_retry_goes_to_the_next_policy() -> None:
    chain: list[FailurePolicy] = [Retry(3, never_on=["ValueError"]), Failover()]

    assert walk(chain, failed(others=["a2"])) == (1, GiveTo(agent_id="a2"))


def test_what_is_optional_and_what_takes_the_whole_with_it_end_the_chain() -> None:
    assert walk([Skip(), Escalate()], failed()) == (0, GiveUp(optional=True))
    assert walk([Fail(), Escalate()], failed()) == (0, GiveUp(whole=True))
    assert walk([], failed()) == (0, GiveUp())


def test_retry_is_the_default_answer_once_only() -> None:
    chain: list[FailurePolicy] = [Escalate(5.0, "retry")]

    assert walk(chain, failed()) == (0, AskPerson(after_ms=5000, default="retry"))
    assert walk(chain, failed(retried_by_default=True)) == (0, AskPerson(after_ms=5000, default="reject"))


def test_the_simulation_draws_every_policy() -> None:
    assert {policy for chain in CHAINS for policy in chain} == set(get_args(FailurePolicy))
