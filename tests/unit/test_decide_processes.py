"""Attempts in processes wait for a process in their queues, by priority, like for any slot."""

from typing import Any

from dashboard.actions.team import SETTING
from engine.core.commands import ChangeSupervisor, Move, Submit, SupervisorSpec, SwapAgent
from engine.core.encoding.codec import decode_state, encode_state
from engine.core.scheduler import Schedule
from engine.core.scheduler.waiting import WaitReasons
from engine.core.specs.options import Preempt, SupervisorOptions
from engine.core.specs.spec import AgentSpec
from tests.story import attempt, submitted, works
from tests.world import World, agent, team_world


def computing(name: str, *specialties: str, **fields: Any) -> AgentSpec:
    return agent(name, *specialties, run_in="process", **fields)


def crew(processes: int | None = 1, **options: Any) -> World:
    members = [computing(name, "sum") for name in ("ada", "bob", "cyd")]
    return team_world(*members, mode="parallel", options=SupervisorOptions(processes=processes, **options))


def at_work(world: World) -> list[str]:
    state = world.state
    return sorted(agent.name for agent in state.agents.values() for _ in agent.running)


def test_no_more_attempts_hold_a_slot_than_there_are_processes() -> None:
    world = crew(processes=2)

    world.order(Submit(request="sum"))

    schedule = Schedule.of(world.state)
    chief = schedule.slots["s1"]
    assert at_work(world) == ["ada", "bob"]
    assert (chief.running, chief.processes, len(schedule.holders_of_processes())) == (2, 2, 2)


def test_what_waits_says_for_which_process() -> None:
    world = crew(processes=1)

    world.order(Submit(request="sum"))

    wait = WaitReasons(world.state).wait_of(world.state.tasks["t3"])
    assert wait is not None
    assert (wait.reason, wait.words, wait.ids) == (
        "process",
        "waits for a process slot of chief: 1 of 1 in use",
        ("s1",),
    )


def test_where_nothing_is_set_the_engine_says_how_many_its_computer_bears() -> None:
    world = crew(processes=None)  # tests.world: two

    world.order(Submit(request="sum"))

    wait = WaitReasons(world.state).wait_of(world.state.tasks["t4"])
    assert at_work(world) == ["ada", "bob"]
    assert wait is not None
    assert wait.words == "waits for a process slot: 2 of 2 in use"


def test_a_process_that_is_free_again_goes_to_the_most_urgent_task_whoever_has_it() -> None:
    world = crew(processes=1, preempt=Preempt(at="never"))
    world.order(Submit(request="sum"))
    world.order(Submit(request="sum", priority=1))

    world.succeed(("t2", 1))

    begun = world.starts[-1]
    assert world.state.tasks[begun.task_id].priority == 1


def test_agents_take_turns_for_the_only_process() -> None:
    world = team_world(
        *(computing(name, "sum") for name in ("ada", "bob", "cyd")),
        agent("lead"),
        mode="delegate",
        options=SupervisorOptions(lead="lead", processes=1),
    )
    world.order(Submit(request="x"))
    world.ask(("t2", 1), "sum", list(range(6)))

    world.settle()

    assert [start.agent for start in world.starts[1:]] == ["ada", "bob", "cyd", "ada", "bob", "cyd"]


def test_an_agent_that_needs_no_process_does_not_wait_for_one() -> None:
    world = team_world(
        computing("ada"), agent("bob"), computing("cyd"), mode="parallel", options=SupervisorOptions(processes=1)
    )

    world.order(Submit(request="x"))

    assert at_work(world) == ["ada", "bob"]


def test_the_limit_is_changed_while_they_work_and_stops_nothing() -> None:
    world = crew(processes=1)
    world.order(Submit(request="sum"))

    world.order(ChangeSupervisor(supervisor="chief", options=SupervisorOptions(processes=3)))
    assert at_work(world) == ["ada", "bob", "cyd"]

    world.order(ChangeSupervisor(supervisor="chief", options=SupervisorOptions(processes=1)))
    world.succeed(("t2", 1))
    world.order(Submit(request="sum"))
    assert at_work(world) == ["bob", "cyd"]


def test_a_supervisor_and_the_one_above_it_both_limit_processes() -> None:
    below = SupervisorSpec(
        name="below", mode="parallel", members=[computing("bob"), computing("cyd")],
        options=SupervisorOptions(processes=1),
    )  # fmt: skip
    world = team_world(computing("ada"), below, mode="parallel", options=SupervisorOptions(processes=2))
    world.order(Submit(request="x"))
    assert at_work(world) == ["ada", "bob"]

    world.order(ChangeSupervisor(supervisor="below", options=SupervisorOptions(processes=5)))
    assert at_work(world) == ["ada", "bob"]

    world.order(ChangeSupervisor(supervisor="chief", options=SupervisorOptions(processes=3)))
    assert at_work(world) == ["ada", "bob", "cyd"]


def test_a_team_that_moves_takes_the_processes_along_that_it_holds() -> None:
    left = SupervisorSpec(name="left", mode="parallel", members=[computing("ada")])
    right = SupervisorSpec(name="right", mode="parallel", members=[computing("bob")])
    top = SupervisorSpec(name="top", mode="parallel", members=[right], options=SupervisorOptions(processes=1))
    world = team_world(left, top, mode="parallel", options=SupervisorOptions(processes=9))
    world.order(Submit(request="x", supervisor="left"))

    world.order(Move(target="left", parent="top"))
    world.order(Submit(request="x", supervisor="right"))
    assert at_work(world) == ["ada"]

    world.order(Move(target="ada", parent="chief"))
    assert at_work(world) == ["ada", "bob"]


def test_an_urgent_task_takes_the_process_of_a_less_urgent_one_on_another_agent() -> None:
    world = crew(processes=1, preempt=Preempt(at="now"))
    world.order(Submit(request="x", on_failure=[]))
    world.stopping.clear()

    world.order(Submit(request="sum", priority=0))
    (victim,) = world.stopping
    world.stop(victim)

    begun = world.starts[-1]
    assert victim == ("t2", 1)
    assert world.state.tasks[begun.task_id].priority == 0


def test_a_swap_to_code_in_processes_counts_what_begins_and_lets_go_on_what_is_at_work() -> None:
    world = team_world(agent("ada", max_concurrency=3), options=SupervisorOptions(processes=1))
    world.order(Submit(request="x"))
    spec = computing("ada", max_concurrency=3)

    world.order(SwapAgent(agent="ada", spec=spec, mode="drain"))
    world.order(Submit(request="x"))
    world.order(Submit(request="x"))

    assert len(world.state.agents["a1"].running) == 2
    assert len(Schedule.of(world.state).holders_of_processes()) == 1


def test_an_engine_that_ends_leaves_no_process_taken() -> None:
    world = crew(processes=1)
    world.order(Submit(request="sum"))

    world.crash()

    assert at_work(world) == ["ada"]
    assert len(Schedule.of(world.state).holders_of_processes()) == 1
    assert encode_state(decode_state(encode_state(world.state))) == encode_state(world.state)


def test_agents_of_several_teams_take_turns_for_the_only_process() -> None:
    teams = [
        SupervisorSpec(name=name, members=[computing(one, "sum") for one in members])
        for name, members in (("left", ("ada", "bob")), ("right", ("cyd",)))
    ]
    world = team_world(agent("lead"), *teams, mode="delegate", options=SupervisorOptions(lead="lead", processes=1))
    world.order(Submit(request="x"))
    world.ask(("t2", 1), "sum", list(range(6)))

    world.settle()

    assert [start.agent for start in world.starts[1:]] == ["ada", "bob", "cyd", "ada", "bob", "cyd"]


def test_an_agent_for_which_no_process_was_left_keeps_its_turn_among_those_of_its_team() -> None:
    world = team_world(
        computing("ada", "dig"), agent("bob", "dig"), computing("cyd", "sing"), agent("lead"),
        participants=["lead"], options=SupervisorOptions(processes=1),
    )  # fmt: skip
    submitted(world)
    lead, took = attempt(world, "lead"), []
    for number, target in enumerate(["dig", "dig", "sing", "dig", "sing", "dig"]):
        world.ask(lead, target, ["x"], call=f"k{number}")
        took.append(works(world)[-1])
        world.succeed(attempt(world, took[-1]))

    assert took == ["ada", "bob", "cyd", "ada", "cyd", "bob"]


def test_the_line_of_the_dashboard_shows_and_changes_the_limit() -> None:
    world = crew(processes=None)

    assert "2 (all)" in [cell.text.split("  ")[0] for cell in SETTING.about(world.state, "s1", 0)]
    command = SETTING.parse("s1", "processes=3", 0)
    assert command == ChangeSupervisor(supervisor="@s1", options=SupervisorOptions(processes=3))
