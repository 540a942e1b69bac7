"""An attempt that waits for others holds a slot while a step of it runs, and at no other time."""

from collections.abc import Sequence

from engine.core.commands import Submit
from engine.core.effects import AnswerCall, ResumeAttempt
from engine.core.events import AttemptParked, AttemptResumed, Delegated, SlotWanted
from engine.core.scheduler.waiting import WaitReasons
from tests.world import World, agent, team_world

Key = tuple[str, int]


def asked(*, busy: bool) -> tuple[World, Key, Key]:
    """Return a world whose lead, with one slot, has asked bob for something; with both attempts."""
    world = team_world(agent("lead", "lead"), agent("bob", "dig"), participants=("lead",))
    world.order(Submit(request="go"))
    (lead,) = world.started
    world.ask(lead, "dig", ["here"], busy=busy)
    return world, lead, next(key for key in world.started if key != lead)


def holders(world: World) -> set[str]:
    return {task_id for one in world.state.agents.values() for task_id in one.running}


def of_kind(events: Sequence[object], cls: type) -> list[object]:
    return [event for event in events if isinstance(event, cls)]


def test_who_asks_and_does_nothing_else_gives_its_slot_back() -> None:
    world, lead, bob = asked(busy=False)

    assert holders(world) == {bob[0]}
    assert world.rest(lead) == [], "it is parked already"


def test_who_asks_while_a_step_runs_keeps_its_slot_until_the_step_has_ended() -> None:
    world, lead, bob = asked(busy=True)
    (delegated,) = of_kind(world.journal, Delegated)

    assert holders(world) == {lead[0], bob[0]}
    assert isinstance(delegated, Delegated)
    assert not delegated.parks
    assert of_kind(world.rest(lead), AttemptParked)
    assert holders(world) == {bob[0]}


def test_an_answer_is_told_at_once_to_who_holds_its_slot() -> None:
    world, lead, bob = asked(busy=True)

    events = world.succeed(bob)

    assert not of_kind(events, AttemptResumed)
    assert [effect.has_slot for effect in world.effects if isinstance(effect, AnswerCall)] == [True]
    assert world.rest(lead) == [], "it waits for nothing"


def test_a_step_beside_a_delegation_begins_once_there_is_a_slot_and_the_wait_goes_on() -> None:
    world, lead, bob = asked(busy=False)
    wanted = world.want(lead)

    assert [type(event) for event in wanted] == [SlotWanted, AttemptResumed]
    assert ResumeAttempt(task_id=lead[0], attempt=1) in world.effects
    assert holders(world) == {lead[0], bob[0]}
    assert of_kind(world.rest(lead), AttemptParked)
    assert [type(event) for event in world.succeed(bob)][-1] is AttemptResumed


def test_who_wants_a_slot_waits_for_its_turn() -> None:
    world, lead, bob = asked(busy=False)
    world.order(Submit(request="go on"))
    other = next(key for key in world.started if key not in (lead, bob))

    assert [type(event) for event in world.want(lead)] == [SlotWanted]
    assert world.want(lead) == []
    wait = WaitReasons(world.state).wait_of(world.state.tasks[lead[0]])
    assert wait is not None
    assert wait.words == "waits for a free slot to go on"
    assert of_kind(world.succeed(other), AttemptResumed)
    assert lead[0] in holders(world)


def test_who_wants_a_slot_and_gets_its_answer_goes_on_once_with_both() -> None:
    world, lead, bob = asked(busy=False)
    world.order(Submit(request="go on"))
    other = next(key for key in world.started if key not in (lead, bob))
    world.want(lead)
    world.succeed(bob)

    (resumed,) = of_kind(world.succeed(other), AttemptResumed)

    assert isinstance(resumed, AttemptResumed)
    assert resumed.call_keys == ["k1"]
    assert world.rest(lead) == []


def test_time_is_not_counted_while_it_is_parked() -> None:
    world, lead, _ = asked(busy=True)
    run = world.state.runs["r1"]
    assert run.at_work == 2
    world.rest(lead)
    assert run.at_work == 1
    world.want(lead)
    assert run.at_work == 2


def test_after_a_crash_of_the_engine_it_asks_again_whatever_it_wanted() -> None:
    world, lead, _ = asked(busy=False)
    world.want(lead)
    world.crash()
    again = next(key for key in world.started if key[0] == lead[0])

    world.ask(again, "dig", ["here"], busy=True)

    assert again[0] in holders(world)
    assert of_kind(world.rest(again), AttemptParked)
    world.settle()
    assert world.state.finished[-1].status == "done"


def test_an_attempt_parks_for_what_no_delegation_is_until_its_moment() -> None:
    world = team_world(agent("bob"))
    world.order(Submit(request="go"))
    (bob,) = world.started

    (parked,) = of_kind(world.rest(bob, why="rate_limit", until_ms=90_000), AttemptParked)

    assert isinstance(parked, AttemptParked)
    assert (parked.why, parked.until_ms) == ("rate_limit", 90_000)
    assert holders(world) == set()
    waits = WaitReasons(world.state).wait_of(world.state.tasks[bob[0]])
    assert waits is not None
    assert (waits.reason, waits.words, waits.until_ms) == ("moment", "waits for the rate limit of a provider", 90_000)
    assert of_kind(world.want(bob), AttemptResumed)
    assert holders(world) == {bob[0]}
