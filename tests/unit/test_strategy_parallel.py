"""All at once, and as many as are needed; with a synthesis at the end."""

from engine.core.commands import Cancel, SwitchStrategy
from engine.core.effects import StopAttempt
from engine.core.specs.options import SupervisorOptions
from engine.core.state import RunStatus
from tests.story import applied, attempt, done, ended, refused, seen_by, submitted, task_of, works
from tests.world import World, agent, team_world

FIVE = [agent(name) for name in ("ada", "bob", "cyd", "dan", "eve")]


def needing(need: int) -> World:
    world = team_world(*FIVE, mode="parallel", options=SupervisorOptions(settings={"need": need}))
    submitted(world)
    return world


def test_when_as_many_are_done_as_are_needed_the_rest_are_stopped_and_those_are_joined() -> None:
    world = needing(2)
    done(world, "dan")
    assert not world.stopping
    done(world, "bob")

    assert world.stopping == {attempt(world, name) for name in ("ada", "cyd", "eve")}
    for key in sorted(world.stopping):
        world.stop(key)
    ((_, join),) = world.joins.items()
    assert [one.agent for one in join.inputs] == ["bob", "dan"]


def test_one_that_fails_matters_only_when_too_few_are_left() -> None:
    world = needing(4)
    world.fail(attempt(world, "ada"))
    for name in ("bob", "cyd", "dan"):
        done(world, name)
    done(world, "eve")
    world.settle()

    assert ended(world).status is RunStatus.DONE


def test_the_run_fails_as_soon_as_too_few_answers_are_left_and_says_so() -> None:
    world = needing(4)
    world.fail(attempt(world, "ada"))
    assert not world.stopping

    world.fail(attempt(world, "bob"))

    assert world.stopping == {attempt(world, name) for name in ("cyd", "dan", "eve")}
    for key in sorted(world.stopping):
        world.stop(key)
    assert ended(world).status is RunStatus.FAILED
    assert "4 of 5 answers are needed and 2 will not come (bob: broken)" in str(ended(world).error)


def test_the_join_begins_while_what_is_not_needed_is_still_being_stopped_and_takes_nothing_of_it() -> None:
    world = needing(2)
    done(world, "dan")
    done(world, "bob")
    ((key, join),) = world.joins.items()

    done(world, "ada", "too late")
    world.join(key)

    assert [one.agent for one in join.inputs] == ["bob", "dan"]
    assert {one.leave for one in world.effects if isinstance(one, StopAttempt)} <= {True}
    world.settle()
    assert (ended(world).status, ended(world).output) == (RunStatus.DONE, "joined")


def test_an_engine_that_is_lost_in_the_join_joins_the_same_answers() -> None:
    world = needing(2)
    for name in ("dan", "bob"):
        done(world, name)
    done(world, "ada", "too late")
    world.crash()

    ((_, join),) = world.joins.items()

    assert [one.agent for one in join.inputs] == ["bob", "dan"]


def test_a_person_who_cancels_lowers_what_is_needed_to_what_there_can_be() -> None:
    world = needing(4)
    for name in ("ada", "bob"):
        applied(world, Cancel(target=task_of(world, name).id))
    for name in ("cyd", "dan"):
        done(world, name)
    world.settle()

    assert ended(world).status is RunStatus.DONE


def test_more_answers_than_members_are_refused() -> None:
    world = team_world(*FIVE)

    assert "the team has 5 members" in refused(world, SwitchStrategy(mode="parallel", settings={"need": 6}))


def test_whoever_speaks_of_writing_makes_the_synthesis_where_nobody_is_named() -> None:
    world = team_world(
        agent("ada", "search"),
        agent("wim", "writing", "editing"),
        agent("cyd", "numbers"),
        mode="parallel_then_synthesis",
    )
    submitted(world)
    assert works(world) == ["ada", "cyd"]
    done(world, "ada")
    done(world, "cyd")

    assert seen_by(world, "wim") == ["from ada", "from cyd"]
    done(world, "wim", "a whole")
    assert ended(world).output == "a whole"


def test_where_nobody_speaks_of_it_the_last_member_makes_the_synthesis() -> None:
    world = team_world(agent("ada", "x"), agent("bob", "y"), agent("cyd", "z"), mode="parallel_then_synthesis")
    submitted(world)

    assert works(world) == ["ada", "bob"]


def test_the_one_that_the_settings_name_makes_the_synthesis() -> None:
    world = team_world(
        agent("ada"),
        agent("bob"),
        mode="parallel_then_synthesis",
        options=SupervisorOptions(settings={"aggregator": "ada"}),
    )
    submitted(world)

    assert works(world) == ["bob"]
