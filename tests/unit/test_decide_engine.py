"""Decide: the engine's own end, a computer that slept, and requests where there is no team."""

from engine.core.commands import HandOver, Order, Resume, StopEngine, Submit, SwapAgent
from engine.core.effects import StopAttempt
from engine.core.events import CommandRefused, EngineStarted, EngineStopped
from engine.core.queries.money.budget import budgets_of
from engine.core.queries.team.able import AWAY
from engine.core.records.values import Usage
from engine.core.scheduler.waiting import WaitReasons
from engine.core.signals import AgentUnusable, AgentUsable, EngineBegan, EngineWoke
from engine.core.specs.limits import Limits
from engine.core.specs.spec import AgentSpec
from engine.core.state import AgentStatus, TaskStatus
from tests.legal import assert_legal
from tests.story import attempt, kinds, submitted, task_of
from tests.world import World, agent, team_world


def test_a_stop_that_waited_for_an_engine_that_is_gone_ends_no_later_one() -> None:
    world = team_world(agent("ada"))
    world.say(EngineBegan(pid=2, token=2, version="test"))

    (late,) = world.order(StopEngine(token=1))
    meant = world.order(StopEngine(token=2))

    assert isinstance(late, CommandRefused)
    assert isinstance(meant[0], EngineStopped)
    assert meant[0].final, "those that stand by end too"


def test_a_hand_over_ends_the_engine_that_is_meant_and_lets_another_go_on() -> None:
    world = team_world(agent("ada"))
    world.say(EngineBegan(pid=2, token=2, version="test"))

    (late,) = world.order(HandOver(token=1))
    stopped, applied = world.order(HandOver(token=2))

    assert isinstance(late, CommandRefused)
    assert isinstance(stopped, EngineStopped)
    assert not stopped.final
    assert applied.type == "command_applied"


def test_a_request_without_a_team_says_how_to_get_one() -> None:
    world = World()
    world.say(EngineBegan(pid=1, token=1, version="test"))

    (refused,) = world.say(Order(id="c", command=Submit(request="work")))

    assert isinstance(refused, CommandRefused)
    assert refused.code == "no_team"
    assert "quarterdeck up" in refused.reason


def bound_world() -> World:
    """Return a team whose `ada` calls what is bound to one program, and is at work."""
    world = team_world(AgentSpec(name="ada", run="bound:ada#1-7f"), agent("bob"), mode="parallel")
    world.order(Submit(request="work"))
    return world


def test_work_of_code_that_this_process_does_not_have_waits_and_fails_nothing() -> None:
    world = bound_world()

    events = world.say(EngineBegan(pid=2, token=2, version="test", bound=[]))

    ada, bob = world.state.agents.values()
    assert isinstance(events[0], EngineStarted)
    assert (ada.away, ada.error, ada.status, ada.running) == (True, None, AgentStatus.PAUSED, {})
    assert (bob.away, len(bob.running)) == (False, 1)
    task = next(one for one in world.state.tasks.values() if one.agent_id == "a1" or one.worker_id == "a1")
    assert (task.status, task.retries) == (TaskStatus.WAITING, 0)
    wait = WaitReasons(world.state).wait_of(task)
    assert wait is not None
    assert wait.words == f"ada waits: {AWAY}"


def test_a_program_that_has_its_code_again_goes_on_with_its_work() -> None:
    world = bound_world()
    world.say(EngineBegan(pid=2, token=2, version="test", bound=[]))

    world.say(EngineBegan(pid=3, token=3, version="test", bound=["bound:ada#1-7f"]))

    assert not world.state.agents["a1"].away
    assert len(world.state.agents["a1"].running) == 1
    world.settle()
    assert world.state.finished[-1].status == "done"


def test_an_attempt_that_began_before_it_was_known_that_its_code_is_elsewhere_is_lost_and_not_failed() -> None:
    world = bound_world()

    events = world.say(AgentUnusable(agent_id="a1", generation=1, error="elsewhere", away=True))

    assert [event.type for event in events] == ["agent_broke", "attempt_lost"]
    assert StopAttempt(task_id="t2", attempt=1, now=True) in world.effects
    again = world.say(AgentUnusable(agent_id="a1", generation=1, error="elsewhere", away=True))
    assert again == []
    world.say(AgentUsable(agent_id="a1", generation=1))
    world.settle()
    assert world.state.finished[-1].status == "done"


def test_an_attempt_of_a_generation_whose_code_is_elsewhere_goes_on_with_the_generation_that_followed() -> None:
    world = bound_world()
    world.order(SwapAgent(agent="ada", spec=agent("ada"), mode="drain"))

    events = world.say(AgentUnusable(agent_id="a1", generation=1, error="elsewhere", away=True))

    assert [event.type for event in events] == ["attempt_lost", "swap_drained", "attempt_started"]
    assert (world.state.agents["a1"].away, list(world.state.agents["a1"].running.values())) == (False, [2])


def test_a_person_who_resumes_an_agent_has_its_code_looked_for_again() -> None:
    world = bound_world()
    world.say(AgentUnusable(agent_id="a1", generation=1, error="elsewhere", away=True))

    events = world.order(Resume(target="ada"))

    assert [event.type for event in events] == ["agent_check_asked", "command_applied"]


def test_time_for_which_the_computer_slept_is_spent_by_nobody() -> None:
    world = team_world(agent("ada", task_limits=Limits(time_s=60)), agent("bob"), mode="parallel")
    run_id = submitted(world, limits=Limits(time_s=60))
    task = task_of(world, "ada")
    world.ask(attempt(world, "bob"), "ada", ["waits"])
    world.now_ms += 10_000 + 3_600_000

    assert kinds(world.say(EngineWoke(slept_ms=3_600_000))) == ["engine_slept"]

    spent_s = {budget.name: budget.spent for budget in budgets_of(world.state, task.id, world.now_ms)}
    assert spent_s == {"time_s": 10}
    assert [each.spent for each in budgets_of(world.state, run_id, world.now_ms)] == [10]
    assert "budget_exhausted" not in kinds(world.due(f"time:{run_id}"))
    assert_legal(world.state)
    world.succeed(attempt(world, "ada"), usage=Usage(time_ms=10_000))
    assert task.status is TaskStatus.DONE
