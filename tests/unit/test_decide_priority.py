"""Who goes first: priorities, age, turns of runs, and slots at every level."""

import pytest

from engine.core.commands import Cancel, Pause, Resume, SetPriority, Submit, SupervisorSpec
from engine.core.records.values import Usage
from engine.core.specs.limits import Limits
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import Retry
from engine.core.state import RunStatus, Task, TaskStatus
from tests.legal import assert_legal
from tests.story import applied, attempt, ended, refused, submitted, works
from tests.world import World, agent, team_world


def one_hand(**options: float | int) -> World:
    """A team whose only agent does one thing at a time, and is at work already."""
    world = team_world(agent("ada"), options=SupervisorOptions(**options))  # type: ignore[arg-type]
    submitted(world, "first")
    return world


def begun(world: World) -> list[str]:
    """End what is at work again and again; return the runs in the order in which they began."""
    already = len(world.starts)
    world.settle()
    assert_legal(world.state)
    return [start.run_id for start in world.starts[already:]]


def work_of(world: World, run_id: str) -> Task:
    """Return the task of an agent of a run."""
    (task,) = [each for each in world.state.tasks.values() if each.run_id == run_id and each.kind == "agent"]
    return task


def test_the_most_urgent_goes_first_and_of_equals_the_one_that_came_first() -> None:
    world = one_hand()
    runs = {number: submitted(world, priority=number) for number in (5, 9, 1, 3)}
    second = submitted(world, priority=3)

    assert begun(world) == [runs[1], runs[3], second, runs[5], runs[9]]


def test_work_that_nobody_gave_a_priority_has_five() -> None:
    world = one_hand()
    usual = submitted(world)

    assert work_of(world, usual).priority == 5
    assert begun(world) == [usual]


def test_a_task_that_waits_is_as_urgent_as_the_next_priority_after_the_ageing_time() -> None:
    world = one_hand(ageing_s=10)
    old = submitted(world, priority=7)
    world.now_ms += 20_001
    fresh = submitted(world, priority=5)

    assert begun(world) == [old, fresh]


def test_a_task_that_has_not_waited_long_enough_stays_behind() -> None:
    world = one_hand(ageing_s=10)
    old = submitted(world, priority=7)
    world.now_ms += 19_999
    fresh = submitted(world, priority=5)

    assert begun(world) == [fresh, old]


def test_nothing_ages_where_the_ageing_time_is_zero() -> None:
    world = one_hand(ageing_s=0)
    old = submitted(world, priority=6)
    world.now_ms += 10**9
    fresh = submitted(world, priority=5)

    assert begun(world) == [fresh, old]


def test_what_is_least_urgent_begins_in_the_end_under_a_flood_of_urgent_work() -> None:
    world = one_hand(ageing_s=1)
    last = submitted(world, priority=9)
    floods = 0
    while work_of(world, last).status is TaskStatus.WAITING:
        submitted(world, priority=1)
        world.now_ms += 500
        world.succeed(attempt(world, "ada"))
        floods += 1
        assert floods < 40

    assert floods * 0.5 == pytest.approx(8, abs=1.5)


def test_runs_take_turns_however_much_one_of_them_asks_for() -> None:
    world = team_world(agent("lead", max_concurrency=2), agent("ada", "sum"), participants=["lead"], max_parallel=3)
    big = submitted(world)
    world.ask(attempt(world, "lead"), "sum", [1, 2, 3, 4])
    order = [work.run_id for work in world.started.values()][-1:]
    small = submitted(world)
    world.ask(next(key for key, start in world.started.items() if start.run_id == small), "sum", [1, 2])
    while len(order) < 6:
        world.succeed(next(key for key, start in world.started.items() if start.agent == "ada"))
        order += [start.run_id for start in world.starts[-1:]]

    assert order == [big, big, small, big, small, big]


def test_a_run_whose_oldest_task_was_cancelled_waits_since_the_oldest_that_is_left() -> None:
    world = team_world(agent("lead", max_concurrency=9), agent("ada", "sum"), participants=["lead"])
    busy, big, small = (submitted(world) for _ in range(3))
    lead = {start.run_id: key for key, start in world.started.items()}
    for run_id, call in ((busy, "now"), (big, "old"), (small, "other"), (big, "new")):
        world.now_ms += 1_000
        world.ask(lead[run_id], "sum", [call], call=call)
    oldest = next(one for one in world.state.tasks.values() if one.call_key == "old")

    applied(world, Cancel(target=oldest.id))

    assert_legal(world.state)
    world.succeed(attempt(world, "ada"))
    assert world.starts[-1].run_id == small


def test_a_run_has_its_turn_again_whose_task_is_set_aside_for_a_question_about_its_budget() -> None:
    ada = agent("ada", "sum", task_limits=Limits(tokens=1, then="ask"))
    world = team_world(agent("lead", max_concurrency=9), ada, participants=["lead"])
    runs = {name: submitted(world) for name in ("busy", "first", "second")}
    lead = {start.run_id: key for key, start in world.started.items()}
    for name, items in (("busy", [1]), ("first", [1, 2]), ("second", [1])):
        world.ask(lead[runs[name]], "sum", items)
    world.succeed(attempt(world, "ada"))
    world.record(attempt(world, "ada"), "dear", usage=Usage(tokens_in=9))

    world.stop(attempt(world, "ada"))

    assert_legal(world.state)
    assert [start.run_id for start in world.starts[-3:]] == [runs["busy"], runs["first"], runs["first"]]


def test_a_task_that_was_lost_with_the_engine_goes_on_before_those_that_came_after_it() -> None:
    world = one_hand()
    for _ in range(3):
        submitted(world)
    first = attempt(world, "ada")[0]

    world.crash()

    assert attempt(world, "ada")[0] == first


def test_a_task_that_is_tried_again_takes_its_place_behind_what_came_meanwhile() -> None:
    world = team_world(agent("ada", on_failure=[Retry(1)]))
    failed = submitted(world)
    other = submitted(world)
    world.fail(attempt(world, "ada"))
    third = submitted(world)
    world.due(next(iter(world.timers)))

    assert world.starts[-1].run_id == other
    assert begun(world) == [third, failed]


def test_work_made_more_urgent_passes_what_waits_and_keeps_since_when_it_waits() -> None:
    world = one_hand()
    first, second, third = (submitted(world) for _ in range(3))
    world.now_ms += 5_000
    since = work_of(world, third).ready_ms

    result = applied(world, SetPriority(target=third, priority=1))

    assert result == {"priority": 1, "previous": 5, "waiting": 1, "at_work": 0}
    assert work_of(world, third).ready_ms == since
    assert begun(world) == [third, first, second]


def test_what_a_task_has_asked_of_others_becomes_as_urgent_as_it() -> None:
    world = team_world(agent("lead", max_concurrency=2), agent("ada", "sum"), participants=["lead"])
    first, second = submitted(world), submitted(world)
    asker, other = (key for key, start in world.started.items() if start.agent == "lead")
    world.ask(asker, "sum", [1, 2])
    world.ask(other, "sum", [3])

    applied(world, SetPriority(target=asker[0], priority=1))

    task = world.state.tasks[asker[0]]
    assert [world.state.tasks[one].priority for one in (task.id, *task.children)] == [1, 1, 1]
    world.succeed(attempt(world, "ada"))
    assert [start.run_id for start in world.starts if start.agent == "ada"] == [first, first]
    world.succeed(attempt(world, "ada"))
    assert world.starts[-1].run_id == second


def test_work_made_urgent_and_usual_again_has_its_old_place() -> None:
    world = one_hand()
    runs = [submitted(world) for _ in range(3)]
    applied(world, SetPriority(target=runs[1], priority=2))
    world.now_ms += 1_000
    applied(world, SetPriority(target=runs[1], priority=5))

    assert begun(world)[0] == runs[0]


def test_what_a_run_makes_later_has_the_priority_that_the_run_was_given() -> None:
    world = team_world(agent("lead"), agent("ada", "sum"), participants=["lead"])
    run = submitted(world)
    applied(world, SetPriority(target=run, priority=2))
    world.ask(attempt(world, "lead"), "sum", ["x"])

    assert {task.priority for task in world.state.tasks.values()} == {2}


def test_a_priority_in_a_paused_run_counts_once_it_goes_on() -> None:
    world = one_hand()
    first, second = submitted(world), submitted(world)
    applied(world, Pause(target=second))
    applied(world, SetPriority(target=second, priority=1))
    applied(world, Resume(target=second))

    assert begun(world) == [second, first]


def test_a_priority_that_cannot_be_is_refused_and_so_is_one_that_changes_nothing() -> None:
    world = one_hand()
    run = submitted(world)

    assert "from 0, the most urgent, to 9, not 10" in refused(world, SetPriority(target=run, priority=10))
    assert "from 0, the most urgent, to 9, or None, not -1" in refused(world, Submit(request="go", priority=-1))
    assert f"run {run} has priority 5 already" in refused(world, SetPriority(target=run, priority=5))
    assert "t99" in refused(world, SetPriority(target="t99", priority=1))
    world.settle()
    assert f"run {run} has ended already" in refused(world, SetPriority(target=run, priority=1))


def test_no_more_run_under_a_supervisor_than_it_may_have_in_all_at_any_level() -> None:
    below = SupervisorSpec(name="below", mode="parallel", members=[agent("bob"), agent("cyd")])
    world = team_world(agent("ada"), below, mode="parallel", options=SupervisorOptions(max_total=2))
    submitted(world)

    assert works(world) == ["ada", "bob"]
    world.succeed(attempt(world, "ada"))
    assert works(world) == ["bob", "cyd"]
    assert_legal(world.state)


def test_where_the_whole_team_is_full_the_most_urgent_of_all_its_parts_goes_first() -> None:
    left = SupervisorSpec(name="left", members=[agent("ada")])
    right = SupervisorSpec(name="right", members=[agent("bob")])
    world = team_world(agent("cyd"), left, right, participants=["cyd"], options=SupervisorOptions(max_total=1))
    submitted(world)
    usual = submitted(world, supervisor="left")
    urgent = submitted(world, supervisor="right", priority=1)

    assert begun(world) == [urgent, usual]


def test_a_run_begins_when_all_that_it_waits_for_is_done() -> None:
    world = team_world(agent("ada"), agent("bob"), participants=["ada"])
    first, second = submitted(world), submitted(world)
    third = submitted(world, after=[first, second])
    world.succeed(attempt(world, "ada"))
    assert world.state.runs[third].after == [second]
    assert not world.state.tasks[world.state.runs[third].root_id].children

    world.succeed(attempt(world, "ada"))

    assert [start.run_id for start in world.starts] == [first, second, third]
    assert_legal(world.state)


def test_a_run_that_is_done_is_waited_for_no_more() -> None:
    world = one_hand()
    world.settle()

    run = submitted(world, after=["r1"])

    assert world.starts[-1].run_id == run


def test_a_run_ends_when_one_that_it_waits_for_fails_and_so_do_those_behind_it() -> None:
    world = one_hand()
    second = submitted(world, after=["r1"])
    third = submitted(world, after=[second])

    world.fail(attempt(world, "ada"))

    assert not world.state.runs
    assert [(run.id, run.status, run.error) for run in world.state.finished[1:]] == [
        (second, RunStatus.FAILED, "r1 failed, which this waits for"),
        (third, RunStatus.FAILED, "r2 failed, which this waits for"),
    ]


def test_a_run_can_be_cancelled_while_it_waits_for_another() -> None:
    world = one_hand()
    second = submitted(world, after=["r1"])
    applied(world, Cancel(target=second))

    assert ended(world).status is RunStatus.CANCELLED
    world.settle()
    assert [run.status for run in world.state.finished] == [RunStatus.CANCELLED, RunStatus.DONE]


def test_a_run_that_waits_for_a_cancelled_one_says_so() -> None:
    world = one_hand()
    submitted(world, after=["r1"])
    applied(world, Cancel(target="r1"))
    world.settle()

    assert ended(world).error == "r1 was cancelled, which this waits for"


def test_a_run_that_waits_begins_after_a_restart_too() -> None:
    world = one_hand()
    second = submitted(world, after=["r1"])
    world.crash()
    world.settle()

    assert [start.run_id for start in world.starts] == ["r1", "r1", second]


def test_a_run_cannot_wait_for_what_is_not_there_or_has_failed() -> None:
    world = one_hand()
    world.fail(attempt(world, "ada"))

    assert "r9" in refused(world, Submit(request="go", after=["r9"]))
    assert "r1 failed" in refused(world, Submit(request="go", after=["r1"]))


def test_what_a_team_has_set_for_ageing_holds_inside_it_and_not_between_teams() -> None:
    world = team_world(
        SupervisorSpec(name="never", members=[agent("ada")], options=SupervisorOptions(ageing_s=0)),
        SupervisorSpec(name="usual", members=[agent("bob")]),
        options=SupervisorOptions(max_total=1),
    )
    submitted(world, "first", supervisor="usual")
    runs = []
    for name in ("never", "usual", "never", "usual"):
        world.now_ms += 10
        runs.append(submitted(world, supervisor=name))
    world.now_ms += 10
    urgent = submitted(world, supervisor="never", priority=4)

    assert begun(world) == [urgent, *runs]
