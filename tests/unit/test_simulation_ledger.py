"""The ledgers of the simulation, which say without the core what events mean, and laws that are held against them."""

from collections.abc import Callable
from typing import Any

import pytest

from engine.core.commands import AddSupervisor, Cancel, Move, Pause, Reassign, Resume, SupervisorSpec, SwitchStrategy
from engine.core.events import Event, GroupPlanned
from engine.core.records.records import copy_with
from engine.core.records.values import Usage
from engine.core.signals import AgentUnusable
from engine.core.specs.failure_policies import Failover
from engine.core.specs.limits import Limits
from engine.simulation.laws.agents import models_are_paid_for_exactly
from engine.simulation.laws.failures import a_failure_goes_down_its_chain
from engine.simulation.laws.plans import a_graph_is_for_those_who_take_part
from engine.simulation.ledger.attempts import WorkLedger
from engine.simulation.ledger.team import TeamLedger
from engine.simulation.shadow_ledger import ShadowLedger
from tests.legal import assert_legal
from tests.story import applied, attempt, done, found, member, only, submitted
from tests.world import World, agent, team_world


def served(world: World) -> dict[str, list[str]]:
    """Return who takes from each queue by capability, as the ledger has it from events alone."""
    ledger = TeamLedger()
    for event in world.journal:
        ledger.take(event)
    return ledger.served


def told(journal: list[Event]) -> ShadowLedger:
    """Return the ledger of a journal."""
    ledger = ShadowLedger()
    for event in journal:
        ledger.take(event)
    return ledger


def shared_by_teams() -> World:
    teams = [SupervisorSpec(name=name, members=[agent("ada", "sum")]) for name in ("kitchen", "cellar")]
    hall = SupervisorSpec(name="hall", members=[agent("lead", max_concurrency=9), *teams], participants=["lead"])
    world = team_world(hall, SupervisorSpec(name="new"))
    submitted(world, supervisor="hall")
    world.ask(attempt(world, "lead"), "sum", [*"abcd"])
    return world


def items_of_a_map() -> World:
    kitchen = SupervisorSpec(name="kitchen", members=[SupervisorSpec(name="grill", members=[agent("cook")])])
    old = SupervisorSpec(name="old", members=[agent("bob"), agent("cyd"), kitchen], mode="map")
    world = team_world(old, SupervisorSpec(name="new"))
    submitted(world, [*"abcdef"], supervisor="old")  # type: ignore[arg-type]
    found(world, items=6)
    return world


@pytest.mark.parametrize("made", [shared_by_teams, items_of_a_map])
def test_agents_of_a_moved_team_serve_no_queue_of_supervisors_that_they_stood_below(
    made: Callable[[], World],
) -> None:
    world = made()
    (before,) = served(world).items()

    applied(world, Move(target="kitchen", parent="new"))

    key, agents = next(iter(served(world).items()))
    assert key == before[0]
    assert len(agents) == len(before[1]) - 1
    assert {one.key: one.agents for one in world.state.queues.values() if one.key.startswith("able:")} == served(world)
    assert_legal(world.state)


def test_a_task_that_is_given_to_another_agent_while_its_run_is_paused_has_a_place_of_its_own_there() -> None:
    world = team_world(agent("ada"), agent("cyd"), agent("bob"), participants=["ada", "cyd"])
    run_id = submitted(world)
    applied(world, Pause(target=run_id))
    done(world, "ada")
    (task,) = (one for one in world.state.tasks.values() if one.title == "cyd")
    applied(world, Pause(target="bob"))
    world.now_ms += 5_000

    applied(world, Reassign(task=task.id, agent="bob"))
    applied(world, Resume(target=run_id))

    turns = told(world.journal).turns.turns
    assert {place: turn.since_ms for place, turn in turns.items()} == {(task.queue, task.priority, run_id): None}


def test_a_task_that_strategies_free_and_bind_again_while_its_run_is_paused_waits_since_it_was_ready_at_last() -> None:
    world = team_world(agent("ada"), agent("cyd"), participants=["ada", "cyd"], mode="sequential")
    run_id = submitted(world)
    applied(world, Pause(target=run_id))
    applied(world, SwitchStrategy(mode="parallel"))
    world.now_ms += 5_000
    applied(world, SwitchStrategy(mode="sequential"))
    applied(world, Pause(target="cyd"))
    applied(world, Resume(target=run_id))
    world.now_ms += 5_000

    done(world, "ada")

    turns = told(world.journal).turns.turns
    assert [turn.since_ms for (queue, *_), turn in turns.items() if queue == f"agent:{member(world, 'cyd').id}"] == [
        world.now_ms
    ]


def test_what_a_task_delegates_goes_to_another_agent_of_the_root_below_which_it_was_given() -> None:
    world = team_world(agent("ada"))
    failover = (Failover(),)
    bob, cyd = (agent(name, "sum", on_failure=failover) for name in ("bob", "cyd"))
    applied(world, AddSupervisor(parent=None, team=SupervisorSpec(name="south", members=[agent("lead"), bob, cyd])))
    applied(world, Pause(target="ada"))
    submitted(world, supervisor="chief")
    (task,) = (one for one in world.state.tasks.values() if one.worker_id == member(world, "ada").id)
    applied(world, Reassign(task=task.id, agent="lead"))
    world.ask(attempt(world, "lead"), "bob", ["x"])

    world.fail(attempt(world, "bob"))

    event = only(world.journal, "task_failed_over")
    assert event.to_id == member(world, "cyd").id
    ledger = told(world.journal[: world.journal.index(event)])
    assert a_failure_goes_down_its_chain(ledger, event) is None
    assert "failed on it" in str(a_failure_goes_down_its_chain(ledger, copy_with(event, to_id=member(world, "ada").id)))


def test_a_planned_task_that_was_given_below_another_root_goes_back_to_agents_of_who_planned_it() -> None:
    world = team_world(agent("ada", "sum"), agent("eve", "sum"), participants=["ada"])
    south = [agent("bob", "sum", on_failure=(Failover(),)), agent("cyd", "sum")]
    applied(world, AddSupervisor(parent=None, team=SupervisorSpec(name="south", members=[*south])))
    applied(world, Pause(target="ada"))
    submitted(world, supervisor="chief")
    (task,) = (one for one in world.state.tasks.values() if one.kind == "agent")
    applied(world, Reassign(task=task.id, agent="bob"))

    world.fail(attempt(world, "bob"))

    event = only(world.journal, "task_failed_over")
    ledger = told(world.journal[: world.journal.index(event)])
    assert a_failure_goes_down_its_chain(ledger, event) is None
    assert "failed on it" in str(a_failure_goes_down_its_chain(ledger, copy_with(event, to_id=member(world, "cyd").id)))


def test_a_task_that_another_agent_takes_over_belongs_under_the_supervisor_of_that_agent() -> None:
    world = team_world(agent("ada", "sum", on_failure=(Failover(),)))
    applied(world, AddSupervisor(parent="chief", team=SupervisorSpec(name="south", members=[agent("bob", "sum")])))
    submitted(world)
    task_id, _ = attempt(world, "ada")

    world.fail(attempt(world, "ada"))

    home = member(world, "bob").supervisor_id
    assert world.state.tasks[task_id].supervisor_id == home
    assert told(world.journal).work.jobs[task_id].supervisor_id == home


def test_a_task_of_an_archive_has_heard_what_its_steps_say() -> None:
    world = team_world(agent("ada"))
    submitted(world)
    world.record(attempt(world, "ada"), "steered:1", ["look closer", "hurry"])
    world.record(attempt(world, "ada"), "code", "done")
    journaled = told(world.journal)
    ledger = WorkLedger(journaled.text, journaled.team.home_of)

    ledger.adopt(world.state)

    (job,) = (one for one in ledger.jobs.values() if one.attempt is not None)
    assert job.read_messages == ["look closer", "hurry"]


def test_what_a_model_took_in_an_attempt_that_was_lost_with_its_engine_need_not_be_counted() -> None:
    world = team_world(agent("ada"))
    run_id = submitted(world)
    key = attempt(world, "ada")
    applied(world, Cancel(target=run_id))
    before = len(world.journal)
    world.crash()
    ledger = told(world.journal[:before])
    ledger.models.charged[key] = Usage(tokens_in=495)
    began, event = world.journal[before], only(world.journal, "attempt_cancelled")
    assert "its models took (495" in str(models_are_paid_for_exactly(ledger, event))

    ledger.take(began)

    assert models_are_paid_for_exactly(ledger, event) is None


def judged(world: World, plan: Any) -> str | None:
    """Return what the law about who takes part finds wrong with a plan, which stands last in the ledger."""
    ledger = told(world.journal[: world.journal.index(plan) + 1])
    return a_graph_is_for_those_who_take_part(ledger, plan)


def plan_for(plan: Any, agent_id: str) -> Any:
    """Return a plan as it would be for another agent."""
    return copy_with(plan, nodes=[copy_with(node, worker_id=agent_id) for node in plan.nodes])


@pytest.mark.parametrize("trouble", ["error", "attempts"])
def test_a_plan_for_those_who_can_work_is_right_although_another_would_answer_better(trouble: str) -> None:
    limits = Limits(attempts=1) if trouble == "attempts" else None
    members = (agent("ada", "parse", limits=limits), agent("bob", "parse", "draw"))
    world = team_world(*members, mode="sequential", auto_discover=True)
    submitted(world, "parse")
    assert [node.title for node in only(world.journal, "group_planned").nodes] == ["ada"]
    done(world, "ada")
    ada = member(world, "ada")
    if trouble == "error":
        world.say(AgentUnusable(agent_id=ada.id, generation=ada.generation, error="no code"))

    submitted(world, "parse")

    (plan,) = [event for event in world.journal if isinstance(event, GroupPlanned) and event.run_id == "r2"]
    assert [node.title for node in plan.nodes] == ["bob"]
    assert judged(world, plan) is None
    world.journal[world.journal.index(plan)] = other = plan_for(plan, ada.id)
    assert "which ['a2'] answer to" in str(judged(world, other))


def test_a_plan_for_a_default_agent_that_takes_no_part_otherwise_is_right() -> None:
    world = team_world(
        agent("ada", "parse"), agent("bob"),
        mode="sequential", auto_discover=True, participants=["ada"], default_agent="bob",
    )  # fmt: skip

    submitted(world, "sing")

    assert judged(world, only(world.journal, "group_planned")) is None
