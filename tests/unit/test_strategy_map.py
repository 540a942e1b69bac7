"""One task for each item of a list, over whoever is free, then joined."""

from typing import Any

import pytest

from engine.core.commands import (
    AddAgent,
    Move,
    Pause,
    Reassign,
    RemoveMember,
    Resume,
    RetryWork,
    Submit,
    SupervisorSpec,
)
from engine.core.events import ItemReturned
from engine.core.limits import Limits
from engine.core.options import SupervisorOptions
from engine.core.queries.queues import is_shared
from engine.core.records import changed
from engine.core.signals import AgentUnusable, TextRead
from engine.core.spec import AgentSpec, Retry
from engine.core.state import RunStatus
from engine.core.values import TextRef, Usage
from tests.legal import assert_legal
from tests.story import (
    applied,
    asked,
    attempt,
    attempts,
    done,
    ended,
    found,
    kinds,
    member,
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


def test_an_item_that_failed_on_an_agent_and_is_done_by_a_team_is_done() -> None:
    kitchen = SupervisorSpec(name="kitchen", members=[agent("cook")])
    world = team_world(agent("lead"), agent("bob", on_failure=[Retry(1, 1, 1)]), kitchen, mode="map")
    submitted(world, ["a"])  # type: ignore[arg-type]
    found(world, items=1)
    bob = member(world, "bob")
    world.fail(attempt(world, "bob"))
    world.say(AgentUnusable(agent_id=bob.id, generation=bob.generation, error="no code"))
    world.due(next(one for one in world.timers if one.startswith("retry")))
    assert works(world) == ["cook"]

    world.settle()

    assert (ended(world).status, ended(world).error) == (RunStatus.DONE, None)


def test_a_team_takes_the_next_item_when_one_of_its_agents_has_begun_with_the_last() -> None:
    kitchen = SupervisorSpec(name="kitchen", members=[agent("ada"), agent("bob")])
    world = team_world(agent("lead"), agent("cyd"), kitchen, mode="map")
    submitted(world, ["a", "b", "c", "d"])  # type: ignore[arg-type]

    events = found(world, items=4)

    assert kinds(events).count("item_taken") == 2
    assert works(world) == ["cyd", "ada"]
    assert_legal(world.state)


def test_an_item_that_was_made_to_wait_is_done_by_a_team_that_takes_it() -> None:
    world = team_world(agent("ada"), agent("bob"), SupervisorSpec(name="below", members=[agent("cyd")]), mode="map")
    submitted(world, ["a", "b", "c"])  # type: ignore[arg-type]
    found(world, items=3)
    done(world, "bob")
    assert works(world) == ["cyd", "bob"]
    submitted(world, ["now"], priority=0)  # type: ignore[arg-type]
    found(world, items=1)
    world.stop(attempt(world, "bob"))

    done(world, "cyd")

    assert_legal(world.state)
    assert sorted(works(world)) == ["bob", "cyd"]
    world.settle()
    assert [run.status for run in world.state.finished] == [RunStatus.DONE] * 2


def test_an_item_that_had_asked_for_work_when_it_was_cut_off_goes_on_at_an_agent_of_the_team_that_is_free() -> None:
    world = team_world(agent("ada"), agent("bob"), SupervisorSpec(name="below", members=[agent("cyd")]), mode="map")
    submitted(world, ["a"])  # type: ignore[arg-type]
    found(world, items=1)
    world.ask(attempt(world, "bob"), "ada", ["x"])
    applied(world, Pause(target="bob"))

    world.crash()

    assert_legal(world.state)
    assert sorted(works(world)) == ["ada", "cyd"]
    world.settle()
    assert ended(world).status is RunStatus.DONE


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
        renamed = [changed(agent(old, "counting"), name=new) for old, new in zip(("bob", "cyd"), names, strict=True)]
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
    renamed = [changed(agent(old, "counting"), name=new) for old, new in (("bob", "eve"), ("cyd", "fay"))]

    world.order(load(SupervisorSpec(name="chief", mode="map", members=[agent("ada", "counting"), *renamed])))

    assert [one.name for one in world.state.agents.values()] == ["ada", "eve", "fay"]
    world.settle()
    assert ended(world).status is RunStatus.DONE


@pytest.mark.parametrize("discovers", [False, True])
def test_an_item_that_a_paused_team_has_not_begun_goes_back_to_those_who_share_it(*, discovers: bool) -> None:
    crew: list[AgentSpec | SupervisorSpec] = [agent("ada", "counting"), agent("cook", "counting")]
    kitchen = SupervisorSpec(name="kitchen", members=crew, auto_discover=discovers)
    world = team_world(agent("lead"), agent("bob"), kitchen, mode="map")
    submitted(world, "counting", supervisor="kitchen")
    submitted(world, ["counting a", "counting b"])  # type: ignore[arg-type]
    found(world, items=2)
    assert "item_taken" in kinds(world.journal)
    left = set(world.state.tasks)

    events = world.order(Pause(target="kitchen"))

    assert_legal(world.state)
    assert "item_returned" in kinds(events)
    assert len(left - set(world.state.tasks)) == (0 if discovers else 2)  # what the team had planned for it
    (item,) = (event.task_id for event in events if isinstance(event, ItemReturned))
    assert world.say(TextRead(task_id=item, text="counting b")) == []  # of a team that was still to plan it
    done(world, "bob")
    assert works(world) == ["ada", "bob"]
    applied(world, Resume(target="kitchen"))
    world.settle()
    assert_legal(world.state)
    assert [run.status for run in world.state.finished] == [RunStatus.DONE] * 2


@pytest.mark.parametrize("then", ["ask", "stop", "fail"])
@pytest.mark.parametrize("others", [True, False])
def test_an_item_that_a_team_has_not_begun_goes_back_when_its_budget_is_spent(then: Any, *, others: bool) -> None:
    options = SupervisorOptions(limits=Limits(tokens=10, then=then))
    kitchen = SupervisorSpec(name="kitchen", members=[agent("ada"), agent("cook")], options=options)
    world = team_world(agent("lead"), kitchen, agent("bob"), mode="map")
    submitted(world, supervisor="kitchen")
    submitted(world, ["a", "b"])  # type: ignore[arg-type]
    found(world, items=2)
    if not others:
        world.say(AgentUnusable(agent_id=member(world, "bob").id, generation=1, error="no code"))
    assert "item_taken" in kinds(world.journal)

    world.record(attempt(world, "ada"), "dear", usage=Usage(tokens_in=10))
    world.stop(attempt(world, "ada"))

    assert_legal(world.state)
    gone_back = "item_returned" in kinds(world.journal)
    assert gone_back == (others or then == "ask")
    if others:
        done(world, "bob")
        assert works(world) == ["bob"]
        world.settle()
        assert ended(world).status is RunStatus.DONE
        assert_legal(world.state)


def test_an_item_does_not_go_back_where_the_same_team_would_take_it_again() -> None:
    spent = SupervisorOptions(limits=Limits(tokens=10, then="stop"))
    south = SupervisorSpec(name="south", members=[agent("ada")], options=spent)
    kitchen = SupervisorSpec(name="kitchen", members=[agent("dan"), south], mode="parallel", participants=["south"])
    world = team_world(agent("lead"), kitchen, agent("bob"), mode="map")
    submitted(world, supervisor="south")
    world.record(attempt(world, "ada"), "dear", usage=Usage(tokens_in=10))
    world.stop(attempt(world, "ada"))

    submitted(world, ["a", "b"])  # type: ignore[arg-type]
    found(world, items=2)

    assert kinds(world.journal).count("item_taken") == 1
    world.settle()
    assert "budget of 10 tokens" in str(ended(world).error)


def test_an_item_goes_back_to_others_where_all_of_the_team_that_are_able_are_paused() -> None:
    spent = SupervisorOptions(limits=Limits(tokens=10, then="stop"))
    south = SupervisorSpec(name="south", members=[agent("ada")], options=spent)
    kitchen = SupervisorSpec(name="kitchen", members=[agent("dan"), south], mode="parallel", participants=["south"])
    world = team_world(agent("lead"), kitchen, agent("bob"), mode="map")
    submitted(world, supervisor="south")
    submitted(world, ["a", "b"])  # type: ignore[arg-type]
    found(world, items=2)
    applied(world, Pause(target="dan"))

    world.record(attempt(world, "ada"), "dear", usage=Usage(tokens_in=10))
    world.stop(attempt(world, "ada"))

    assert "item_returned" in kinds(world.journal)
    world.settle()
    assert ended(world).status is RunStatus.DONE


def test_an_item_that_a_paused_team_has_begun_stays_with_it() -> None:
    kitchen = SupervisorSpec(name="kitchen", members=[agent("ada"), agent("cook")])
    world = team_world(agent("lead"), kitchen, agent("bob"), mode="map")
    submitted(world, ["a", "b"])  # type: ignore[arg-type]
    found(world, items=2)

    events = world.order(Pause(target="kitchen"))

    assert "item_returned" not in kinds(events)
    done(world, "bob")
    assert works(world) == ["ada"]
