"""One task for each item of a list, over whoever is free, then joined."""

import pytest

from engine.core.commands import (
    AddAgent,
    Move,
    Reassign,
    RemoveMember,
    RetryWork,
    Submit,
    SupervisorSpec,
)
from engine.core.queries.work.queues import is_shared
from engine.core.records.records import copy_with
from engine.core.records.values import TextRef
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec
from engine.core.state import RunStatus
from tests.legal import assert_legal
from tests.story import (
    applied,
    asked,
    attempt,
    attempts,
    done,
    ended,
    found,
    refused,
    submitted,
    works,
)  # fmt: skip
from tests.world import World, agent, load, team_world


def mapping(*members: str, request: object = None, **settings: object) -> World:
    options = SupervisorOptions(settings=settings)  # type: ignore[arg-type]
    world = team_world(*[agent(name, "counting") for name in members], mode="map", options=options)
    submitted(world, request or ["a", "b", "c"])  # type: ignore[arg-type]
    return world


def test_a_request_that_is_a_list_becomes_a_task_for_each_item_over_whoever_is_free() -> None:
    world = mapping("ada", "bob", "cyd")
    assert (works(world), asked(world)) == ([], ["a list?"])

    found(world, items=3, titles=["a", "b", "c"])

    assert sorted(works(world)) == ["bob", "cyd"]
    starts = list(world.started.values())
    assert [start.input for start in starts] == [TextRef(seq=starts[0].input.seq, path=f"request.{n}") for n in (0, 1)]  # type: ignore[union-attr]
    assert {start.takes for start in starts} == {"request"}
    assert not any(start.inputs for start in starts)
    done(world, "bob")
    assert len(attempts(world, "bob")) == 1


def test_results_are_joined_in_the_order_of_the_items() -> None:
    world = mapping("ada", "bob", "cyd")
    found(world, items=3)
    by_item = {start.input.path: key for key, start in world.started.items()}  # type: ignore[union-attr]
    world.succeed(by_item["request.1"], "second")
    for key, start in list(world.started.items()):
        world.succeed(key, {"request.0": "first", "request.2": "third"}[start.input.path])  # type: ignore[union-attr]

    ((key, join),) = world.joins.items()

    assert (join.join, [one.output for one in join.inputs]) == ("list", ["first", "second", "third"])
    world.join(key)
    assert ended(world).status is RunStatus.DONE


def test_a_request_that_is_no_list_is_split_by_the_first_member() -> None:
    world = mapping("ada", "bob", request="count the words")
    found(world, items=None)
    assert works(world) == ["ada"]
    done(world, "ada", ["x", "y"])
    assert asked(world) == ["split"]

    found(world, items=2)

    (start,) = world.started.values()
    assert (start.agent, start.input.path) == ("bob", "output.0")  # type: ignore[union-attr]
    world.settle()
    assert ended(world).status is RunStatus.DONE


def test_items_that_stood_in_a_text_are_read_from_what_was_found() -> None:
    world = mapping("ada", "bob", request="count", over="ada")
    done(world, "ada", '["x"]')
    found(world, items=1, list=["x"])

    (start,) = world.started.values()

    assert start.input.path == "output.list.0"  # type: ignore[union-attr]


def test_an_empty_list_is_an_empty_result() -> None:
    world = mapping("ada", "bob")
    found(world, items=0)

    ((_, join),) = world.joins.items()
    assert (join.join, join.inputs) == ("list", [])


def test_what_is_split_into_no_list_fails_the_run() -> None:
    world = mapping("ada", "bob", request="count", over="ada")
    done(world, "ada", "no list")
    found(world, items=None)

    assert (ended(world).status, ended(world).error) == (RunStatus.FAILED, "what ada made is not a list")


def test_more_than_ten_thousand_items_are_too_many() -> None:
    world = mapping("ada", "bob")
    found(world, items=10_001)

    assert ended(world).error == "10,001 items are more than 10,000"


def test_ten_thousand_items_are_not_too_many() -> None:
    world = mapping("ada", "bob")
    found(world, items=10_000)

    assert not world.joins
    assert works(world) == ["bob"]


def test_each_item_is_done_once() -> None:
    world = mapping("ada", "bob")
    found(world, items=500)
    for _ in range(500):
        world.succeed(next(iter(world.started)))

    assert len(world.starts) == 500
    assert len({start.task_id for start in world.starts}) == 500
    assert (len(world.joins), world.started) == (1, {})


@pytest.mark.parametrize(("to", "who"), [("bob", {"bob"}), ("counting", {"ada", "bob", "cyd"})])
def test_items_go_to_a_member_or_to_whoever_has_the_capability(to: str, who: set[str]) -> None:
    world = mapping("ada", "bob", "cyd", to=to)
    found(world, items=3)

    assert set(works(world)) == who


def test_an_item_that_may_fail_is_left_out() -> None:
    world = mapping("ada", "bob", optional=True)
    found(world, items=2)
    world.fail(next(iter(world.started)))
    world.succeed(next(iter(world.started)), "ok")

    ((_, join),) = world.joins.items()
    assert [one.output for one in join.inputs] == ["ok"]


def test_a_team_of_nobody_is_refused() -> None:
    assert "no agents" in refused(team_world(mode="map"), Submit(request=["x"]))


def test_an_item_that_comes_to_nothing_keeps_its_place_in_the_list() -> None:
    world = mapping("ada", "bob")
    found(world, items=3)
    for output in ("one", None, "three"):
        world.succeed(attempt(world, "bob"), output)

    (join,) = world.joins.values()

    assert [one.output for one in join.inputs] == ["one", None, "three"]


def test_items_of_members_who_have_all_been_removed_go_to_whoever_shares_a_specialty() -> None:
    world = mapping("ada", "bob", "cyd", request=["a", "b", "c", "d"])
    found(world, items=4)

    for name in ("bob", "cyd"):
        applied(world, RemoveMember(target=name, mode="abort"))
    for key in sorted(world.stopping):
        world.stop(key)

    assert_legal(world.state)
    assert works(world) == ["ada"]
    world.settle()
    assert ended(world).status is RunStatus.DONE


def test_items_of_members_who_have_all_been_removed_fail_where_nobody_shares_a_specialty() -> None:
    world = team_world(agent("ada"), agent("bob", "counting"), agent("cyd", "counting"), mode="map")
    submitted(world, ["a", "b", "c"])  # type: ignore[arg-type]
    found(world, items=3)

    for name in ("bob", "cyd"):
        applied(world, RemoveMember(target=name, mode="drain"))
        done(world, name)

    world.settle()
    assert (ended(world).status, ended(world).failed) == (RunStatus.FAILED, 1)
    assert "was removed and no other agent has one of its specialties" in str(ended(world).error)


def test_an_item_is_not_tried_again_when_nobody_is_left_of_those_that_could_do_it() -> None:
    world = team_world(agent("ada"), agent("bob"), agent("cyd"), mode="map")
    submitted(world, ["a", "b"])  # type: ignore[arg-type]
    found(world, items=2)
    failed, other = attempt(world, "bob"), attempt(world, "cyd")
    world.fail(failed)
    applied(world, Reassign(task=other[0], agent="ada"))
    world.stop(other)
    for name in ("bob", "cyd"):
        applied(world, RemoveMember(target=name, mode="abort"))

    assert refused(world, RetryWork(target=failed[0])) == (
        f"every agent that could do task {failed[0]} was removed; submit the request again instead"
    )
    applied(world, AddAgent(spec=agent("cyd")))
    applied(world, RetryWork(target=failed[0]))
    assert works(world) == ["ada", "cyd"]
    assert_legal(world.state)


def test_an_item_that_is_tried_again_goes_to_another_team_when_the_last_of_its_own_is_removed() -> None:
    options = SupervisorOptions(settings={"to": "sum"})
    own = SupervisorSpec(name="own", members=[agent("ada", "sum"), agent("zed")], mode="map", options=options)
    world = team_world(own, SupervisorSpec(name="other", members=[agent("bob", "sum")]), participants=["own"])
    submitted(world, ["a", "b"])  # type: ignore[arg-type]
    found(world, items=2)
    failed = attempt(world, "ada")
    world.fail(failed)
    other = attempt(world, "ada")
    applied(world, Reassign(task=other[0], agent="zed"))
    world.stop(other)
    applied(world, RemoveMember(target="ada", mode="abort"))

    applied(world, RetryWork(target=failed[0]))

    assert works(world) == ["zed", "bob"]
    assert_legal(world.state)


@pytest.mark.parametrize(("new", "below"), [("s2", True), ("s3", False)])
def test_items_go_to_all_of_their_members_when_these_move_one_after_the_other(new: str, *, below: bool) -> None:
    elsewhere = SupervisorSpec(name="new")
    names = ["ada", "bob", "cyd", "dan"]
    members: list[AgentSpec | SupervisorSpec] = [*map(agent, names), *([elsewhere] if below else [])]
    old = SupervisorSpec(name="old", members=members, mode="map", participants=names)
    world = team_world(old, *([] if below else [elsewhere]))
    submitted(world, [*"abcdefgh"], supervisor="old")  # type: ignore[arg-type]
    found(world, items=8)

    for name in ("bob", "cyd", "dan"):
        applied(world, Move(target=name, parent="new"))

    (queue,) = (one for one in world.state.queues.values() if one.ready)
    assert [world.state.agents[one].name for one in queue.agents] == ["bob", "cyd", "dan"]
    assert_legal(world.state)
    world.settle()
    assert ended(world).status is RunStatus.DONE


def test_items_go_with_a_team_that_is_moved_when_nobody_else_is_left_to_do_them() -> None:
    kitchen = SupervisorSpec(name="kitchen", members=[agent("cook")])
    old = SupervisorSpec(name="old", members=[agent("ada"), agent("bob"), kitchen], mode="map")
    world = team_world(old, SupervisorSpec(name="new"))
    submitted(world, [*"abcdef"], supervisor="old")  # type: ignore[arg-type]
    found(world, items=6)

    for name in ("bob", "kitchen"):
        applied(world, Move(target=name, parent="new"))

    assert_legal(world.state)
    world.settle()
    assert ended(world).status is RunStatus.DONE


def test_an_agent_that_joins_a_team_takes_part_in_the_items_that_wait_for_that() -> None:
    kitchen = SupervisorSpec(name="kitchen", members=[agent("cook")], mode="delegate")
    world = team_world(agent("ada"), agent("bob"), kitchen, mode="map")
    submitted(world, [*"abcdef"])  # type: ignore[arg-type]
    found(world, items=6)

    applied(world, AddAgent(spec=agent("baker"), supervisor="kitchen"))

    (queue,) = (one for one in world.state.queues.values() if is_shared(one.key))
    assert [world.state.agents[one].name for one in queue.agents] == ["bob", "cook", "baker"]
    assert_legal(world.state)


def test_members_that_are_renamed_before_the_list_is_known_do_the_items_under_their_new_names() -> None:
    world = mapping("ada", "bob", "cyd", request=["a", "b", "c", "d"])
    for names in (("eve", "cyd"), ("fay", "gus")):
        renamed = [copy_with(agent(old, "counting"), name=new) for old, new in zip(("bob", "cyd"), names, strict=True)]
        world.order(load(SupervisorSpec(name="chief", mode="map", members=[agent("ada", "counting"), *renamed])))

    found(world, items=4)

    assert works(world) == ["fay", "gus"]
    assert_legal(world.state)
    world.settle()
    assert ended(world).status is RunStatus.DONE


def test_a_member_that_is_removed_before_the_list_is_known_does_no_item() -> None:
    world = mapping("ada", "bob", "cyd", request=["a", "b"])
    applied(world, RemoveMember(target="bob"))

    found(world, items=2)

    assert works(world) == ["cyd"]
    world.settle()
    assert ended(world).status is RunStatus.DONE


def test_a_map_fails_when_everybody_is_removed_before_the_list_is_known() -> None:
    world = mapping("ada", "bob", "cyd", request=["a", "b"])
    for name in ("bob", "cyd"):
        applied(world, RemoveMember(target=name))

    found(world, items=2)

    assert ended(world).error == (
        "no member is left to do the items of map: "
        "bob, cyd are no longer members; add them and submit the request again"
    )


def test_the_next_member_splits_a_request_whose_first_was_removed_before_it_was_looked_at() -> None:
    world = mapping("ada", "bob", "cyd", request="no list")
    applied(world, RemoveMember(target="ada"))

    found(world, items=None)

    assert works(world) == ["bob"]


def test_members_that_are_renamed_go_on_with_the_items_of_their_map() -> None:
    world = mapping("ada", "bob", "cyd", request=["a", "b", "c", "d"])
    found(world, items=4)
    renamed = [copy_with(agent(old, "counting"), name=new) for old, new in (("bob", "eve"), ("cyd", "fay"))]

    world.order(load(SupervisorSpec(name="chief", mode="map", members=[agent("ada", "counting"), *renamed])))

    assert [one.name for one in world.state.agents.values()] == ["ada", "eve", "fay"]
    world.settle()
    assert ended(world).status is RunStatus.DONE
