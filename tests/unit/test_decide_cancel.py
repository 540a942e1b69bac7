"""Cancel: what has not started ends, what is at work stops at its next step, what is done stays."""

import pytest

from dashboard.views.changes.targets import describe_work
from engine.core.commands import Cancel, Pause, SupervisorSpec
from engine.core.effects import AnswerCall
from engine.core.specs.limits import Limits
from engine.core.specs.spec import Retry
from engine.core.state import RunStatus, TaskStatus
from tests.story import applied, attempt, ended, kinds, member, only, refused, submitted, task_of, works
from tests.world import agent, team_world


def test_a_cancelled_run_keeps_what_is_done_and_the_partial_result_of_what_was_at_work() -> None:
    world = team_world(agent("ada"), agent("bob"), agent("cyd"))
    run_id = submitted(world)
    world.succeed(attempt(world, "ada"), "from ada")
    bob = attempt(world, "bob")

    result = applied(world, Cancel(target=run_id))

    assert result == {"cancelled": 1, "stopping": 1}
    assert world.stopping == {bob}
    assert run_id in world.state.runs
    events = world.stop(bob, "half of it")
    assert only(events, "attempt_cancelled").partial == "half of it"
    assert (ended(world).status, ended(world).output) == (RunStatus.CANCELLED, "from ada")


def test_a_cancelled_run_starts_nothing_more() -> None:
    world = team_world(agent("ada"), agent("bob"))
    run_id = submitted(world)
    world.order(Cancel(target=run_id))

    world.succeed(attempt(world, "ada"), "just done")

    assert works(world) == []
    assert ended(world).status is RunStatus.CANCELLED


def test_cancelling_reaches_every_descendant() -> None:
    below = SupervisorSpec(name="below", members=[agent("cyd")])
    world = team_world(agent("ada"), agent("bob", "sum"), below, participants=["ada"])
    run_id = submitted(world)
    world.ask(attempt(world, "ada"), "sum", ["x", "y"], call="k1")
    world.ask(attempt(world, "ada"), "below", ["z"], call="k2")
    at_work = {attempt(world, name) for name in ("ada", "bob", "cyd")}

    world.order(Cancel(target=run_id))

    assert world.stopping == at_work
    for key in at_work:
        world.stop(key)
    assert ended(world).status is RunStatus.CANCELLED


def test_a_cancelled_task_lets_go_on_who_waits_for_it_without_failing_the_run() -> None:
    world = team_world(agent("ada"), agent("bob"))
    submitted(world)
    world.order(Cancel(target=task_of(world, "ada").id))

    world.stop(attempt(world, "ada"), "half")

    assert [one.output for one in world.started[attempt(world, "bob")].inputs] == ["half"]
    world.settle()
    assert ended(world).status is RunStatus.DONE


def test_a_cancelled_delegation_is_told_to_who_asked() -> None:
    world = team_world(agent("ada"), agent("bob", "sum"), participants=["ada"])
    submitted(world)
    world.ask(attempt(world, "ada"), "sum", ["x"])
    bob = attempt(world, "bob")

    world.order(Cancel(target=bob[0]))
    world.stop(bob)

    (answer,) = [effect for effect in world.effects if isinstance(effect, AnswerCall)]
    assert [(one.ok, one.error) for one in answer.answers] == [(False, "cancelled by the operator")]


def test_cancelling_a_task_that_backs_off_ends_it_at_once() -> None:
    world = team_world(agent("ada", on_failure=[Retry()]))
    submitted(world)
    key = attempt(world, "ada")
    world.fail(key)

    events = world.order(Cancel(target=key[0]))

    assert "run_finished" in kinds(events)
    assert world.state.timers == {}


def test_the_work_of_an_agent_is_also_what_waits_for_it_alone_and_not_what_others_could_take() -> None:
    world = team_world(agent("boss"), agent("crawler", "crawl", "sum"), agent("reader", "sum"), participants=["boss"])
    submitted(world)
    world.ask(attempt(world, "boss"), "crawl", ["a", "b", "c"], call="k1")
    world.order(Pause(target="reader"))
    world.ask(attempt(world, "boss"), "sum", ["d"], call="k2")
    crawler = member(world, "crawler")
    assert (
        describe_work(crawler, world.state)
        == f"1 attempt under way ({task_of(world, 'crawler').title}), 2 tasks waiting"
    )

    result = applied(world, Cancel(target="crawler"))
    world.stop(attempt(world, "crawler"))

    assert result == {"cancelled": 2, "stopping": 1}
    (left,) = [task for task in world.state.tasks.values() if not task.ended and task.title == "d"]
    assert left.attempt is not None


def test_work_that_was_set_aside_is_still_that_of_its_agent() -> None:
    world = team_world(agent("ada"))
    submitted(world)
    world.order(Pause(target="ada", now=True))
    world.stop(attempt(world, "ada"))
    assert (
        describe_work(member(world, "ada"), world.state) == "nothing under way, 1 begun and set aside, 0 tasks waiting"
    )

    world.order(Cancel(target="ada"))

    assert ended(world).status is RunStatus.CANCELLED
    assert refused(world, Cancel(target="ada")) == "ada is working on no task, and none waits for it alone"


def test_what_has_ended_is_not_cancelled() -> None:
    world = team_world(agent("ada"), agent("bob"))
    run_id = submitted(world)
    done = attempt(world, "ada")[0]
    world.succeed(attempt(world, "ada"))

    assert "ended already" in refused(world, Cancel(target=done))
    world.succeed(attempt(world, "bob"))
    assert "ended already (done)" in refused(world, Cancel(target=run_id))
    assert "no open run or task" in refused(world, Cancel(target="r77"))
    assert "no open run or task" in refused(world, Pause(target="r77"))
    assert refused(world, Cancel(target="adda")) == "there is no 'adda' here; did you mean ada?"


def test_a_run_is_cancelled_once() -> None:
    world = team_world(agent("ada"))
    run_id = submitted(world)
    world.order(Cancel(target=run_id))

    assert "already" in refused(world, Cancel(target=run_id))


def test_an_attempt_that_the_engine_lost_while_it_was_stopping_is_not_started_again() -> None:
    world = team_world(agent("ada"), agent("bob"))
    run_id = submitted(world)
    world.order(Cancel(target=run_id))

    world.crash()

    assert works(world) == []
    assert ended(world).status is RunStatus.CANCELLED


def test_an_attempt_that_may_end_under_a_spent_budget_is_not_begun_again_after_the_engine_was_lost() -> None:
    world = team_world(agent("ada"), agent("bob", "dig"))
    submitted(world, limits=Limits(attempts=1))
    world.ask(attempt(world, "ada"), "dig", ["here"])
    assert works(world) == ["ada"]

    world.crash()

    assert works(world) == []
    assert ended(world).status is RunStatus.FAILED
    assert world.state.tasks == {}


def test_a_task_that_is_cancelled_before_it_starts_never_does() -> None:
    world = team_world(agent("ada"), agent("bob"), agent("cyd"))
    submitted(world)
    bob = next(task for task in world.state.tasks.values() if task.title == "bob")

    world.order(Cancel(target=bob.id))
    world.settle()

    assert bob.status is TaskStatus.CANCELLED
    assert [start.agent for start in world.starts] == ["ada", "cyd"]


@pytest.mark.parametrize("what", ["run", "task"])
def test_the_reason_of_a_cancel_stands_with_all_that_it_ends(what: str) -> None:
    world = team_world(agent("ada"), agent("bob"), mode="parallel")
    run_id = submitted(world)
    ada = attempt(world, "ada")

    world.order(Cancel(target=run_id if what == "run" else ada[0], reason="too dear\nby far"))
    world.stop(ada)

    assert world.state.tasks[ada[0]].error == "too dear"
    if what == "run":
        world.stop(attempt(world, "bob"))
        assert (ended(world).status, ended(world).error) == (RunStatus.CANCELLED, "too dear")
