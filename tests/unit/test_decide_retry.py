"""A failure is tried again after a back-off that is a journaled decision, or by hand."""

import pytest

from engine.core.commands import Cancel, RemoveMember, RetryWork, Submit, SupervisorSpec
from engine.core.records.records import JsonValue
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import Retry
from engine.core.state import RunStatus, TaskStatus
from tests.story import applied, attempt, attempts, ended, kinds, only, refused, submitted, task_of, works
from tests.world import World, agent, team_world


def flaky(retries: int = 2, base_s: float = 0.5, cap_s: float = 30.0) -> World:
    world = team_world(agent("ada", on_failure=[Retry(retries, base_s, cap_s)]), agent("bob"))
    submitted(world)
    return world


@pytest.mark.parametrize(("jitter", "delay_ms"), [(0.0, 0), (0.5, 500), (0.999, 999)])
def test_the_back_off_is_drawn_with_full_jitter_and_journaled_with_its_draw(jitter: float, delay_ms: int) -> None:
    world = flaky(base_s=1.0)
    world.jitter = jitter

    scheduled = only(world.fail(attempt(world, "ada")), "retry_scheduled")

    assert (scheduled.retry, scheduled.delay_ms, scheduled.jitter) == (1, delay_ms, jitter)
    assert scheduled.due_ms == scheduled.at_ms + delay_ms


def test_the_ceiling_doubles_up_to_its_cap() -> None:
    world = flaky(retries=4, base_s=1.0, cap_s=3.0)
    world.jitter = 0.5
    delays = []
    for _ in range(4):
        delays.append(only(world.fail(attempt(world, "ada")), "retry_scheduled").delay_ms)
        world.due(next(iter(world.timers)))

    assert delays == [500, 1000, 1500, 1500]


def test_a_task_that_backs_off_holds_no_slot_and_is_tried_again_when_it_is_time() -> None:
    world = flaky()
    key = attempt(world, "ada")
    world.fail(key)
    task = world.state.tasks[key[0]]
    assert (task.status, works(world)) == (TaskStatus.RETRYING, [])

    world.due(f"retry:{key[0]}")

    assert attempts(world, "ada") == [(key[0], 2)]


def test_an_early_timer_changes_nothing() -> None:
    world = flaky(base_s=10.0)
    world.fail(attempt(world, "ada"))
    (timer_id,) = world.timers
    world.timers[timer_id] = 0

    assert world.due(timer_id) == []


def test_after_the_last_retry_the_task_fails_with_the_last_error() -> None:
    world = flaky(retries=1)
    world.fail(attempt(world, "ada"), "first")
    world.due(next(iter(world.timers)))

    events = world.fail(attempt(world, "ada"), "second")

    assert only(events, "task_failed").error == "second"
    assert ended(world).error == "ada: second"


def test_a_back_off_outlives_the_engine_with_the_moment_that_was_journaled() -> None:
    world = flaky(base_s=10.0)
    world.fail(attempt(world, "ada"))
    before = dict(world.timers)

    world.crash()

    assert world.timers == before
    world.settle()
    assert ended(world).status is RunStatus.DONE


def test_steps_that_an_attempt_finished_are_given_to_the_next_one() -> None:
    world = flaky()
    world.record(attempt(world, "ada"), "read", "page")
    world.fail(attempt(world, "ada"))
    world.due(next(iter(world.timers)))

    assert world.started[attempt(world, "ada")].steps == {"read": "page"}


def test_a_step_that_is_reported_twice_is_recorded_once() -> None:
    world = flaky()
    world.record(attempt(world, "ada"), "read", "page")

    assert world.record(attempt(world, "ada"), "read", "another page") == []


def test_a_back_off_can_be_cut_short_by_hand() -> None:
    world = flaky(base_s=10.0)
    key = attempt(world, "ada")
    world.fail(key)

    applied(world, RetryWork(target=key[0]))

    assert attempts(world, "ada") == [(key[0], 2)]
    assert world.due(next(iter(world.timers))) == []


def test_a_failed_task_can_be_tried_again_by_hand_while_the_rest_of_its_graph_is_at_work() -> None:
    world = team_world(agent("ada"), agent("bob"), mode="parallel")
    submitted(world)
    key = attempt(world, "ada")
    world.fail(key)
    assert world.state.tasks[key[0]].status is TaskStatus.FAILED

    applied(world, RetryWork(target=key[0]))

    assert works(world) == ["bob", "ada"]
    world.settle()
    assert (ended(world).status, ended(world).failed) == (RunStatus.DONE, 0)


def status_of_join(world: World) -> TaskStatus:
    (join,) = (task for task in world.state.tasks.values() if task.kind == "join")
    return join.status


def test_what_was_skipped_because_of_a_failed_task_waits_for_it_again() -> None:
    world = team_world(agent("ada"), agent("bob"), agent("cyd"), mode="parallel", max_parallel=2)
    submitted(world)
    ada = attempt(world, "ada")
    world.fail(ada)

    applied(world, RetryWork(target=ada[0]))

    assert status_of_join(world) is TaskStatus.WAITING
    world.settle()
    assert ended(world).status is RunStatus.DONE


def test_what_was_skipped_waits_until_each_failure_before_it_is_tried_again() -> None:
    world = team_world(agent("ada"), agent("bob"), agent("cyd"), mode="parallel", max_parallel=3)
    submitted(world)
    ada, bob = attempt(world, "ada"), attempt(world, "bob")
    world.fail(ada)
    world.fail(bob)

    applied(world, RetryWork(target=ada[0]))
    assert status_of_join(world) is TaskStatus.SKIPPED

    applied(world, RetryWork(target=bob[0]))
    assert status_of_join(world) is TaskStatus.WAITING
    world.settle()
    assert ended(world).status is RunStatus.DONE


def test_a_finished_run_can_be_submitted_again() -> None:
    world = team_world(agent("ada"))
    first = submitted(world, "parse it")
    world.fail(attempt(world, "ada"))

    again = applied(world, RetryWork(target=first))["run_id"]

    assert again != first
    assert world.state.runs[str(again)].request == "parse it"


def test_what_is_done_or_at_work_is_not_tried_again() -> None:
    world = team_world(agent("ada"), agent("bob"))
    run_id = submitted(world)
    done = attempt(world, "ada")[0]
    world.succeed(attempt(world, "ada"))

    assert "only a failed" in refused(world, RetryWork(target=done))
    assert "only a failed" in refused(world, RetryWork(target=task_of(world, "bob").id))
    assert "still open" in refused(world, RetryWork(target=run_id))
    assert "no open run or task" in refused(world, RetryWork(target="t999"))


def test_a_failed_task_of_a_run_that_is_cancelled_is_not_tried_again() -> None:
    world = team_world(agent("ada"), agent("bob"), mode="parallel")
    run_id = submitted(world)
    failed = attempt(world, "ada")[0]
    world.fail(attempt(world, "ada"))
    world.order(Cancel(target=run_id))

    assert "cancelled" in refused(world, RetryWork(target=failed))


def test_a_task_of_an_agent_that_leaves_or_has_left_is_not_tried_again() -> None:
    world = team_world(agent("ada", "sum", max_concurrency=2), agent("bob", "sing"), mode="parallel")
    submitted(world, "one")
    submitted(world, "two")
    failed, stopping = attempts(world, "ada")
    world.fail(failed)
    world.order(RemoveMember(target="ada", mode="abort"))

    assert "was removed" in refused(world, RetryWork(target=failed[0]))

    world.stop(stopping)
    assert [one.name for one in world.state.agents.values()] == ["bob"]
    assert "was removed" in refused(world, RetryWork(target=failed[0]))


def test_a_task_of_an_agent_that_drains_can_still_be_tried_again() -> None:
    world = team_world(agent("ada", max_concurrency=2), agent("bob"), mode="parallel")
    submitted(world, "one")
    submitted(world, "two")
    failed = attempts(world, "ada")[0]
    world.fail(failed)
    world.order(RemoveMember(target="ada", mode="drain"))

    applied(world, RetryWork(target=failed[0]))

    assert failed[0] in [task_id for task_id, _ in attempts(world, "ada")]


def test_a_task_does_not_back_off_in_a_run_that_is_cancelled() -> None:
    world = flaky()
    world.order(Cancel(target="r1"))

    events = world.fail(attempt(world, "ada"))

    assert "retry_scheduled" not in kinds(events)
    assert ended(world).status is RunStatus.CANCELLED


def test_an_end_that_is_reported_of_an_earlier_attempt_is_ignored() -> None:
    world = flaky()
    key = attempt(world, "ada")
    world.fail(key)
    world.due(f"retry:{key[0]}")

    assert world.succeed(key) == []
    assert world.state.tasks[key[0]].status is TaskStatus.RUNNING


def test_two_requests_are_two_runs() -> None:
    world = team_world(agent("ada", max_concurrency=2))

    world.order(Submit(request="one"))
    world.order(Submit(request="two"))

    assert list(world.state.runs) == ["r1", "r2"]
    assert len(attempts(world, "ada")) == 2


def test_a_task_is_not_retried_where_the_team_that_comes_after_it_was_removed() -> None:
    nodes: list[JsonValue] = [
        {"name": "one", "agent": "ada"},
        {"name": "two", "agent": "below", "after": ["one"]},
        {"name": "three", "agent": "bob"},
    ]
    options = SupervisorOptions(settings={"nodes": nodes, "output": "three"})
    below = SupervisorSpec(name="below", members=[agent("cyd")])
    world = team_world(agent("ada"), agent("bob"), below, mode="graph", options=options)
    submitted(world)
    failed = attempt(world, "ada")
    team = next(task for task in world.state.tasks.values() if task.kind == "group" and task.parent_id is not None)
    world.fail(failed)
    assert team.status is TaskStatus.SKIPPED

    for member in ("cyd", "below"):
        applied(world, RemoveMember(target=member, mode="abort"))

    assert refused(world, RetryWork(target=failed[0])) == (
        f"every agent that could do task {team.id} was removed; submit the request again instead"
    )
