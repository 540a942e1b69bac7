"""A request that is submitted again has the settings with which it was, whoever of the team has left since."""

from decimal import Decimal
from typing import Any

import pytest

from engine.core.commands import Order, RemoveMember, RetryWork, Submit, SupervisorSpec
from engine.core.events import CommandApplied, RunSubmitted
from engine.core.finished import resubmission_of
from engine.core.records.records import field_names
from engine.core.specs.failure_policies import Retry
from engine.core.specs.limits import Limits
from engine.core.specs.options import SupervisorOptions
from tests.story import applied, ended, only
from tests.world import LONG, World, agent, team_world

EVERY_SETTING: dict[str, Any] = {
    "request": {"parse": [1, None]},
    "supervisor": "@s2",
    "on_failure": (Retry(3),),
    "priority": 2,
    "deadline_s": 90.5,
    "limits": Limits(tokens=9_000, cost_usd=Decimal("0.5"), then="ask"),
    "category": "research_tasks",
    "conversation": "letters",
    "labels": {"team": "web"},
}


SHORT = "parse it\nline by line, and then write what each is"
"""A request that a summary holds whole, beyond its title."""


def two_teams() -> World:
    options = SupervisorOptions(strategies={"research_tasks": "parallel"})
    below = SupervisorSpec(name="below", members=[agent("bob")], options=options)
    return team_world(agent("ada"), below)


def over(world: World, command: Submit) -> RunSubmitted:
    """Submit a request, let its run end, and return how it was submitted."""
    event: RunSubmitted = only(world.order(command), "run_submitted")
    world.settle()
    assert event.run_id not in world.state.runs
    return event


def test_every_setting_of_a_request_is_submitted_again() -> None:
    assert {*EVERY_SETTING} == {*field_names(Submit)} - {"type", "after"}
    command, bare = Submit(**EVERY_SETTING), Submit(request="x", supervisor="@s1")
    world = two_teams()

    assert resubmission_of(over(world, command)) == command
    assert resubmission_of(over(world, bare)) == Submit(request="x", supervisor="@s1", priority=5)


def test_what_an_engine_has_looked_up_of_a_run_is_what_is_submitted() -> None:
    world = two_teams()
    event = over(world, Submit(**EVERY_SETTING))

    for sender in ("test", ""):
        retry = Order(
            id=f"again-{sender}", command=RetryWork(target="@r1"), sender=sender, again=resubmission_of(event)
        )
        events = world.say(retry)
        assert resubmission_of(only(events, "run_submitted")) == resubmission_of(event)
        (said,) = [one for one in events if isinstance(one, CommandApplied)]
        assert said.summary == f"submitted r1 again as {said.result['run_id']}"


@pytest.mark.parametrize("is_looked_up", [True, False])
def test_a_request_of_a_team_that_has_left_goes_to_the_first_root(*, is_looked_up: bool) -> None:
    world = two_teams()
    event = over(world, Submit(request="parse it", supervisor="below", conversation="letters"))
    for name in ("bob", "below"):
        applied(world, RemoveMember(target=name, mode="abort"))

    again = resubmission_of(event) if is_looked_up else None
    submitted = only(world.say(Order(id="again", command=RetryWork(target="r1"), again=again)), "run_submitted")

    assert (submitted.supervisor_id, submitted.request, submitted.conversation) == ("s1", "parse it", "letters")


@pytest.mark.parametrize("request_", [SHORT, {"parse": 1}, LONG])
def test_a_preview_submits_what_the_summary_of_a_run_tells_where_the_run_was(request_: Any) -> None:
    world = two_teams()
    over(world, Submit(request=request_, supervisor="below", conversation="letters"))

    submitted = only(world.order(RetryWork(target="r1")), "run_submitted")

    expected = request_ if request_ == SHORT else ended(world).title
    assert (submitted.supervisor_id, submitted.request, submitted.conversation) == ("s2", expected, "letters")
