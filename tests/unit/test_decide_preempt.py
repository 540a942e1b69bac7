"""Preemption: an urgent task takes the slot of the least urgent one, and nothing that is done is done again."""

from engine.core.commands import (
    Answer,
    Cancel,
    ChangeSupervisor,
    Pause,
    RemoveMember,
    Resume,
    SetPriority,
    SupervisorSpec,
    SwapAgent,
)
from engine.core.effects import StopAttempt
from engine.core.events import AttemptPreempted, PreemptionAsked
from engine.core.records.values import Usage
from engine.core.scheduler import Schedule
from engine.core.signals import ThreadCameBack
from engine.core.specs.limits import Limits
from engine.core.specs.options import Preempt, SupervisorOptions
from engine.core.state import TaskStatus
from tests.legal import assert_legal
from tests.story import applied, attempt, attempts, kinds, member, only, submitted, task_of, works
from tests.world import World, agent, team_world


def busy(count: int = 1, **preempt: object) -> World:
    """A team of agents that are all at work on usual things, one after the other begun."""
    options = SupervisorOptions(preempt=Preempt(**preempt) if preempt else None)  # type: ignore[arg-type]
    world = team_world(*(agent(f"a{number}") for number in range(count)), options=options, mode="parallel")
    for _ in range(count):
        world.now_ms += 10
        submitted(world)
    return world


def stops(world: World) -> list[StopAttempt]:
    """Return what was asked to stop by the last message."""
    return [effect for effect in world.effects if isinstance(effect, StopAttempt)]


def one_agent(**preempt: object) -> World:
    """A team of one agent that is at work for a usual run and has finished a step of it."""
    world = busy(1, **preempt)
    world.record(attempt(world, "a0"), "read")
    return world


def test_an_urgent_task_asks_the_one_at_work_to_stop_at_its_next_step_however_long_that_takes() -> None:
    world = one_agent()
    victim = attempt(world, "a0")

    submitted(world, "now", priority=0)

    (stop,) = stops(world)
    assert (stop.task_id, stop.attempt, stop.now, stop.patient) == (*victim, False, True)
    assert only(world.journal, "preemption_asked").for_task_id in world.state.tasks
    assert attempt(world, "a0") == victim
    assert_legal(world.state)


def test_the_urgent_task_has_the_slot_and_the_other_waits_with_its_steps() -> None:
    world = one_agent()
    victim = attempt(world, "a0")
    urgent = submitted(world, "now", priority=0)

    world.stop(victim)

    assert world.starts[-1].run_id == urgent
    task = world.state.tasks[victim[0]]
    assert (task.status, task.preemptions, list(task.steps)) == (TaskStatus.PREEMPTED, 1, ["read"])
    assert_legal(world.state)


def test_the_one_that_made_way_goes_on_from_its_steps_before_those_that_came_after_it() -> None:
    world = one_agent()
    victim = attempt(world, "a0")
    later = submitted(world)
    submitted(world, "now", priority=0)
    world.stop(victim)
    world.succeed(attempt(world, "a0"))

    start = world.starts[-1]
    assert (start.task_id, start.attempt, dict(start.steps)) == (victim[0], 2, {"read": "step"})
    world.settle()
    assert world.starts[-1].run_id == later


def test_what_was_used_until_it_made_way_is_counted() -> None:
    world = one_agent()
    victim = attempt(world, "a0")
    submitted(world, "now", priority=0)

    world.stop(victim, duration_ms=7, usage=Usage(time_ms=7, tokens_in=3))

    assert (member(world, "a0").usage.time_ms, member(world, "a0").usage.tokens_in) == (7, 3)
    assert world.state.runs["r1"].usage.tokens_in == 3


def test_an_attempt_that_ends_instead_of_stopping_is_done_and_the_urgent_one_begins() -> None:
    world = one_agent()
    urgent = submitted(world, "now", priority=0)

    world.succeed(attempt(world, "a0"))

    assert world.starts[-1].run_id == urgent
    assert world.state.finished[-1].id == "r1"
    assert not Schedule.of(world.state).urgent


def test_now_stops_the_attempt_at_once() -> None:
    world = one_agent(at="now")
    submitted(world, "now", priority=0)

    (stop,) = stops(world)
    assert (stop.now, stop.patient) == (True, False)


def test_never_lets_the_urgent_task_wait_in_the_first_place() -> None:
    world = one_agent(at="never")
    submitted(world, "now", priority=0)

    assert stops(world) == []
    assert not Schedule.of(world.state).urgent


def test_the_least_urgent_makes_way_and_of_equals_the_one_that_began_last() -> None:
    world = team_world(
        *(agent(f"a{number}", "sum") for number in range(3)), agent("lead"), participants=["lead"], max_parallel=4
    )
    submitted(world)
    world.ask(attempt(world, "lead"), "sum", [1, 2, 3])
    first, second, third = (task_of(world, f"a{number}").id for number in range(3))
    applied(world, SetPriority(target=second, priority=7))
    submitted(world, "now", priority=0)
    lead = next(key for key, start in world.started.items() if start.run_id == "r2")

    world.ask(lead, "sum", ["x", "y"])

    assert [event.task_id for event in world.journal if isinstance(event, PreemptionAsked)] == [second, third]
    assert first not in {stop.task_id for stop in stops(world)}


def test_work_that_is_as_urgent_or_more_so_is_left_alone() -> None:
    world = team_world(agent("ada"))
    submitted(world, priority=0)
    submitted(world, priority=0)

    assert "preemption_asked" not in kinds(world.journal)


def test_one_attempt_stops_for_one_urgent_task_however_often_anything_happens() -> None:
    world = busy(2)
    submitted(world, "now", priority=0, supervisor="chief")
    asked = kinds(world.journal).count("preemption_asked")
    world.record(attempts(world, "a0")[0], "step")
    submitted(world)

    assert asked == kinds(world.journal).count("preemption_asked") == 2  # one for each of its two agents


def test_a_task_makes_way_so_often_and_no_more() -> None:
    world = one_agent(limit=1)
    victim = attempt(world, "a0")
    submitted(world, "now", priority=0)
    world.stop(victim)
    world.succeed(attempt(world, "a0"))
    assert attempt(world, "a0")[0] == victim[0]

    submitted(world, "again", priority=0)

    assert stops(world) == []
    world.settle()
    assert len(world.state.finished) == 3


def test_who_waits_for_delegations_holds_no_slot_and_is_left_alone() -> None:
    world = team_world(agent("lead"), agent("ada", "sum"), participants=["lead"])
    submitted(world)
    world.ask(attempt(world, "lead"), "sum", ["x"])

    urgent = submitted(world, "now", priority=0)

    assert stops(world) == []
    assert [start.run_id for start in world.started.values() if start.agent == "lead"] == ["r1", urgent]


def test_who_goes_on_with_its_answers_makes_way_for_an_urgent_task_that_waits() -> None:
    world = team_world(agent("lead"), agent("ada", "sum"), participants=["lead"])
    submitted(world)
    lead = attempt(world, "lead")
    world.ask(lead, "sum", ["x"])
    submitted(world, priority=0)
    submitted(world, priority=0)
    world.succeed(attempt(world, "ada"))
    world.succeed(next(key for key, start in world.started.items() if start.run_id == "r2"))

    assert only(world.journal, "preemption_asked").task_id == lead[0]
    world.stop(lead)
    assert world.starts[-1].run_id == "r3"
    world.settle()
    assert len(world.state.finished) == 3


def test_where_the_slots_of_the_supervisor_are_full_any_of_its_agents_makes_way() -> None:
    world = team_world(agent("ada", "parse"), agent("bob", "write"), max_parallel=1, auto_discover=True)
    submitted(world, "parse it")
    victim = attempt(world, "ada")

    submitted(world, "write it", priority=0)
    world.stop(victim)

    assert works(world) == ["bob"]
    assert_legal(world.state)


def test_where_the_whole_team_is_full_someone_elsewhere_in_it_makes_way() -> None:
    left = SupervisorSpec(name="left", members=[agent("ada")])
    right = SupervisorSpec(name="right", members=[agent("bob")])
    world = team_world(left, right, options=SupervisorOptions(max_total=1))
    submitted(world, supervisor="left")
    submitted(world, supervisor="right", priority=0)
    world.stop(attempt(world, "ada"))

    assert works(world) == ["bob"]
    assert_legal(world.state)


def test_a_task_made_urgent_while_it_waits_takes_a_slot() -> None:
    world = busy(1)
    waits = submitted(world)
    applied(world, SetPriority(target=waits, priority=0))

    assert only(world.journal, "preemption_asked").run_id == "r1"


def test_work_made_less_urgent_while_it_runs_makes_way_for_what_is_urgent_and_waits() -> None:
    world = team_world(agent("ada"))
    submitted(world, priority=0)
    submitted(world, priority=0)
    applied(world, SetPriority(target="r1", priority=9))

    assert only(world.journal, "preemption_asked").run_id == "r1"


def test_an_urgent_task_that_is_cancelled_leaves_the_slot_to_others() -> None:
    world = one_agent()
    victim = attempt(world, "a0")
    urgent = submitted(world, "now", priority=0)
    applied(world, Cancel(target=urgent))
    world.stop(victim)

    assert attempt(world, "a0") == (victim[0], 2)
    assert_legal(world.state)


def test_an_urgent_task_whose_run_is_paused_meanwhile_begins_when_it_goes_on() -> None:
    world = one_agent()
    victim = attempt(world, "a0")
    urgent = submitted(world, "now", priority=0)
    applied(world, Pause(target=urgent))
    world.stop(victim)
    assert attempt(world, "a0") == (victim[0], 2)

    applied(world, Resume(target=urgent))

    assert kinds(world.journal).count("preemption_asked") == 2
    assert_legal(world.state)


def test_one_that_is_cancelled_while_it_makes_way_is_cancelled() -> None:
    world = one_agent()
    victim = attempt(world, "a0")
    urgent = submitted(world, "now", priority=0)
    applied(world, Cancel(target="r1"))
    world.stop(victim)

    assert world.starts[-1].run_id == urgent
    assert world.state.finished[-1].id == "r1"


def test_a_crash_while_one_makes_way_lets_the_urgent_one_begin_first() -> None:
    world = one_agent()
    urgent = submitted(world, "now", priority=0)
    world.crash()

    assert world.starts[-1].run_id == urgent
    assert any(isinstance(event, AttemptPreempted) for event in world.journal)
    assert_legal(world.state)


def test_an_urgent_task_that_found_a_slot_elsewhere_and_was_lost_in_a_call_waits_for_a_person() -> None:
    world = team_world(agent("ada", "sum"), agent("bob", "sum"), agent("lead"), participants=["lead"])
    submitted(world)
    world.ask(attempt(world, "lead"), "sum", [1, 2])
    first, last = attempt(world, "ada"), attempt(world, "bob")
    urgent = submitted(world, "now", priority=0)
    world.ask(next(key for key, start in world.started.items() if start.run_id == urgent), "sum", ["x"])
    world.succeed(first)  # while `last` makes way
    (begun,) = [key for key, start in world.started.items() if start.run_id == urgent and start.agent == "ada"]
    world.call(begun, "send")

    world.crash()

    assert [event.task_id for event in world.journal if isinstance(event, PreemptionAsked)] == [last[0]]
    assert only(world.journal, "escalated").subject == begun[0]
    assert world.state.tasks[begun[0]].attempt is None
    assert_legal(world.state)


def test_a_thread_that_has_not_returned_keeps_the_slot_from_the_urgent_task_until_it_does() -> None:
    world = one_agent()
    victim = attempt(world, "a0")
    urgent = submitted(world, "now", priority=0)
    world.stop(victim, stuck=True)
    assert works(world) == []

    world.say(ThreadCameBack(agent_id=member(world, "a0").id))

    assert world.starts[-1].run_id == urgent


def test_where_the_one_that_made_way_leaves_no_slot_the_urgent_task_asks_the_next() -> None:
    world = team_world(agent("ada", "sum"), agent("bob", "sum"), agent("lead"), participants=["lead"])
    submitted(world)
    world.ask(attempt(world, "lead"), "sum", [1, 2])
    first, last = attempt(world, "ada"), attempt(world, "bob")
    urgent = submitted(world, "now", priority=0)
    world.ask(next(key for key, start in world.started.items() if start.run_id == urgent), "sum", ["x"])

    world.stop(last, stuck=True)

    assert [event.task_id for event in world.journal if isinstance(event, PreemptionAsked)] == [last[0], first[0]]
    world.stop(first)
    assert (world.starts[-1].run_id, world.starts[-1].agent) == (urgent, "ada")


def test_a_slot_that_the_supervisor_has_lost_meanwhile_is_given_to_nobody() -> None:
    world = busy(2)
    last = attempt(world, "a1")
    submitted(world, "now", priority=0)
    applied(world, ChangeSupervisor(supervisor="chief", max_parallel=1))

    world.stop(last)

    assert works(world) == ["a0"]


def test_a_thread_that_returns_where_none_is_missing_frees_nothing() -> None:
    world = one_agent()
    agent_id = member(world, "a0").id

    assert world.say(ThreadCameBack(agent_id=agent_id)) == []
    assert world.say(ThreadCameBack(agent_id="a9")) == []


def test_a_slot_is_not_given_to_a_task_whose_run_has_spent_its_attempts_meanwhile() -> None:
    world = busy(2)
    first, second = attempt(world, "a0"), attempt(world, "a1")
    urgent = submitted(world, "now", priority=0, limits=Limits(attempts=1))
    world.stop(first)

    events = world.stop(second)

    assert only(events, "budget_exhausted").subject == urgent
    assert [start.run_id for start in world.starts].count(urgent) == 1
    assert_legal(world.state)


def test_a_slot_is_taken_for_the_urgent_task_that_waits_longest_and_not_for_the_one_that_came_last() -> None:
    world = team_world(agent("ada"))
    submitted(world, "at work", priority=0)
    submitted(world, "old")
    world.now_ms += 600_000
    first = submitted(world, "now", priority=0)
    world.succeed(attempt(world, "ada"))
    old = attempt(world, "ada")
    assert world.started[old].run_id == "r2", "it has waited for so long that it goes first"

    submitted(world, "now too", priority=0)
    world.stop(old)

    assert world.starts[-1].run_id == first


def test_a_task_is_not_urgent_any_more_when_urgency_is_set_anew_while_another_makes_way_for_it() -> None:
    world = one_agent()
    victim = attempt(world, "a0")
    submitted(world, "now", priority=0)
    never = SupervisorOptions(preempt=Preempt(at="never"), max_total=1)
    applied(world, ChangeSupervisor(supervisor="chief", options=never))
    applied(world, Pause(target="a0"))

    world.stop(victim)

    assert Schedule.of(world.state).urgent == {}
    assert_legal(world.state)


def test_one_that_made_way_and_has_spent_its_budget_waits_for_a_person_also_when_its_agent_leaves() -> None:
    world = team_world(agent("ada", "sum"), agent("bob", "sum"), participants=["ada"])
    submitted(world)
    victim = attempt(world, "ada")
    submitted(world, "now", priority=0)
    world.stop(victim)
    asks = agent("ada", "sum", task_limits=Limits(attempts=1, then="ask"))
    applied(world, SwapAgent(agent="ada", spec=asks))
    world.succeed(attempt(world, "ada"))
    (question,) = world.state.escalations

    applied(world, RemoveMember(target="ada", mode="requeue"))

    assert world.state.tasks[victim[0]].status is TaskStatus.PREEMPTED
    assert_legal(world.state)
    applied(world, Answer(escalation=question, answer="continue"))
    assert works(world) == ["bob"]
