"""Who of several able agents gets a task, by each rule."""

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.core.commands import AddAgent, Pause, Resume, SupervisorSpec
from engine.core.scheduler.balancing import RULES
from engine.core.specs.options import BALANCES, Balance, Preempt, SupervisorOptions
from engine.core.specs.spec import AgentSpec
from tests.legal import assert_legal
from tests.story import applied, attempt, attempts, member, submitted, works
from tests.world import World, agent, team_world


def hands(balance: Balance | None, *members: AgentSpec) -> World:
    """A lead, and others that are able to do sums, under a rule."""
    options = SupervisorOptions(balance=balance)
    world = team_world(agent("lead"), *members, participants=["lead"], options=options, max_parallel=50)
    submitted(world)
    return world


def asked(world: World, count: int) -> list[str]:
    """Ask for sums, and return who began any, in order."""
    before = len(world.starts)
    world.ask(attempt(world, "lead"), "sum", list(range(count)), call=f"k{before}")
    return [start.agent for start in world.starts[before:]]


def done_one_by_one(world: World, count: int) -> list[str]:
    """Ask for sums one after the other, each done before the next, and return who got them."""
    names: list[str] = []
    for _ in range(count):
        names += asked(world, 1)
        world.succeed(attempt(world, names[-1]))
    return names


def test_every_rule_that_can_be_set_is_there() -> None:
    assert set(RULES) == set(BALANCES)


def test_round_robin_gives_the_next_task_to_whoever_has_been_free_for_longest() -> None:
    world = hands(None, *(agent(name, "sum") for name in ("ada", "bob", "cyd")))

    assert done_one_by_one(world, 4) == ["ada", "bob", "cyd", "ada"]


def test_least_load_fills_the_emptier_agent_by_the_share_of_its_slots() -> None:
    world = hands("least_load", agent("big", "sum", max_concurrency=4), agent("small", "sum", max_concurrency=2))

    assert asked(world, 6) == ["big", "small", "big", "small", "big", "big"]


def test_least_load_counts_who_waits_for_delegations() -> None:
    world = hands("least_load", agent("ada", "sum", max_concurrency=2), agent("bob", "sum", max_concurrency=2))
    asked(world, 1)
    world.ask(attempt(world, "ada"), "bob", ["x"])
    world.succeed(attempts(world, "bob")[0])
    world.ask(attempt(world, "ada"), "bob", ["y"], call="k2")
    world.succeed(attempts(world, "bob")[0])

    assert "ada" in works(world)
    assert_legal(world.state)


def test_weight_shares_tasks_out_in_proportion_and_smoothly() -> None:
    world = hands("weight", agent("ada", "sum", weight=3), agent("bob", "sum", weight=1))

    names = done_one_by_one(world, 12)

    assert Counter(names) == {"ada": 9, "bob": 3}
    assert "bobbob" not in "".join(names)


def test_weight_does_not_make_up_for_the_time_before_an_agent_came() -> None:
    world = hands("weight", agent("ada", "sum"))
    done_one_by_one(world, 10)
    world.order(AddAgent(spec=agent("bob", "sum")))

    assert Counter(done_one_by_one(world, 4)) == {"ada": 2, "bob": 2}


def test_weight_begins_anew_with_each_engine() -> None:
    world = hands("weight", agent("ada", "sum", weight=3), agent("bob", "sum", weight=1))
    done_one_by_one(world, 5)

    world.crash()

    assert_legal(world.state)


def test_performance_gives_work_to_the_faster_of_two_that_succeed() -> None:
    world = hands("performance", agent("slow", "sum"), agent("fast", "sum"))
    for name, ms in (("slow", 90), ("fast", 10)):
        member(world, name).at_work_ms.append(ms)
        member(world, name).done = 5  # type: ignore[misc]

    assert done_one_by_one(world, 3) == ["fast", "fast", "fast"]


def test_round_robin_counts_since_when_an_agent_is_free_and_not_since_when_it_began() -> None:
    world = hands("round_robin", agent("ada", "sum"), agent("bob", "sum"))
    assert asked(world, 2) == ["ada", "bob"]

    world.succeed(attempt(world, "bob"))
    world.succeed(attempt(world, "ada"))

    assert asked(world, 1) == ["bob"]


@pytest.mark.parametrize(
    ("failed", "ms", "first"), [(0, 109, "fresh"), (0, 111, "proven"), (1, 70, "fresh"), (1, 80, "proven")]
)
def test_performance_ranks_who_never_failed_by_its_median_and_others_by_their_failures(
    failed: int, ms: int, first: str
) -> None:
    world = hands("performance", agent("proven", "sum"), agent("fresh", "sum"))
    for name, median_ms, done in (("proven", 110, 100), ("fresh", ms, 1)):
        member(world, name).at_work_ms.append(median_ms)
        member(world, name).done = done  # type: ignore[misc]
    member(world, "fresh").failed = failed  # type: ignore[misc]

    assert asked(world, 1) == [first]


def test_performance_tries_each_agent_once_before_it_compares_them() -> None:
    world = hands("performance", *(agent(name, "sum") for name in ("slow", "fast", "new")))
    member(world, "slow").at_work_ms.append(90)
    member(world, "slow").done = member(world, "slow").begun = 1  # type: ignore[misc]

    assert done_one_by_one(world, 2) == ["fast", "new"]
    assert "slow" not in done_one_by_one(world, 4)


def test_performance_leaves_the_one_that_keeps_failing() -> None:
    world = hands("performance", agent("bad", "sum"), agent("good", "sum"))
    names: list[str] = []
    for _ in range(6):
        names += asked(world, 1)
        if names[-1] == "bad":
            world.fail(attempt(world, "bad"))
        else:
            world.succeed(attempt(world, "good"))

    assert names == ["bad", "good", "good", "good", "good", "good"]


def test_weight_counts_among_a_hundred_free_agents() -> None:
    world = hands("weight", *(agent(f"a{n}", "sum", weight=3 if n == 99 else 1) for n in range(100)))
    done_one_by_one(world, 100)

    again = Counter(done_one_by_one(world, 102))

    assert again["a99"] == 3
    assert {count for name, count in again.items() if name != "a99"} == {1}


def test_the_most_urgent_work_of_forty_teams_under_one_limit_begins_first() -> None:
    teams = [
        SupervisorSpec(name=f"t{n}", members=[agent(f"a{n}", max_concurrency=9)], max_parallel=9) for n in range(40)
    ]
    world = team_world(*teams, options=SupervisorOptions(max_total=1, preempt=Preempt(at="never")))
    applied(world, Pause(target="chief"))
    for n in range(40):
        submitted(world, supervisor=f"t{n}", priority=9 if n < 36 else n % 4)
    before = len(world.starts)

    applied(world, Resume(target="chief"))
    world.settle()

    assert [start.agent for start in world.starts[before:][:4]] == ["a36", "a37", "a38", "a39"]


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(BALANCES), st.lists(st.integers(0, 9), min_size=5, max_size=40))
def test_the_ranks_of_free_agents_are_always_those_that_the_rule_gives(balance: Balance, turns: list[int]) -> None:
    world = hands(balance, *(agent(f"a{n}", "sum", max_concurrency=1 + n % 3, weight=1 + n) for n in range(6)))
    for turn in turns:
        at_work = [key for key, start in world.started.items() if start.agent != "lead" and not world.waits(key)]
        if turn < 4 or not at_work:
            asked(world, 1 + turn)
        elif turn < 6:
            world.fail(at_work[turn % len(at_work)])
        elif turn < 9:
            world.succeed(at_work[turn % len(at_work)])
        else:
            world.ask(at_work[0], "sum", ["more"], call=f"m{len(world.journal)}")
        assert_legal(world.state)


@pytest.mark.parametrize("balance", BALANCES)
def test_a_sub_supervisor_does_as_the_one_above_it_where_nothing_was_set_for_it(balance: Balance) -> None:
    world = hands(balance, agent("ada", "sum"), agent("bob", "sum"))

    assert sorted(asked(world, 2)) == ["ada", "bob"]
    world.settle()
    assert_legal(world.state)
