"""Swaps that do not let attempts end: they go on with the new generation, or begin again on it."""

from engine.core.commands import Answer, Cancel, Pause, RemoveMember, SwapAgent
from engine.core.effects import StopAttempt
from engine.core.preview import swap_preview
from engine.core.signals import AttemptErred, AttemptStopped, AttemptSucceeded, DelegationAsked, Signal, StepFinished
from engine.core.state import AgentStatus, RunStatus
from tests.legal import assert_legal
from tests.story import Key, applied, attempt, attempts, ended, kinds, member, only, refused, start_of, submitted
from tests.world import World, agent, team_world

ANEW = agent("ada", "sum", timeout_s=9)


def at_work(**fields: int) -> tuple[World, Key]:
    """Ada has finished one step of her task."""
    world = team_world(agent("ada", "sum", **fields))
    submitted(world)
    key = attempt(world, "ada")
    world.record(key, "read", "page")
    return world, key


def waiting_for_bob() -> tuple[World, Key]:
    """Ada waits for what she asked bob to do, and holds no slot."""
    world = team_world(agent("ada"), agent("bob", "sum"), participants=["ada"])
    submitted(world)
    key = attempt(world, "ada")
    world.ask(key, "sum", ["x"])
    return world, key


def swap(world: World, mode: str, **fields: object) -> dict[str, object]:
    return applied(world, SwapAgent(agent="ada", spec=ANEW, mode=mode, **fields))  # type: ignore[arg-type]


def stops(world: World) -> list[StopAttempt]:
    return [effect for effect in world.effects if isinstance(effect, StopAttempt)]


def test_a_migrating_attempt_is_asked_to_stop_at_its_next_step_however_far_that_is() -> None:
    world, key = at_work()

    swap(world, "migrate")

    assert [(one.task_id, one.patient, one.now) for one in stops(world)] == [(key[0], True, False)]
    assert member(world, "ada").status is AgentStatus.DRAINING


def test_once_stopped_the_same_attempt_goes_on_with_the_new_spec_and_the_finished_steps_in_its_slot() -> None:
    world, key = at_work()
    swap(world, "migrate")

    events = world.stop(key)

    assert kinds(events) == ["attempt_migrated", "swap_drained"]
    start = start_of(world, "ada")
    assert (start.attempt, start.generation, start.steps) == (1, 2, {"read": "page"})
    assert start.spec == member(world, "ada").spec
    assert member(world, "ada").running == {key[0]: 2}
    world.settle()
    assert ended(world).status is RunStatus.DONE


def test_what_the_generation_that_was_left_still_says_is_not_taken() -> None:
    world, (task_id, number) = at_work()
    swap(world, "migrate")
    world.stop((task_id, number))

    late: list[Signal] = [
        StepFinished(task_id=task_id, attempt=number, generation=1, name="late", key="late", output=1),
        DelegationAsked(
            task_id=task_id, attempt=number, generation=1, call_key="k", call_kind="map", target="sum", items=["x"]
        ),
        AttemptStopped(task_id=task_id, attempt=number, generation=1),
        AttemptErred(task_id=task_id, attempt=number, generation=1, error="late", error_type="ValueError"),
        AttemptSucceeded(task_id=task_id, attempt=number, generation=1, output="late"),
    ]

    assert [world.say(one) for one in late] == [[], [], [], [], []]
    assert world.say(AttemptSucceeded(task_id=task_id, attempt=number, generation=2, output="new"))


def test_one_that_comes_to_no_step_ends_on_the_old_generation() -> None:
    world, key = at_work()
    swap(world, "migrate")

    assert kinds(world.succeed(key))[0] == "attempt_done"
    assert member(world, "ada").drained == 2


def test_one_that_waits_for_others_migrates_when_it_gets_a_slot_and_joins_what_was_asked() -> None:
    world, key = waiting_for_bob()

    swap(world, "migrate")

    assert kinds(world.journal[-3:]) == ["agent_swapped", "command_applied", "attempt_resumed"]
    assert [one.patient for one in stops(world)] == [True]
    world.stop(key)
    assert "call_rejoined" in kinds(world.ask(key, "sum", ["x"]))
    assert len([task for task in world.state.tasks.values() if task.call_key]) == 1
    world.settle()
    assert ended(world).status is RunStatus.DONE


def test_one_that_waits_goes_on_waiting_while_its_agent_has_no_slot() -> None:
    world, key = waiting_for_bob()
    submitted(world)
    busy = next(one for one in attempts(world, "ada") if one != key)

    swap(world, "migrate")
    assert [one.task_id for one in stops(world)] == [busy[0]]
    world.stop(busy)
    assert member(world, "ada").parked == {key[0]: 1}

    world.succeed(busy)

    assert [one.task_id for one in stops(world)] == [key[0]]


def test_what_is_cancelled_while_it_migrates_is_cancelled() -> None:
    world, key = at_work()
    swap(world, "migrate")
    applied(world, Cancel(target=key[0]))

    assert "attempt_migrated" not in kinds(world.stop(key))
    assert ended(world).status is RunStatus.CANCELLED


def test_an_agent_that_is_removed_while_it_migrates_gives_its_work_to_another() -> None:
    world = team_world(agent("ada", "sum"), agent("bob", "sum"), participants=["ada"])
    submitted(world)
    key = attempt(world, "ada")
    swap(world, "migrate")
    applied(world, RemoveMember(target="ada", mode="requeue"))

    world.stop(key)

    assert start_of(world, "bob").task_id == key[0]


def test_the_end_of_the_engine_ends_a_migration_with_another_attempt_on_the_new_generation() -> None:
    world, _ = at_work()
    swap(world, "migrate")

    world.crash()

    start = start_of(world, "ada")
    assert (start.attempt, start.generation, start.steps) == (2, 2, {"read": "page"})


def test_a_failure_before_the_next_step_is_a_failure() -> None:
    world, key = at_work()
    swap(world, "migrate")

    assert kinds(world.fail(key))[0] == "attempt_failed"


def test_aborted_it_is_stopped_now_and_begins_again_from_its_input() -> None:
    world, key = at_work()

    swap(world, "abort")

    assert [one.now for one in stops(world)] == [True]
    world.stop(key)
    start = start_of(world, "ada")
    assert (start.attempt, start.generation, start.steps) == (2, 2, {})
    assert member(world, "ada").drained == 2


def test_aborted_it_keeps_its_place() -> None:
    world, key = at_work()
    submitted(world)
    swap(world, "abort")

    world.stop(key)

    assert start_of(world, "ada").task_id == key[0]


def test_what_an_aborted_attempt_had_asked_for_is_stopped_and_asked_for_anew() -> None:
    world, key = waiting_for_bob()
    theirs = attempt(world, "bob")
    swap(world, "abort")

    assert "cancel_requested" in kinds(world.stop(key))
    assert theirs in world.stopping
    again = attempt(world, "ada")
    only(world.ask(again, "sum", ["x"]), "delegated")
    world.settle()
    assert ended(world).status is RunStatus.DONE


def test_what_an_aborted_attempt_had_asked_for_is_not_stopped_where_it_has_ended_or_stops_already() -> None:
    world = team_world(agent("ada"), agent("bob", "sum", max_concurrency=2), participants=["ada"])
    submitted(world)
    key = attempt(world, "ada")
    world.ask(key, "sum", ["x", "y"])
    finished, stopping = attempts(world, "bob")
    world.succeed(finished)
    applied(world, Cancel(target=stopping[0]))
    swap(world, "abort")

    events = world.stop(key)

    assert start_of(world, "ada").attempt == 2
    assert "cancel_requested" not in kinds(events)


def test_an_abort_is_carried_out_by_the_next_engine_too() -> None:
    world, _ = at_work()
    swap(world, "abort")

    world.crash()

    assert (start_of(world, "ada").attempt, start_of(world, "ada").steps) == (2, {})


def test_a_thread_that_cannot_be_stopped_counts_against_its_slots() -> None:
    world, key = at_work(max_concurrency=2)
    swap(world, "abort")

    world.started.pop(key)
    world.stopping.discard(key)
    world.say(AttemptStopped(task_id=key[0], attempt=key[1], stuck=True))

    assert member(world, "ada").stuck == 1


def test_a_drain_that_takes_too_long_asks_a_person_who_may_wait_or_abort() -> None:
    world, key = at_work()
    swap(world, "drain", deadline_s=60)

    asked = only(world.due("drain:a1"), "escalated")

    assert (asked.options, asked.default) == (["wait", "abort"], "wait")
    applied(world, Answer(escalation=asked.escalation_id, answer="abort"))
    assert [one.now for one in stops(world)] == [True]
    world.stop(key)
    assert start_of(world, "ada").generation == 2


def test_a_drain_that_is_over_asks_nobody_any_more() -> None:
    world, key = at_work()
    swap(world, "drain", deadline_s=60)
    world.due("drain:a1")

    world.succeed(key)

    assert (world.state.escalations, world.state.timers) == ({}, {})


def test_a_swap_of_an_idle_agent_sets_no_deadline() -> None:
    world = team_world(agent("ada", "sum"))

    swap(world, "drain", deadline_s=60)

    assert world.timers == {}


def test_only_a_drain_has_a_deadline() -> None:
    world, _ = at_work()

    assert "a deadline is for" in refused(world, SwapAgent(agent="ada", spec=ANEW, mode="abort", deadline_s=1))
    assert "deadline_s must be a number of seconds above 0" in refused(
        world, SwapAgent(agent="ada", spec=ANEW, deadline_s=0)
    )


def test_who_still_works_is_said_when_another_swap_is_refused() -> None:
    world, key = at_work()
    swap(world, "migrate")

    assert f"{key[0]} (ada)" in refused(world, SwapAgent(agent="ada", spec=agent("ada", timeout_s=1)))


def test_a_paused_agent_migrates_its_work_all_the_same() -> None:
    world, key = at_work()
    applied(world, Pause(target="ada"))
    swap(world, "migrate")

    world.stop(key)

    assert start_of(world, "ada").generation == 2


def test_a_preview_says_of_each_attempt_what_becomes_of_it_and_changes_nothing() -> None:
    world, _ = at_work()
    submitted(world)

    seen = swap_preview(world.state, "ada", "migrate")

    (one,) = seen.attempts
    assert (one.title, one.steps) == ("ada", 1)
    assert "after step 1" in one.becomes
    assert seen.refusals == []
    swap(world, "migrate")
    assert "swapping already" in swap_preview(world.state, "a1", "drain").refusals[0]


def test_an_attempt_that_waits_for_others_and_is_cancelled_while_it_migrates_holds_one_slot() -> None:
    world, key = waiting_for_bob()
    submitted(world)
    (other,) = [one for one in attempts(world, "ada") if one != key]
    swap(world, "migrate")
    applied(world, Cancel(target=key[0]))
    world.succeed(other)

    world.stop(attempt(world, "bob"))

    assert_legal(world.state)
    assert member(world, "ada").running == {key[0]: 1}


def test_a_swap_is_drained_on_an_agent_that_is_to_go_and_has_other_work() -> None:
    world, key = at_work(max_concurrency=2)
    applied(world, SwapAgent(agent="ada", spec=agent("ada", "sum", timeout_s=9, max_concurrency=2), deadline_s=60))
    submitted(world)
    applied(world, RemoveMember(target="ada", mode="drain"))

    assert "swap_drained" in kinds(world.succeed(key))
    assert world.state.timers == {}
