"""Pause: nothing new starts; what is at work goes on."""

import pytest

from engine.core.commands import Pause, Resume, SupervisorSpec
from engine.core.scheduler.waiting import WaitReasons
from engine.core.specs.spec import AgentSpec, Escalate
from engine.core.state import AgentStatus, RunStatus
from tests.story import applied, attempt, ended, member, only, refused, submitted, works
from tests.world import World, agent, team_world


def pool() -> World:
    """A lead that has asked two workers, one at a time each, for three things."""
    world = team_world(agent("lead"), agent("ada", "sum"), agent("bob", "sum"), participants=["lead"])
    submitted(world)
    world.ask(attempt(world, "lead"), "sum", ["x", "y", "z"])
    return world


def test_a_paused_agent_ends_what_it_is_at_and_takes_nothing_new() -> None:
    world = pool()
    world.order(Pause(target="ada"))
    world.succeed(attempt(world, "ada"))

    assert member(world, "ada").status is AgentStatus.PAUSED
    world.succeed(attempt(world, "bob"))
    assert works(world) == ["lead", "bob"]


def test_a_paused_agent_takes_the_next_task_once_it_is_resumed() -> None:
    world = pool()
    for name in ("ada", "bob"):
        world.order(Pause(target=name))
        world.succeed(attempt(world, name))

    world.order(Resume(target="ada"))

    assert works(world) == ["lead", "ada"]


def test_a_paused_supervisor_starts_nothing_of_its_agents() -> None:
    world = team_world(agent("ada"), SupervisorSpec(name="below", members=[agent("bob"), agent("cyd")]))
    submitted(world)
    world.order(Pause(target="below"))
    world.succeed(attempt(world, "ada"))
    assert works(world) == []

    world.order(Resume(target="below"))

    assert works(world) == ["bob"]


def test_an_attempt_that_has_its_answers_goes_on_under_a_paused_supervisor() -> None:
    world = pool()
    world.order(Pause(target="chief"))
    for _ in range(2):
        world.succeed(attempt(world, works(world)[-1]))
    assert works(world) == ["lead"]

    world.order(Resume(target="chief"))
    world.settle()

    assert ended(world).status is RunStatus.DONE


def test_nothing_of_a_paused_run_starts_and_other_runs_go_on() -> None:
    world = team_world(agent("ada"), agent("bob"))
    paused, other = submitted(world, "one"), submitted(world, "two")
    world.order(Pause(target=paused))

    world.settle()

    assert world.state.runs[paused].status is RunStatus.PAUSED
    assert (ended(world).id, ended(world).status) == (other, RunStatus.DONE)
    world.order(Resume(target=paused))
    world.settle()
    assert ended(world).id == paused


def test_a_pause_outlives_the_engine() -> None:
    world = team_world(agent("ada"), agent("bob"))
    run_id = submitted(world)
    world.order(Pause(target=run_id))

    world.crash()

    assert works(world) == []
    world.order(Resume(target=run_id))
    assert works(world) == ["ada"]


def test_a_run_is_suspended_while_its_engine_is_gone_and_goes_on_by_itself() -> None:
    world = team_world(agent("ada"))
    run_id = submitted(world)
    world.restart()

    assert world.state.runs[run_id].status is RunStatus.RUNNING
    assert works(world) == ["ada"]
    assert [event.type for event in world.journal].count("attempt_lost") == 1


@pytest.mark.parametrize("target", ["ada", "chief", "r1"])
def test_each_is_paused_once_and_resumed_once(target: str) -> None:
    world = team_world(agent("ada"))
    submitted(world)

    assert "not paused" in refused(world, Resume(target=target))
    applied(world, Pause(target=target))
    assert "paused already" in refused(world, Pause(target=target))
    applied(world, Resume(target=target))


def test_what_does_not_exist_is_not_paused_and_the_nearest_is_named() -> None:
    world = team_world(agent("writer"))

    assert "did you mean writer?" in refused(world, Pause(target="writr"))


def test_a_name_that_two_agents_have_has_to_be_said_with_its_supervisor() -> None:
    world = team_world(agent("ada"), SupervisorSpec(name="below", members=[agent("ada")]))

    assert "chief/ada" in refused(world, Pause(target="ada"))
    applied(world, Pause(target="below/ada"))
    assert [one.paused for one in world.state.agents.values()] == [False, True]


def test_the_default_of_a_question_waits_while_its_run_is_paused() -> None:
    world = team_world(agent("ada", on_failure=[Escalate(30.0, "reject")]))
    run_id = submitted(world)
    asked = only(world.fail(attempt(world, "ada")), "escalated").escalation_id
    timer = f"escalation:{asked}"
    world.now_ms += 10_000
    world.order(Pause(target=run_id))
    world.now_ms += 3_600_000

    world.due(timer)
    world.crash()

    assert world.timers == {}
    assert (world.state.escalations[asked].due_ms, world.state.escalations[asked].left_ms) == (None, 20_000)
    world.order(Resume(target=run_id))
    assert world.timers == {timer: world.now_ms + 20_000}
    assert only(world.due(timer), "escalation_answered").by == "default"


def test_a_question_that_is_asked_in_a_pause_waits_for_its_end() -> None:
    world = team_world(agent("ada", on_failure=[Escalate(30.0, "reject")]))
    run_id = submitted(world)
    world.order(Pause(target=run_id))

    asked = only(world.fail(attempt(world, "ada")), "escalated").escalation_id

    assert world.timers == {}
    world.order(Resume(target=run_id))
    assert world.timers == {f"escalation:{asked}": world.now_ms + 30_000}


def test_a_pause_says_until_when_work_goes_on() -> None:
    def said(now: bool, spec: AgentSpec) -> str:
        world = team_world(spec)
        submitted(world)
        return str(only(world.order(Pause(target="ada", now=now)), "command_applied").summary)

    program = AgentSpec(name="ada", agent_type="process", options={"command": ["true"]})
    assert said(False, agent("ada")) == "paused ada; 1 attempt at work until the next step"
    assert said(True, agent("ada")) == "paused ada; 1 attempt set aside"
    assert said(False, program) == "paused ada; 1 attempt at work to the end, unless set aside (--now)"


def test_what_is_paused_already_is_hurried_while_it_is_at_a_step() -> None:
    world = team_world(agent("ada"))
    submitted(world)
    key = attempt(world, "ada")
    applied(world, Pause(target="ada"))

    applied(world, Pause(target="ada", now=True))
    events = world.stop(key)

    assert only(events, "attempt_set_aside").paused
    assert "paused already" in refused(world, Pause(target="ada", now=True))
    applied(world, Resume(target="ada"))
    assert works(world) == ["ada"]


def test_an_attempt_that_waits_without_a_slot_stays_parked_and_then_waits_for_the_end_of_the_pause() -> None:
    world = team_world(agent("ada"))
    submitted(world)
    key = attempt(world, "ada")
    world.rest(key, why="ask")
    applied(world, Pause(target="ada"))

    world.rest(key, why="paused")

    task = world.state.tasks[key[0]]
    assert task.attempt is not None
    assert task.attempt.parked_for == "paused"
    wait = WaitReasons(world.state).wait_of(task)
    assert wait is not None
    assert (wait.reason, wait.words) == ("pause", "ada is paused")
    applied(world, Resume(target="ada"))
    world.want(key)
    assert not task.attempt.parked
