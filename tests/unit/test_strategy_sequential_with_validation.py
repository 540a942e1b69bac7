"""A chain whose last member approves, or sends the work back with reasons."""

from engine.core.specs.options import SupervisorOptions
from engine.core.state import RunStatus
from tests.story import asked, done, ended, found, only, seen_by, submitted, works
from tests.world import World, agent, team_world


def validating(**settings: object) -> World:
    world = team_world(
        agent("ada"),
        agent("bob"),
        agent("val"),
        mode="sequential_with_validation",
        options=SupervisorOptions(settings=settings),  # type: ignore[arg-type]
    )
    submitted(world)
    done(world, "ada")
    return world


def test_the_last_member_looks_at_the_work_of_the_one_before_it() -> None:
    world = validating()
    done(world, "bob")

    assert seen_by(world, "val") == ["from bob"]
    done(world, "val", "fine")
    assert asked(world) == ["approved?"]


def test_what_is_approved_is_the_output_and_not_the_approval() -> None:
    world = validating()
    done(world, "bob")
    done(world, "val", "fine")
    found(world, approved=True)

    assert (ended(world).status, ended(world).output) == (RunStatus.DONE, "from bob")


def test_what_is_sent_back_is_done_again_with_the_reasons_and_nobody_else_works() -> None:
    world = validating()
    done(world, "bob")
    done(world, "val", "no numbers")

    grown = only(found(world, approved=False, reasons="no numbers"), "group_grown")

    assert grown.why == "val sent it back to bob: no numbers"
    assert works(world) == ["bob"]
    assert seen_by(world, "bob") == ["from bob", "no numbers"]
    done(world, "bob", "with numbers")
    done(world, "val", "fine")
    found(world, approved=True)
    assert ended(world).output == "with numbers"


def test_after_so_many_returns_the_run_fails_with_the_reasons() -> None:
    world = validating(returns=1)
    for _ in range(2):
        done(world, "bob")
        done(world, "val", "no")
        found(world, approved=False, reasons="too short")

    assert ended(world).status is RunStatus.FAILED
    assert ended(world).error == "not approved by val after 1 returns: too short"


def test_with_otherwise_accept_the_work_is_taken_all_the_same() -> None:
    world = validating(returns=0, otherwise="accept")
    done(world, "bob")
    done(world, "val", "no")
    found(world, approved=False)

    assert (ended(world).status, ended(world).output) == (RunStatus.DONE, "from bob")


def test_the_validator_may_stand_anywhere() -> None:
    world = team_world(
        agent("val"),
        agent("ada"),
        mode="sequential_with_validation",
        options=SupervisorOptions(settings={"validator": "val"}),
    )
    submitted(world)
    assert works(world) == ["ada"]
    done(world, "ada")

    assert works(world) == ["val"]


def test_who_is_alone_works_without_a_validator() -> None:
    world = team_world(agent("ada"), mode="sequential_with_validation")
    submitted(world)

    done(world, "ada")

    assert (ended(world).status, ended(world).output) == (RunStatus.DONE, "from ada")
