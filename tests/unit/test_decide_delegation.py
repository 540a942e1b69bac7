"""An agent at work asks others: by capability, by name, a whole team, nobody; and again after a crash."""

from typing import Any

from engine.core.commands import (
    AddAgent,
    AddSupervisor,
    Pause,
    RemoveMember,
    SetDeadline,
    SupervisorSpec,
    SwitchStrategy,
)
from engine.core.decide.work.attempts import MAX_DEPTH
from engine.core.effects import AnswerCall
from engine.core.events import GroupEnded, GroupPlanned
from engine.core.records.values import Usage
from engine.core.scheduler import Schedule
from engine.core.specs.limits import Limits
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import Retry, Skip
from engine.core.state import AgentStatus, RunStatus
from tests.legal import assert_legal
from tests.story import (
    Key,
    applied,
    attempt,
    attempts,
    ended,
    kinds,
    member,
    only,
    start_of,
    submitted,
    task_of,
    works,
)
from tests.world import World, agent, team_world


def asking(*members: Any, **fields: Any) -> tuple[World, Key]:
    """Return a team whose lead is at work, and its attempt."""
    world = team_world(agent("lead"), *members, participants=["lead"], **fields)
    submitted(world)
    return world, attempt(world, "lead")


def answers(world: World) -> list[tuple[bool, Any, Any]]:
    """Return what the last message told an attempt that waits."""
    (told,) = [effect for effect in world.effects if isinstance(effect, AnswerCall)]
    return [(one.ok, one.output, None if one.ok else one.error) for one in told.answers]


def refusal(world: World) -> str:
    (told,) = [effect for effect in world.effects if isinstance(effect, AnswerCall)]
    assert told.refused is not None
    return told.refused


def test_work_for_a_capability_goes_to_all_who_have_it_as_they_become_free() -> None:
    world, lead = asking(agent("ada", "sum"), agent("bob", "sum"), agent("cyd", "sing"))

    world.ask(lead, "sum", ["x", "y", "z"])

    assert works(world) == ["lead", "ada", "bob"]
    world.succeed(attempt(world, "bob"))
    assert works(world) == ["lead", "ada", "bob"]
    assert start_of(world, "bob").input == "z"


def test_a_specialty_that_reads_like_a_list_of_members_is_a_specialty() -> None:
    for asked in ("any of ada, bob", "any of\N{NO-BREAK SPACE}ada, bob"):
        world, lead = asking(agent("ada"), agent("bob"), agent("cyd", "any of ada, bob"))

        world.ask(lead, asked, ["x"])

        assert works(world) == ["lead", "cyd"]


def test_the_asker_holds_no_slot_while_it_waits_and_gets_one_back_before_anything_new_starts() -> None:
    world, lead = asking(agent("ada", "sum"), max_parallel=1)

    world.ask(lead, "sum", ["x"])

    assert works(world) == ["lead", "ada"]
    assert Schedule.of(world.state).slots["s1"].running == 1
    submitted(world, "another")
    events = world.succeed(attempt(world, "ada"), "2")
    assert "attempt_resumed" in kinds(events)
    assert answers(world) == [(True, "2", None)]
    assert len(attempts(world, "lead")) == 1


def test_all_answers_come_at_once_in_the_order_of_the_items_failures_in_their_place() -> None:
    world, lead = asking(agent("ada", "sum", max_concurrency=3))
    world.ask(lead, "sum", ["x", "y", "z"])
    x, y, z = attempts(world, "ada")
    world.succeed(z, "3")
    world.fail(y, "odd")

    world.succeed(x, "1")

    assert answers(world) == [(True, "1", None), (False, None, "odd"), (True, "3", None)]


def test_one_agent_can_be_asked_by_its_name() -> None:
    world, lead = asking(agent("ada", "sum"), agent("bob", "sum"))

    world.ask(lead, "bob", ["x", "y"])

    assert works(world) == ["lead", "bob"]
    assert len(member(world, "bob").running) == 1


def test_a_sub_supervisor_that_is_asked_works_by_its_own_strategy() -> None:
    world, lead = asking(SupervisorSpec(name="below", members=[agent("ada"), agent("bob")]))
    world.ask(lead, "below", ["x"])
    assert works(world) == ["lead", "ada"]
    assert start_of(world, "ada").input == "x"
    world.succeed(attempt(world, "ada"), "from ada")

    world.succeed(attempt(world, "bob"), "from bob")

    assert answers(world) == [(True, "from bob", None)]


def test_a_sub_supervisor_that_discovers_chooses_by_the_whole_text_that_it_is_asked() -> None:
    below = SupervisorSpec(name="below", auto_discover=True, members=[agent("ada", "salt"), agent("bob", "sugar")])
    world, lead = asking(below)

    world.ask(lead, "below", ["please find out more " * 20 + "about sugar"])

    assert works(world)[-1] == "bob"


def test_others_of_ones_own_supervisor_are_asked_before_those_below_and_above() -> None:
    below = SupervisorSpec(name="below", members=[agent("under", "sum")])
    world, lead = asking(agent("ada", "sum"), below)

    world.ask(lead, "sum", ["x", "y"])

    assert works(world) == ["lead", "ada"]


def test_a_capability_that_only_somebody_elsewhere_in_the_team_has_is_found_there() -> None:
    left = SupervisorSpec(name="left", members=[agent("asker")])
    right = SupervisorSpec(name="right", members=[agent("able", "sum")])
    world = team_world(left, right, participants=["left"])
    submitted(world)

    world.ask(attempt(world, "asker"), "sum", ["x"])

    assert works(world) == ["asker", "able"]


def test_nobody_able_is_a_refusal_that_names_the_nearest() -> None:
    world, lead = asking(agent("ada", "summing"))

    events = world.ask(lead, "sumo", ["x"])

    assert kinds(events) == ["call_refused"]
    assert "no agent can 'sumo'" in refusal(world)
    assert member(world, "lead").status is AgentStatus.BUSY


def test_a_refusal_names_nobody_who_cannot_be_reached_and_nobody_of_that_very_name() -> None:
    world, lead = asking(agent("ada", "sums"))
    applied(world, AddSupervisor(parent=None, team=SupervisorSpec(name="south", members=[agent("sumo", "sum")])))

    world.ask(lead, "sumo", ["x"])

    assert refusal(world) == "no agent can 'sumo'; did you mean sums?"


def test_an_agent_that_is_the_last_with_a_capability_is_not_given_what_it_asks_for_itself() -> None:
    world, lead = asking(agent("ada", "sum"), agent("bob", "sum"))
    world.ask(lead, "sum", ["x"])
    world.settle()
    applied(world, RemoveMember(target="bob"))
    submitted(world)
    world.ask(attempt(world, "lead"), "ada", ["y"])

    events = world.ask(attempt(world, "ada"), "sum", ["z"])

    assert kinds(events) == ["call_refused"]


def test_work_that_waits_for_a_capability_goes_on_with_whoever_suits_it_when_the_last_that_names_it_is_gone() -> None:
    world, lead = asking(agent("ada", "parse"), agent("bob", "log parsing"))
    world.ask(lead, "parse", ["x"])
    ada = attempt(world, "ada")

    world.order(RemoveMember(target="ada", mode="abort"))
    world.stop(ada)

    assert start_of(world, "bob").task_id == ada[0]


def test_a_map_over_nothing_is_answered_at_once() -> None:
    world, lead = asking(agent("ada", "sum"))

    world.ask(lead, "sum", [])

    assert answers(world) == []
    assert works(world) == ["lead"]


def test_agents_that_ask_each_other_in_a_loop_come_to_an_end() -> None:
    world, key = asking(agent("ada", max_concurrency=99), agent("bob", max_concurrency=99))
    for depth in range(MAX_DEPTH):
        name = ("ada", "bob")[depth % 2]
        world.ask(key, name, ["again"])
        key = max(attempts(world, name), key=lambda one: int(one[0][1:]))

    world.ask(key, "ada", ["again"])

    assert f"{MAX_DEPTH} is the limit" in refusal(world)
    world.settle()
    assert ended(world).status is RunStatus.DONE


def test_after_a_crash_the_asker_asks_again_and_the_same_tasks_answer() -> None:
    world, lead = asking(agent("ada", "sum", max_concurrency=2))
    world.ask(lead, "sum", ["x", "y"])
    done = attempts(world, "ada")[0]
    world.succeed(done, "1")
    world.crash()
    again = attempt(world, "lead")

    events = world.ask(again, "sum", ["x", "y"])

    assert kinds(events)[0] == "call_rejoined"
    assert "delegated" not in kinds(events)
    world.succeed(attempt(world, "ada"), "2")
    assert answers(world) == [(True, "1", None), (True, "2", None)]
    assert [start.task_id for start in world.starts].count(done[0]) == 1


def test_answers_that_came_while_nobody_listened_are_told_when_asked_again() -> None:
    world, lead = asking(agent("ada", "sum"))
    world.ask(lead, "sum", ["x"])
    world.crash()
    world.succeed(attempt(world, "ada"), "1")

    world.ask(attempt(world, "lead"), "sum", ["x"])

    assert answers(world) == [(True, "1", None)]


def test_what_nobody_waits_for_any_more_is_stopped_when_the_asker_ends() -> None:
    world, lead = asking(agent("ada", "sum"))
    world.ask(lead, "sum", ["x"])

    world.succeed(lead, "never mind")

    assert world.stopping == {attempt(world, "ada")}
    world.settle()
    assert ended(world).output == "never mind"


def test_a_failure_below_one_who_may_be_skipped_does_not_fail_the_run() -> None:
    world, lead = asking(agent("ada", "sum", on_failure=[Skip()]))
    world.ask(lead, "sum", ["x"])
    world.fail(attempt(world, "ada"))

    world.succeed(lead, "all the same")

    assert (ended(world).status, ended(world).output) == (RunStatus.DONE, "all the same")


def test_an_agent_that_joins_takes_from_the_work_that_waits_for_its_capability() -> None:
    world, lead = asking(agent("ada", "sum"))
    world.ask(lead, "sum", ["x", "y"])

    applied(world, AddAgent(spec=agent("bob", "sum")))

    assert works(world) == ["lead", "ada", "bob"]


def test_the_journal_has_one_event_for_all_that_was_asked_with_the_items_once() -> None:
    world, lead = asking(agent("ada", "sum"))

    asked = only(world.ask(lead, "sum", ["x", {"n": 1}]), "delegated")

    assert [child.input for child in asked.children] == ["x", {"n": 1}]
    assert [child.title for child in asked.children] == ["x", "{…}"]


def test_teams_within_teams_that_nobody_waits_for_end_before_their_run_does() -> None:
    deep = SupervisorSpec(name="deep", members=[agent("cyd")])
    middle = SupervisorSpec(name="middle", members=[deep])
    world, lead = asking(SupervisorSpec(name="below", members=[middle]))
    world.order(Pause(target="deep"))
    world.ask(lead, "below", ["x"])

    events = world.succeed(lead)

    ended = [event.task_id for event in events if isinstance(event, GroupEnded)]
    groups = [event.task_id for event in world.journal if isinstance(event, GroupPlanned)]
    assert sorted(ended) == sorted(groups)
    assert kinds(events)[-1] == "run_finished"


def test_who_may_go_on_for_want_of_attempts_asks_nobody_for_more() -> None:
    world = team_world(agent("ada"), agent("bob"), agent("cyd"), participants=["ada", "bob"], mode="parallel")
    submitted(world, limits=Limits(attempts=1))

    world.ask(attempt(world, "ada"), "cyd", ["x"])

    assert refusal(world) == "the work that it is part of is ending"
    assert works(world) == ["ada"]


def test_a_delegation_that_becomes_a_node_does_not_wait_for_the_budget_of_who_asked_for_it() -> None:
    world = team_world(
        agent("ada", task_limits=Limits(tokens=10, then="ask")), agent("bob"), mode="delegate",
        options=SupervisorOptions(lead="ada"),
    )  # fmt: skip
    submitted(world)
    world.ask(attempt(world, "ada"), "bob", ["x"])
    world.record(attempt(world, "bob"), "s", usage=Usage(tokens_in=10))
    world.stop(attempt(world, "bob"))
    assert works(world) == ["ada"]

    applied(world, SwitchStrategy(mode="sequential", scope="open"))

    assert "bob" in works(world)
    assert_legal(world.state)


def test_a_delegation_that_becomes_a_node_has_the_deadline_of_the_graph_and_not_of_who_asked_for_it() -> None:
    world = team_world(agent("ada"), agent("bob"), mode="delegate", options=SupervisorOptions(lead="ada"))
    submitted(world)
    applied(world, SetDeadline(target=attempt(world, "ada")[0], deadline_s=5))
    world.ask(attempt(world, "ada"), "bob", ["x"])
    assert task_of(world, "bob").deadline_ms is not None

    applied(world, SwitchStrategy(mode="sequential", scope="open"))

    assert task_of(world, "bob").deadline_ms is None


def test_what_failed_below_a_delegation_goes_on_when_that_becomes_a_node_and_its_askers_budget_is_spent() -> None:
    cyd = agent("cyd", on_failure=[Retry(1, 1, 1)])
    world = team_world(
        agent("ada", task_limits=Limits(attempts=3, then="ask")), agent("bob"), cyd, mode="delegate",
        options=SupervisorOptions(lead="ada"),
    )  # fmt: skip
    submitted(world)
    world.ask(attempt(world, "ada"), "bob", ["x"])
    world.ask(attempt(world, "bob"), "cyd", ["y"])
    world.fail(attempt(world, "cyd"))
    assert [one.kind for one in world.state.escalations.values()] == ["budget"]

    applied(world, SwitchStrategy(mode="sequential", scope="open"))

    assert "cyd" in works(world)
    assert_legal(world.state)
