"""A deadline is kept: warned about, then what it is for stops, and what is done stays."""

from typing import Any

import pytest

from engine.core.commands import Cancel, RetryWork, SetDeadline, Submit, SupervisorSpec
from engine.core.effects import StopAttempt
from engine.core.specs.limits import Limits
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import Retry, Skip
from engine.core.state import RunStatus, TaskStatus
from tests.legal import assert_legal
from tests.story import applied, attempt, ended, kinds, only, refused, submitted, task_of, works
from tests.world import World, agent, team_world


def duo(mode: str = "sequential", **fields: Any) -> World:
    return team_world(agent("ada"), agent("bob"), mode=mode, **fields)


def test_a_run_is_warned_about_at_most_of_its_time_and_ended_at_the_end_with_what_is_done() -> None:
    world = duo()
    run_id = submitted(world, deadline_s=60)
    world.now_ms += 30_000
    world.succeed(attempt(world, "ada"), "half the work")

    warned = only(world.due(f"warn:{run_id}"), "deadline_warned")
    assert (warned.at_ms, warned.deadline_ms) == (1_000 + 48_000, 1_000 + 60_000)
    passed = only(world.due(f"deadline:{run_id}"), "deadline_passed")
    assert passed.error == "deadline of 60 s passed"
    world.stop(attempt(world, "bob"), "a quarter")

    run = ended(world)
    assert (run.status, run.error) == (RunStatus.FAILED, "deadline of 60 s passed")
    assert run.output == "a quarter"
    assert not world.state.timers


def test_what_has_not_started_ends_at_the_deadline_and_never_starts() -> None:
    world = duo()
    run_id = submitted(world, deadline_s=60)
    tasks = {task.title: task for task in world.state.tasks.values()}

    world.due(f"deadline:{run_id}")

    assert (tasks["bob"].status, tasks["bob"].error) == (TaskStatus.CANCELLED, "deadline of 60 s passed")
    world.stop(attempt(world, "ada"))
    assert (tasks["ada"].status, tasks["ada"].error) == (TaskStatus.FAILED, "deadline of 60 s passed")
    assert len(world.starts) == 1


def test_work_goes_on_to_its_next_step_for_the_grace_and_is_stopped_after_it() -> None:
    world = duo(options=SupervisorOptions(grace_s=3))
    run_id = submitted(world, deadline_s=60)

    world.due(f"deadline:{run_id}")
    assert [(one.now, one.grace_ms) for one in world.effects if isinstance(one, StopAttempt)] == [(False, 3_000)]
    over = only(world.due(f"grace:{run_id}"), "grace_ended")

    assert over.at_ms == 1_000 + 63_000
    assert [one.now for one in world.effects if isinstance(one, StopAttempt)] == [True]


def test_without_grace_work_stops_where_it_is() -> None:
    world = duo(options=SupervisorOptions(grace_s=0))
    run_id = submitted(world, deadline_s=1)

    world.due(f"deadline:{run_id}")

    assert [one.now for one in world.effects if isinstance(one, StopAttempt)] == [True]


def test_what_ends_well_within_the_grace_is_kept() -> None:
    world = team_world(agent("ada"))
    run_id = submitted(world, deadline_s=60)
    world.due(f"deadline:{run_id}")

    world.succeed(attempt(world, "ada"), "just so")

    assert (ended(world).status, ended(world).output, ended(world).done) == (RunStatus.FAILED, "just so", 1)


def test_a_run_in_time_leaves_no_timer() -> None:
    world = team_world(agent("ada"))
    submitted(world, deadline_s=60)

    world.succeed(attempt(world, "ada"))

    assert not world.state.timers
    assert world.due("deadline:r1") == []


@pytest.mark.parametrize("deadline_s", [0, -1, float("nan"), 1e12])
def test_a_deadline_that_does_not_lie_ahead_is_refused(deadline_s: float) -> None:
    world = duo()
    assert "deadline_s must be a number of seconds above 0" in refused(
        world, Submit(request="go", deadline_s=deadline_s)
    )
    run_id = submitted(world)
    assert "deadline_s must be a number of seconds above 0" in refused(
        world, SetDeadline(target=run_id, deadline_s=deadline_s)
    )


def test_the_tightest_of_those_above_counts_and_an_earlier_one_of_the_run_itself() -> None:
    below = SupervisorSpec(
        name="below", members=[agent("cyd")], options=SupervisorOptions(limits=Limits(run_s=90, warn_at=0.5))
    )
    world = team_world(agent("ada"), below, options=SupervisorOptions(limits=Limits(run_s=60)))

    for deadline_s, due_s in ((None, 60), (70, 60), (10, 10)):
        run_id = submitted(world, supervisor="below", deadline_s=deadline_s)
        assert world.state.runs[run_id].deadline_ms == 1_000 + due_s * 1_000
        assert world.state.timers[f"warn:{run_id}"].due_ms == 1_000 + due_s * 500


def test_a_run_of_many_tasks_sets_two_timers_and_every_task_knows_the_moment() -> None:
    world = team_world(agent("ada"), agent("bob"))
    submitted(world, deadline_s=60)
    world.ask(attempt(world, "ada"), "bob", list(range(500)))

    assert len(world.state.timers) == 2
    assert {task.deadline_ms for task in world.state.tasks.values()} == {61_000}


def test_a_deadline_of_a_task_ends_the_task_and_what_depends_on_it_is_skipped() -> None:
    world = duo()
    submitted(world)
    task = task_of(world, "ada")
    applied(world, SetDeadline(target=task.id, deadline_s=5))

    world.due(f"deadline:{task.id}")
    world.stop(attempt(world, "ada"), "so far")

    assert (ended(world).status, ended(world).error) == (RunStatus.FAILED, "ada: deadline of 5 s passed")
    assert (task.status, task.output) == (TaskStatus.FAILED, "so far")


def test_a_deadline_of_an_optional_task_lets_the_others_go_on() -> None:
    world = team_world(agent("ada", on_failure=[Skip()]), agent("bob"))
    submitted(world)
    key = attempt(world, "ada")
    applied(world, SetDeadline(target=key[0], deadline_s=5))
    world.due(f"deadline:{key[0]}")

    world.stop(key)

    assert works(world) == ["bob"]


def test_a_task_that_waits_ends_at_its_deadline_without_having_started() -> None:
    world = duo()
    submitted(world)
    waiting = next(task for task in world.state.tasks.values() if task.title == "bob")
    applied(world, SetDeadline(target=waiting.id, deadline_s=5))

    world.due(f"deadline:{waiting.id}")
    assert waiting.status is TaskStatus.FAILED
    world.succeed(attempt(world, "ada"))

    assert ended(world).error == "bob: deadline of 5 s passed"
    assert len(world.starts) == 1


def test_a_task_that_backs_off_is_not_tried_again_after_its_deadline() -> None:
    world = team_world(agent("ada", on_failure=[Retry(5, 100.0, 100.0)]))
    submitted(world, deadline_s=10)
    world.fail(attempt(world, "ada"))

    world.settle()

    assert ended(world).error == "deadline of 10 s passed"
    assert len(world.starts) == 1


def test_what_an_attempt_asked_for_ends_with_it() -> None:
    world = team_world(agent("ada"), agent("bob", max_concurrency=1), participants=["ada"])
    run_id = submitted(world, deadline_s=60)
    world.ask(attempt(world, "ada"), "bob", ["x", "y"])

    passed = only(world.due(f"deadline:{run_id}"), "deadline_passed")
    assert (len(passed.ended), len(passed.stopping)) == (1, 2)
    world.stop(attempt(world, "bob"))
    world.stop(attempt(world, "ada"))

    assert ended(world).status is RunStatus.FAILED


def test_a_deadline_is_moved_while_the_run_works_and_what_is_below_follows() -> None:
    world = duo()
    run_id = submitted(world, deadline_s=60)
    task = task_of(world, "ada")
    applied(world, SetDeadline(target=task.id, deadline_s=30))

    applied(world, SetDeadline(target=run_id, deadline_s=10))
    assert task.deadline_ms == 11_000
    applied(world, SetDeadline(target=run_id, deadline_s=100))
    assert task.deadline_ms == 31_000
    applied(world, SetDeadline(target=task.id, deadline_s=None))
    assert task.deadline_ms == 101_000
    applied(world, SetDeadline(target=run_id, deadline_s=None))

    assert {one.deadline_ms for one in world.state.tasks.values()} == {None}
    assert not world.state.timers
    assert world.due(f"deadline:{run_id}") == []


def test_a_task_cannot_have_longer_than_its_run() -> None:
    world = duo()
    submitted(world, deadline_s=60)

    reason = refused(world, SetDeadline(target=task_of(world, "ada").id, deadline_s=61))

    assert "has to have ended in 60 s" in reason


def test_a_run_cannot_have_longer_than_its_supervisor_allows() -> None:
    world = duo(options=SupervisorOptions(limits=Limits(run_s=60)))
    run_id = submitted(world)
    world.now_ms += 15_000

    assert "'chief' lets a run take 60 s, and 45 s of that are left" in refused(
        world, SetDeadline(target=run_id, deadline_s=50)
    )
    assert "lets a run take" in refused(world, SetDeadline(target=run_id, deadline_s=None))
    applied(world, SetDeadline(target=run_id, deadline_s=40))


def test_what_has_ended_or_is_being_stopped_needs_no_deadline() -> None:
    world = duo(mode="parallel")
    run_id = submitted(world)
    done, other = attempt(world, "ada"), task_of(world, "bob")
    world.succeed(done)
    assert "has ended already (done)" in refused(world, SetDeadline(target=done[0], deadline_s=5))
    applied(world, Cancel(target=run_id))

    assert "being stopped" in refused(world, SetDeadline(target=run_id, deadline_s=5))
    assert "being stopped" in refused(world, SetDeadline(target=other.id, deadline_s=5))
    world.settle()
    assert "has ended already (cancelled)" in refused(world, SetDeadline(target=run_id, deadline_s=5))


def test_a_deadline_that_passes_while_no_engine_runs_is_kept_by_the_next() -> None:
    world = duo()
    run_id = submitted(world, deadline_s=60)
    world.now_ms += 600_000

    world.restart()
    assert world.timers[f"deadline:{run_id}"] == 61_000
    world.due(f"deadline:{run_id}")
    world.settle()

    assert ended(world).error == "deadline of 60 s passed"


def test_an_engine_that_is_lost_in_the_grace_has_stopped_what_was_at_work() -> None:
    world = duo()
    run_id = submitted(world, deadline_s=60)
    world.due(f"deadline:{run_id}")

    events = world.crash()

    assert "run_finished" in kinds(events)
    assert ended(world).status is RunStatus.FAILED
    assert not world.state.timers


def test_delegated_work_has_the_grace_of_the_supervisor_however_it_is_stopped() -> None:
    world = team_world(
        agent("lead"), agent("hand", "dig"), mode="delegate", options=SupervisorOptions(lead="lead", grace_s=30)
    )
    run_id = submitted(world, deadline_s=60)
    lead = attempt(world, "lead")
    world.ask(lead, "dig", ["here"])
    hand = attempt(world, "hand")

    world.due(f"deadline:{run_id}")
    at_the_deadline = {stop.task_id: stop.grace_ms for stop in world.effects if isinstance(stop, StopAttempt)}
    world.stop(lead)
    as_nobody_waits = {stop.task_id: stop.grace_ms for stop in world.effects if isinstance(stop, StopAttempt)}

    assert at_the_deadline == {lead[0]: 30_000, hand[0]: 30_000}
    assert as_nobody_waits == {hand[0]: 30_000}


def test_cancelled_work_has_the_grace_of_its_supervisor_and_the_hosts_where_none_is_set() -> None:
    for options, grace_ms in ((SupervisorOptions(grace_s=0.5), 500), (SupervisorOptions(), None)):
        world = team_world(agent("ada"), options=options)
        run_id = submitted(world)

        applied(world, Cancel(target=run_id))

        assert [stop.grace_ms for stop in world.effects if isinstance(stop, StopAttempt)] == [grace_ms]


def test_a_task_that_is_tried_again_by_hand_has_only_the_deadline_of_its_run() -> None:
    world = duo("parallel")
    run_id = submitted(world, deadline_s=600)
    failed = attempt(world, "ada")
    applied(world, SetDeadline(target=failed[0], deadline_s=60))
    world.fail(failed)

    applied(world, RetryWork(target=failed[0]))

    assert_legal(world.state)
    task = task_of(world, "ada")
    assert (task.deadline_after_ms, task.deadline_ms) == (None, world.state.runs[run_id].deadline_ms)
