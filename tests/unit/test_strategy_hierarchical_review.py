"""Level upon level: each reviews what the level below made."""

from engine.core.specs.options import SupervisorOptions
from engine.core.state import RunStatus
from tests.story import asked, done, ended, found, only, seen_by, submitted, works
from tests.world import World, agent, team_world


def reviewing(**settings: object) -> World:
    members = [agent(name) for name in ("ada", "bob", "lea", "max")]
    options = SupervisorOptions(settings=settings)  # type: ignore[arg-type]
    world = team_world(*members, mode="hierarchical_review", options=options)
    submitted(world)
    return world


LEVELS = [["ada", "bob"], ["lea"], ["max"]]


def test_each_member_is_a_level_where_nobody_says() -> None:
    world = reviewing()
    for name in ("ada", "bob", "lea", "max"):
        assert works(world) == [name]
        done(world, name)

    assert ended(world).output == "from max"


def test_a_level_works_at_once_and_the_next_sees_all_of_it() -> None:
    world = reviewing(levels=LEVELS)
    assert works(world) == ["ada", "bob"]
    done(world, "ada")
    done(world, "bob")

    assert seen_by(world, "lea") == ["from ada", "from bob"]


def test_a_level_that_sends_back_lets_the_one_below_do_it_again_and_then_looks_again() -> None:
    world = reviewing(levels=LEVELS, returns=1)
    done(world, "ada")
    done(world, "bob")
    done(world, "lea", "thin")
    assert asked(world) == ["approved by lea?"]

    grown = only(found(world, approved=False, reasons="thin"), "group_grown")

    assert grown.why == "lea sent it back: thin"
    assert works(world) == ["ada", "bob"]
    assert seen_by(world, "ada") == ["from ada", "from bob", "thin"]
    done(world, "ada", "ada again")
    done(world, "bob", "bob again")
    assert seen_by(world, "lea") == ["ada again", "bob again"]
    done(world, "lea", "good")
    found(world, approved=True)
    assert seen_by(world, "max") == ["good"]


def test_sent_back_as_often_as_it_may_be_it_goes_on_as_it_is() -> None:
    world = reviewing(levels=[["ada"], ["lea"]], returns=1)
    for _ in range(2):
        done(world, "ada")
        done(world, "lea")
        found(world, approved=False)

    assert (ended(world).status, ended(world).output) == (RunStatus.DONE, "from lea")


def test_a_last_level_of_several_is_joined() -> None:
    world = reviewing(levels=[["ada"], ["lea", "max"]], returns=1)
    done(world, "ada")
    done(world, "lea", "lea 1")
    done(world, "max", "max 1")
    found(world, approved=False)
    done(world, "ada")
    done(world, "lea", "lea 2")
    done(world, "max", "max 2")
    found(world, approved=True)

    ((key, join),) = world.joins.items()
    assert [one.output for one in join.inputs] == ["lea 2", "max 2"]
    world.join(key)
    assert ended(world).output == "joined"
