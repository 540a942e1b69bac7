"""Runs of one conversation remember those before them, for as long as they are open, and no more than a bound."""

from typing import Any

from engine.core.commands import RetryWork, Submit, SupervisorSpec
from engine.core.encoding.codec import encode_state
from engine.core.state import MAX_CONVERSATIONS, MAX_EXCHANGES, RunStatus
from tests.legal import assert_legal
from tests.story import applied, attempt, done, ended, member, refused, start_of, submitted, works
from tests.world import World, agent, team_world


def remembered(world: World, name: str) -> list[tuple[str, Any, Any]]:
    """Return what the one attempt of an agent is told of earlier runs."""
    return [(one.status.value, one.request, one.output) for one in start_of(world, name).conversation]


def test_a_run_remembers_the_runs_of_its_conversation_alone() -> None:
    world = team_world(agent("ada"))
    for request, conversation in (("one", "main"), ("two", "side"), ("three", None)):
        submitted(world, request, conversation=conversation)
        done(world, "ada", f"to {request}")
    submitted(world, "four", conversation="main")

    assert remembered(world, "ada") == [("done", "one", "to one")]
    assert_legal(world.state)


def test_what_ends_while_a_run_is_open_is_for_the_next_one() -> None:
    world = team_world(agent("ada", max_concurrency=2))
    submitted(world, "one", conversation="main")
    submitted(world, "two", conversation="main")
    world.succeed(min(world.started), "to one")
    world.restart()
    seen = {start.request: start.conversation for start in world.started.values()}
    world.settle()
    submitted(world, "three", conversation="main")

    assert seen == {"two": []}
    assert [one[1] for one in remembered(world, "ada")] == ["one", "two"]


def test_what_is_delegated_sees_nothing_of_the_conversation() -> None:
    world = team_world(agent("lead"), agent("bob"), participants=["lead"])
    submitted(world, "one", conversation="main")
    done(world, "lead")
    submitted(world, "two", conversation="main")
    world.ask(attempt(world, "lead"), "bob", ["x"])

    assert (len(remembered(world, "lead")), remembered(world, "bob")) == (1, [])


def test_members_of_a_team_below_see_the_conversation_of_the_run() -> None:
    below = SupervisorSpec(name="below", members=[agent("ada")])
    world = team_world(below)
    submitted(world, "one", conversation="main")
    done(world, "ada")
    submitted(world, "two", conversation="main")

    assert remembered(world, "ada") == [("done", "one", "from ada")]


def test_a_run_that_failed_is_remembered_with_its_error() -> None:
    world = team_world(agent("ada"))
    submitted(world, "one", conversation="main")
    world.fail(attempt(world, "ada"), "no paper")
    assert ended(world).status is RunStatus.FAILED
    submitted(world, "two", conversation="main")

    (exchange,) = start_of(world, "ada").conversation
    assert (exchange.status, exchange.error) == (RunStatus.FAILED, "ada: no paper")


def test_a_request_that_is_tried_again_is_part_of_the_same_conversation() -> None:
    world = team_world(agent("ada"))
    run_id = submitted(world, "one", conversation="main")
    done(world, "ada")
    applied(world, RetryWork(target=run_id))

    assert remembered(world, "ada") == [("done", "one", "from ada")]


def test_what_suits_nobody_goes_to_who_worked_on_the_request_before_in_the_conversation() -> None:
    world = team_world(agent("ada", "writing"), agent("bob", "statistics"), auto_discover=True)
    for request, who in (("Do the statistics", "bob"), ("Go on with that", "bob"), ("Do the writing", "ada")):
        submitted(world, request, conversation="main")
        done(world, who)
    submitted(world, "Go on with that", conversation="main")

    assert works(world) == ["ada"]
    assert refused(world, Submit(request="Go on with that")).startswith("no agent can")
    assert refused(world, Submit(request="Go on with that", conversation="side")).startswith("no agent can")


def test_who_was_only_asked_by_another_does_not_take_what_suits_nobody() -> None:
    world = team_world(agent("ada", "writing"), agent("bob", "statistics"), auto_discover=True)
    submitted(world, "Do the writing", conversation="main")
    world.ask(attempt(world, "ada"), "bob", ["x"])
    done(world, "bob")
    done(world, "ada")
    submitted(world, "Go on with that", conversation="main")

    assert works(world) == ["ada"]


def test_a_team_below_goes_on_with_who_worked_in_it_before() -> None:
    below = SupervisorSpec(
        name="below", auto_discover=True, members=[agent("ada", "writing"), agent("bob", "statistics")]
    )
    world = team_world(below)
    submitted(world, "Do the statistics", conversation="main")
    done(world, "bob")
    submitted(world, "Go on with that", conversation="main")

    assert works(world) == ["bob"]


def test_a_conversation_is_bounded_however_long_it_goes_on() -> None:
    world = team_world(agent("ada"), agent("bob"), participants=["ada"])
    for number in range(MAX_EXCHANGES + 20):
        submitted(world, f"request {number}", conversation="main")
        done(world, "ada")
    size = len(encode_state(world.state))
    submitted(world, "last", conversation="main")
    kept = [one.request for one in start_of(world, "ada").conversation]

    assert kept == [f"request {number}" for number in range(20, MAX_EXCHANGES + 20)]
    assert size < 40_000
    assert_legal(world.state)


def test_an_open_run_keeps_what_it_remembers_while_others_end() -> None:
    world = team_world(agent("ada", max_concurrency=2))
    submitted(world, "first", conversation="main")
    done(world, "ada")
    submitted(world, "open", conversation="main")
    for number in range(MAX_EXCHANGES + 5):
        submitted(world, f"request {number}", conversation="main")
        (key,) = [key for key, one in world.started.items() if one.request == f"request {number}"]
        world.succeed(key)
    assert_legal(world.state)
    world.restart()

    assert [one.request for one in start_of(world, "ada").conversation] == ["first"]
    world.settle()
    assert_legal(world.state)


def test_the_oldest_conversations_are_forgotten() -> None:
    world = team_world(agent("ada"))
    for number in range(MAX_CONVERSATIONS + 3):
        submitted(world, conversation=f"c{number}")
        world.settle()
    (supervisor,) = world.state.supervisors.values()

    assert len(supervisor.conversations) == MAX_CONVERSATIONS
    assert "c2" not in supervisor.conversations
    assert member(world, "ada").done == MAX_CONVERSATIONS + 3
