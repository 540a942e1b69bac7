"""A tool call that was cut off is in doubt: only a person says whether it happened, and nothing goes on before."""

import pytest

from engine.core.commands import (
    Answer,
    Cancel,
    ChangeSupervisor,
    Pause,
    RemoveMember,
    Resume,
    RetryWork,
    SwapAgent,
)
from engine.core.records.records import copy_with
from engine.core.records.values import Usage
from engine.core.specs.limits import Limits
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import Retry, Skip
from engine.core.state import RunStatus, TaskStatus
from tests.legal import assert_legal
from tests.story import applied, attempt, ended, kinds, only, submitted, works
from tests.world import World, agent, team_world


def paying() -> World:
    """Return a world whose ada is in the middle of a call of `pay`."""
    world = team_world(agent("ada", on_failure=[Retry(1, 0.001, 0.001), Skip()]))
    submitted(world)
    world.record(attempt(world, "ada"), "read", "page")
    world.call(attempt(world, "ada"), "pay")
    return world


def question(world: World) -> str:
    (found,) = world.state.escalations
    return found


def test_after_a_crash_in_the_middle_of_a_call_a_person_is_asked_and_nothing_starts() -> None:
    world = paying()

    events = world.crash()

    asked = only(events, "escalated")
    assert (asked.kind, asked.options) == ("doubt", ["again", "ran", "fail"])
    assert asked.question == "ada was cut off while it called pay; did that happen?"
    assert works(world) == []
    assert next(task.status for task in world.state.tasks.values() if task.title == "ada") is TaskStatus.IN_DOUBT


def test_a_state_in_which_a_person_is_asked_twice_about_one_call_is_not_legal() -> None:
    world = paying()
    world.crash()
    (asked,) = world.state.escalations.values()

    world.state.escalations["e99"] = copy_with(asked, id="e99")

    with pytest.raises(AssertionError, match="a person is asked twice about one call of a tool"):
        assert_legal(world.state)


def test_a_call_cut_off_for_what_is_more_urgent_is_asked_about_too() -> None:
    world = paying()
    cut_off = attempt(world, "ada")
    submitted(world, "now", priority=0)

    events = world.stop(cut_off)

    assert only(events, "escalated").subject == cut_off[0]
    assert world.state.tasks[cut_off[0]].status is TaskStatus.IN_DOUBT


def test_what_has_happened_is_answered_from_what_the_person_gave() -> None:
    world = paying()
    world.crash()

    applied(world, Answer(escalation=question(world), answer="ran", output="receipt 7"))

    assert world.started[attempt(world, "ada")].steps == {"read": "page", "pay": "receipt 7"}


def test_what_has_not_happened_is_called_again() -> None:
    world = paying()
    world.crash()

    applied(world, Answer(escalation=question(world), answer="again"))

    assert world.started[attempt(world, "ada")].steps == {"read": "page"}
    world.settle()
    assert ended(world).status is RunStatus.DONE


def test_a_person_may_let_it_fail() -> None:
    world = paying()
    world.crash()

    events = world.order(Answer(escalation=question(world), answer="fail"))

    assert only(events, "task_failed").error == "it is unknown whether pay happened"


def test_a_call_with_an_end_is_not_in_doubt() -> None:
    world = paying()
    world.record(attempt(world, "ada"), "pay", "receipt")

    world.crash()

    assert works(world) == ["ada"]


def test_several_calls_are_asked_about_one_after_the_other() -> None:
    world = paying()
    world.call(attempt(world, "ada"), "mail")
    world.crash()

    applied(world, Answer(escalation=question(world), answer="ran", output=1))
    assert works(world) == []
    applied(world, Answer(escalation=question(world), answer="ran", output=2))

    assert world.started[attempt(world, "ada")].steps == {"read": "page", "pay": 1, "mail": 2}


def test_a_timeout_in_the_middle_of_a_call_is_in_doubt_before_it_is_a_failure() -> None:
    world = paying()

    events = world.fail(attempt(world, "ada"), "took longer than 1 s")

    assert "escalated" in kinds(events)
    assert "retry_scheduled" not in kinds(events)


def test_a_swap_that_aborts_or_migrates_in_the_middle_of_a_call_asks_first() -> None:
    for mode in ("abort", "migrate"):
        world = paying()
        applied(world, SwapAgent(agent="ada", spec=agent("ada", timeout_s=9), mode=mode))
        world.stop(next(iter(world.stopping)))

        assert (works(world), len(world.state.escalations)) == ([], 1)
        applied(world, Answer(escalation=question(world), answer="again"))
        assert works(world) == ["ada"]


@pytest.mark.parametrize("before", [True, False])
def test_a_pause_does_not_let_a_task_in_doubt_begin(before: bool) -> None:
    world = paying()
    if before:
        applied(world, Pause(target="r1"))
    world.crash()
    if not before:
        applied(world, Pause(target="r1"))

    applied(world, Resume(target="r1"))

    assert works(world) == []


def test_a_task_in_doubt_can_be_cancelled() -> None:
    world = paying()
    world.crash()

    applied(world, Cancel(target="r1"))

    assert ended(world).status is RunStatus.CANCELLED
    assert not world.state.escalations


def test_what_was_in_doubt_at_an_agent_that_is_removed_goes_to_another() -> None:
    world = team_world(agent("ada", "pay"), agent("bob", "pay"), participants=["ada"])
    submitted(world)
    cut_off = attempt(world, "ada")
    world.call(cut_off, "pay")
    world.order(RemoveMember(target="ada", mode="requeue"))
    world.stop(cut_off)

    applied(world, Answer(escalation=question(world), answer="again"))

    assert works(world) == ["bob"]
    assert [one.name for one in world.state.agents.values()] == ["bob"]


def over_budget(*tools: str) -> World:
    """Return a world whose ada was cut off in calls of `tools` while a person was asked about its budget."""
    world = team_world(agent("ada", task_limits=Limits(tokens=5, then="ask")))
    submitted(world)
    cut_off = attempt(world, "ada")
    world.record(cut_off, "read", "page", usage=Usage(tokens_in=7))
    for tool in tools:
        world.call(cut_off, tool)
    world.fail(cut_off)
    return world


def test_what_is_in_doubt_is_asked_about_once_the_budget_is_settled_and_is_legal_before() -> None:
    world = over_budget("pay", "mail")
    assert [one.kind for one in world.state.escalations.values()] == ["budget"]
    assert_legal(world.state)

    for answer, asked in (("continue", "pay"), ("again", "mail")):
        applied(world, Answer(escalation=question(world), answer=answer))
        assert next(iter(world.state.escalations.values())).detail["name"] == asked
        assert_legal(world.state)
    applied(world, Answer(escalation=question(world), answer="again"))

    assert works(world) == ["ada"]


def test_what_is_in_doubt_is_asked_about_when_the_budget_is_found_to_be_larger() -> None:
    few = SupervisorOptions(task_limits=Limits(tokens=5, then="ask"))
    world = team_world(agent("ada"), agent("bob"), participants=["ada"], options=few)
    submitted(world)
    cut_off = attempt(world, "ada")
    world.ask(cut_off, "bob", ["x"], busy=True)
    world.call(cut_off, "pay")
    world.record(attempt(world, "ada"), "read", "page", usage=Usage(tokens_in=7))
    world.fail(cut_off)
    assert [one.kind for one in world.state.escalations.values()] == ["budget"]
    applied(world, ChangeSupervisor(supervisor="chief", options=SupervisorOptions(task_limits=Limits(tokens=1_000))))

    world.record(attempt(world, "bob"), "write", usage=Usage(tokens_in=1))

    assert_legal(world.state)
    assert [one.kind for one in world.state.escalations.values()] == ["doubt"]


def test_a_task_that_failed_in_doubt_is_asked_about_again_before_it_is_tried_again() -> None:
    world = team_world(agent("ada"), agent("bob"), mode="parallel")
    submitted(world)
    cut_off = attempt(world, "ada")
    world.call(cut_off, "pay")
    world.fail(cut_off)
    applied(world, Answer(escalation=question(world), answer="fail"))

    applied(world, RetryWork(target=cut_off[0]))

    assert (world.state.escalations[question(world)].kind, works(world)) == ("doubt", ["bob"])
    assert_legal(world.state)
    applied(world, Answer(escalation=question(world), answer="ran", output="receipt 7"))
    assert world.started[attempt(world, "ada")].steps == {"pay": "receipt 7"}


def test_an_attempt_that_fails_in_a_call_while_its_task_is_being_ended_is_not_asked_about() -> None:
    world = team_world(agent("ada", task_limits=Limits(attempts=1, then="ask")), agent("bob"), participants=["ada"])
    submitted(world)
    world.ask(attempt(world, "ada"), "bob", ["x"])  # it would be the second attempt of this task, and is asked about
    world.call(attempt(world, "ada"), "pay")
    applied(world, Answer(escalation=question(world), answer="stop"))

    world.fail(attempt(world, "ada"))

    assert (ended(world).status, world.state.escalations) == (RunStatus.FAILED, {})
    assert_legal(world.state)
