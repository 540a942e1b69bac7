"""What a chain of failure policies does to a run: who takes over, what a person says, and what fails with it."""

import pytest

from engine.core.commands import AddAgent, Answer, Cancel, Pause, RemoveMember, Submit, SupervisorSpec
from engine.core.events import CancelRequested
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec, Escalate, Fail, Failover, Retry, Skip
from engine.core.state import RunStatus, TaskStatus
from tests.story import applied, attempt, attempts, ended, kinds, member, only, refused, submitted, task_of, works
from tests.world import World, agent, team_world

ASK = Escalate(30.0, "reject")


def two(*policies: object, **fields: object) -> World:
    """Return a world whose ada works first, then bob; cyd can do what ada can."""
    world = team_world(
        agent("ada", "parse", on_failure=policies), agent("bob"), agent("cyd", "Parse"), participants=["ada", "bob"]
    )
    submitted(world, **fields)  # type: ignore[arg-type]
    return world


def asked(*policies: object) -> tuple[World, str]:
    """Return a world that asks a person about the task of ada, and the question's id."""
    world = two(*(policies or (ASK,)))
    return world, only(world.fail(attempt(world, "ada")), "escalated").escalation_id


def test_another_agent_with_the_same_specialty_takes_over_with_the_finished_steps() -> None:
    world = two(Failover())
    key = attempt(world, "ada")
    world.record(key, "read", "page")

    over = only(world.fail(key), "task_failed_over")

    assert (over.from_id, over.to_id) == (member(world, "ada").id, member(world, "cyd").id)
    assert works(world) == ["cyd"]
    assert world.started[attempt(world, "cyd")].steps == {"read": "page"}
    world.settle()
    assert ended(world).status is RunStatus.DONE


def test_the_retries_before_a_failover_apply_anew_to_the_next_agent() -> None:
    world = two(Retry(1), Failover())
    for name in ("ada", "ada", "cyd", "cyd"):
        world.fail(attempt(world, name))
        if world.timers:
            world.due(next(iter(world.timers)))

    assert kinds(world.journal).count("retry_scheduled") == 2
    assert kinds(world.journal).count("task_failed_over") == 1
    assert ended(world).status is RunStatus.FAILED


def test_a_failover_may_be_held_to_a_number_of_agents() -> None:
    names = ("ada", "bob", "cyd")
    world = team_world(*(agent(name, "parse", on_failure=[Failover(1)]) for name in names), participants=["ada"])
    submitted(world)
    world.fail(attempt(world, "ada"))

    events = world.fail(attempt(world, "bob"))

    assert "task_failed" in kinds(events)


def test_an_agent_that_is_leaving_or_in_error_does_not_take_over_and_an_idle_one_goes_first() -> None:
    crew = [agent(name, "parse", on_failure=[Failover()]) for name in ("ada", "bob", "cyd", "dan")]
    world = team_world(*crew, participants=["ada"])
    submitted(world)
    applied(world, RemoveMember(target="bob"))
    applied(world, Pause(target="cyd"))

    world.fail(attempt(world, "ada"))

    assert works(world) == ["dan"]


def test_somebody_below_takes_over_where_nobody_beside_can() -> None:
    below = SupervisorSpec(name="below", members=[agent("dan", "parse")])
    world = team_world(agent("ada", "parse", on_failure=[Failover()]), below, participants=["ada"])
    submitted(world)

    world.fail(attempt(world, "ada"))

    assert works(world) == ["dan"]
    world.settle()
    assert ended(world).status is RunStatus.DONE


def lead_with(*workers: AgentSpec) -> World:
    """Return a world whose lead asks whoever can parse."""
    world = team_world(agent("lead"), *workers, participants=["lead"])
    submitted(world)
    world.ask(attempt(world, "lead"), "parse", ["x"])
    return world


def test_work_by_capability_goes_to_all_who_can_and_back_to_nobody_who_failed() -> None:
    names = ["ada", "bob", "cyd"]
    world = lead_with(*(agent(name, "parse", on_failure=[Failover()]) for name in names))
    tried = []
    for _ in names:
        (name,) = [one for one in works(world) if one != "lead"]
        tried.append(name)
        events = world.fail(attempt(world, name))

    assert sorted(tried) == names
    assert "task_failed" in kinds(events)


def test_an_agent_that_came_later_takes_over_too() -> None:
    world = lead_with(agent("ada", "parse", on_failure=[Failover()]))
    applied(world, AddAgent(spec=agent("bob", "parse")))

    world.fail(attempt(world, "ada"))

    assert attempts(world, "bob")


def test_the_chain_of_a_run_goes_before_that_of_its_agents_and_that_before_the_supervisors() -> None:
    world = two(Retry(3), on_failure=[Skip()])
    world.fail(attempt(world, "ada"))
    assert works(world) == ["bob"]

    options = SupervisorOptions(on_failure=[Skip()])
    below = SupervisorSpec(name="below", members=[agent("dan"), agent("eve")])
    world = team_world(below, options=options)
    submitted(world)
    world.fail(attempt(world, "dan"))
    assert works(world) == ["eve"]


def test_a_task_that_waits_for_a_person_holds_no_slot_and_says_so() -> None:
    world, question = asked()

    task = next(task for task in world.state.tasks.values() if task.title == "ada")
    assert (task.status, task.escalation_id, works(world)) == (TaskStatus.WAITING, question, [])
    escalation = world.state.escalations[question]
    assert escalation.options == ["retry", "reject", "skip", "use"]
    assert escalation.question == "ada failed: broken; what should happen to it?"


def test_a_question_about_a_failure_names_its_task_once() -> None:
    world = two(ASK)

    asked = only(world.fail(attempt(world, "ada"), "ada: broken"), "escalated")

    assert asked.question == "ada failed: broken; what should happen to it?"


@pytest.mark.parametrize(
    ("answer", "next_up", "status"), [("reject", [], "failed"), ("skip", ["bob"], "done"), ("use", ["bob"], "done")]
)
def test_an_answer_decides_what_becomes_of_a_failed_task(answer: str, next_up: list[str], status: str) -> None:
    world, question = asked()

    applied(world, Answer(escalation=question, answer=answer, output="by hand"))

    assert works(world) == next_up
    world.settle()
    assert ended(world).status == status


def test_an_output_that_a_person_gives_stands_for_the_work() -> None:
    world, question = asked()

    applied(world, Answer(escalation=question, answer="use", output="by hand"))

    (start,) = world.started.values()
    assert [one.output for one in start.inputs] == ["by hand"]


def test_a_person_who_says_retry_begins_the_chain_anew_where_it_began() -> None:
    world = two(Retry(1), Failover(), ASK)
    for name in ("ada", "ada", "cyd"):
        world.fail(attempt(world, name))
        if world.timers:
            world.due(next(iter(world.timers)))
    events = world.fail(attempt(world, "cyd"))
    question = only(events, "escalated").escalation_id

    applied(world, Answer(escalation=question, answer="retry"))

    task = task_of(world, "ada")
    assert (task.retries, task.failovers, task.failed_on) == (0, 0, ())
    assert only(world.fail(attempt(world, "ada")), "retry_scheduled").retry == 1


def test_what_is_rejected_is_given_to_the_policies_behind_the_question() -> None:
    world, question = asked(ASK, Skip())

    applied(world, Answer(escalation=question, answer="reject"))

    assert works(world) == ["bob"]


def test_the_default_holds_when_nobody_answers_in_time_and_retry_only_once() -> None:
    world, question = asked(Escalate(30.0, "retry"))
    world.due(f"escalation:{question}")
    again = only(world.fail(attempt(world, "ada")), "escalated").escalation_id

    assert world.state.escalations[again].default == "reject"
    world.due(f"escalation:{again}")
    assert ended(world).status is RunStatus.FAILED


def test_a_question_is_withdrawn_when_its_task_is_cancelled() -> None:
    world, question = asked()

    applied(world, Cancel(target="r1"))

    assert not world.state.escalations
    assert f"escalation:{question}" not in world.state.timers
    reason = refused(world, Answer(escalation=question, answer="retry"))
    assert reason == f"no question {question!r} waits any more: it was answered or withdrawn; there are: none"


def test_a_refused_answer_names_a_few_of_many_questions() -> None:
    world, _ = asked()
    for _ in range(6):
        applied(world, Submit(request="more"))
        world.fail(attempt(world, "ada"))

    reason = refused(world, Answer(escalation="e99", answer="retry"))
    assert reason == "no question 'e99' waits for an answer; there are: e1, e2, e3, e4, e5 and 2 more"


def test_a_question_outlives_the_engine() -> None:
    world, question = asked()

    world.crash()

    assert works(world) == []
    assert f"escalation:{question}" in world.timers
    applied(world, Answer(escalation=question, answer="retry"))
    assert works(world) == ["ada"]


def test_a_task_that_takes_the_whole_with_it_stops_what_is_beside_it_at_once() -> None:
    world = team_world(agent("ada", on_failure=[Fail()]), agent("bob"), agent("cyd"), mode="parallel", max_parallel=2)
    submitted(world)

    events = world.fail(attempt(world, "ada"), "no paper")

    stops = [event for event in events if isinstance(event, CancelRequested)]
    assert {event.reason for event in stops} == {"ada failed, and with it the work that it is part of"}
    assert sum(len(event.stopping) for event in stops) == 1
    world.stop(attempt(world, "bob"))
    assert (ended(world).status, ended(world).error) == (RunStatus.FAILED, "ada: no paper")


def test_without_any_policy_the_first_failure_is_the_last() -> None:
    world = two()

    assert "task_failed" in kinds(world.fail(attempt(world, "ada")))


def test_a_retry_waits_as_long_as_the_error_asks_for_and_the_journal_says_why() -> None:
    world = two(Retry(1, base_s=0.1))

    scheduled = only(world.fail(attempt(world, "ada"), retry_after_s=7.5), "retry_scheduled")

    assert (scheduled.delay_ms, scheduled.retry_after_s) == (7500, 7.5)


def test_an_error_that_says_that_it_is_final_is_not_tried_again() -> None:
    world = two(Retry(3), Failover())

    events = world.fail(attempt(world, "ada"), retryable=False, error_types=["Closed", "Exception"])

    assert "task_failed_over" in kinds(events)


def test_a_join_that_fails_is_not_a_matter_of_its_agents_policies() -> None:
    world = team_world(agent("ada"), agent("bob"), mode="parallel")
    world.order(Submit(request="go", on_failure=[Retry(3)]))
    for name in ("ada", "bob"):
        world.succeed(attempt(world, name))

    (key,) = world.joins
    world.fail(key)

    assert ended(world).status is RunStatus.FAILED
