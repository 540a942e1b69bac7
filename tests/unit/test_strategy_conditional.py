"""One looks first; its output decides who goes on."""

from engine.core.specs.options import SupervisorOptions
from engine.core.state import RunStatus
from tests.story import asked, attempt, done, ended, found, only, seen_by, submitted, works
from tests.world import World, agent, team_world

BRANCHES = [
    {"when": {"contains": "bug"}, "to": ["bob", "cyd"]},
    {"when": "else", "to": "dan"},
]


def branching(**settings: object) -> World:
    members = [agent(name) for name in ("ada", "bob", "cyd", "dan", "eve")]
    options = SupervisorOptions(settings={"branches": BRANCHES, **settings})  # type: ignore[dict-item]
    world = team_world(*members, mode="conditional", options=options)
    submitted(world)
    return world


def test_the_first_guard_that_holds_decides_who_goes_on() -> None:
    world = branching()
    done(world, "ada", "a bug")
    assert (works(world), asked(world)) == ([], ["which way?"])

    grown = only(found(world, holds=[0], said="contains 'bug'"), "group_grown")

    assert [world.state.tasks[one].title for one in grown.skipped] == ["dan"]
    assert (grown.why, works(world), seen_by(world, "bob")) == ("contains 'bug'", ["bob"], ["a bug"])
    done(world, "bob")
    done(world, "cyd")
    assert (ended(world).status, ended(world).output) == (RunStatus.DONE, "from cyd")


def test_who_has_no_place_in_a_branch_does_not_work() -> None:
    world = branching()
    done(world, "ada")
    found(world, holds=[1])
    done(world, "dan")

    assert [start.agent for start in world.starts] == ["ada", "dan"]
    assert ended(world).output == "from dan"


def test_what_comes_after_the_branches_comes_after_the_one_that_was_taken() -> None:
    world = branching(then="eve")
    done(world, "ada")
    found(world, holds=[0])
    done(world, "bob")
    assert works(world) == ["cyd"]
    done(world, "cyd")

    assert seen_by(world, "eve") == ["from cyd"]
    done(world, "eve")
    assert (ended(world).status, ended(world).output) == (RunStatus.DONE, "from eve")


def test_where_no_guard_holds_the_output_is_that_of_the_first() -> None:
    world = branching(then="eve")
    done(world, "ada")
    found(world, holds=[])

    assert (ended(world).status, ended(world).output) == (RunStatus.DONE, "from ada")


def test_all_that_hold_are_taken_where_that_is_asked_for() -> None:
    world = branching(take="all")
    done(world, "ada")
    found(world, holds=[0, 1])
    assert works(world) == ["bob", "dan"]
    world.settle()

    assert ended(world).output == "joined"


def test_without_branches_the_output_names_who_goes_on() -> None:
    world = team_world(agent("ada"), agent("bob"), agent("cyd"), mode="conditional")
    submitted(world)
    done(world, "ada", "cyd should do it")

    (check,) = world.checks.values()

    assert check.check.args["guards"] == [{"names": "bob"}, {"names": "cyd"}]


def test_the_failure_of_the_first_can_be_a_way_to_go_on() -> None:
    branches = [{"when": {"status": "failed"}, "to": "bob"}, {"when": "else", "to": "cyd"}]
    world = branching(branches=branches)
    world.fail(attempt(world, "ada"), "broken")

    (check,) = world.checks.values()
    assert [(one.status, one.error) for one in check.looks] == [("failed", "broken")]
    found(world, holds=[0])
    done(world, "bob", "mended")

    assert (ended(world).status, ended(world).output) == (RunStatus.DONE, "mended")


def test_a_branch_that_fails_skips_what_comes_after_it() -> None:
    world = branching(then="eve")
    done(world, "ada")
    found(world, holds=[0])
    world.fail(attempt(world, "bob"), "broken")

    assert ended(world).status is RunStatus.FAILED
    assert not world.started


def test_a_look_that_fails_fails_the_run_and_begins_no_branch() -> None:
    world = branching()
    done(world, "ada")
    (key,) = world.checks
    world.checks.clear()
    world.fail(key, "the pattern took longer than 2 s")

    assert ended(world).status is RunStatus.FAILED
    assert "longer than 2 s" in str(ended(world).error)
    assert [start.agent for start in world.starts] == ["ada"]


def test_a_run_that_is_cancelled_while_it_looks_does_not_go_on() -> None:
    from engine.core.commands import Cancel

    world = branching()
    done(world, "ada")
    world.order(Cancel(target="r1"))
    found(world, holds=[0])

    assert ended(world).status is RunStatus.CANCELLED
    assert [start.agent for start in world.starts] == ["ada"]


def test_of_the_members_that_the_output_could_name_the_longest_name_is_looked_for_first() -> None:
    world = team_world(agent("triage"), agent("bugs"), agent("bugs-urgent"), mode="conditional")
    submitted(world)
    done(world, "triage", "bugs-urgent")

    (check,) = world.checks.values()

    assert check.check.args["guards"] == [{"names": "bugs-urgent"}, {"names": "bugs"}]
