"""Laws of the core that hold for every history: of operators who do anything and agents that do anything."""

from random import Random
from typing import Any, get_args

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.core.commands import Command, Order, Rollback, SwapAgent
from engine.core.decide import decide
from engine.core.decide.teams.scratch import scratch_of
from engine.core.decisions.decision_context import DecisionContext
from engine.core.effects.table import effects_of
from engine.core.encoding.codec import decode_events, decode_state, encode_event, encode_state
from engine.core.errors import Refused
from engine.core.events import (
    AttemptCancelled,
    AttemptDone,
    AttemptMigrated,
    AttemptStarted,
    CommandApplied,
    CommandRefused,
    EscalationAnswered,
    PoolResized,
    StepRecorded,
)
from engine.core.fold import fold
from engine.core.preview import preview, swap_preview
from engine.core.queries.team.tree import lineage_of
from engine.core.records.records import fields
from engine.core.records.shared import EMPTY
from engine.core.state import State, SwapMode, Task
from tests.chance import CHANGES, KINDS, random_command, random_turn, randoms, release, worlds
from tests.depth import examples
from tests.lawful import assert_lawful
from tests.legal import assert_legal
from tests.world import World

some = settings(max_examples=examples(10), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def folded(journal: list[Any]) -> State:
    state = State()
    fold(state, journal)
    return state


@some
@given(worlds(), st.data())
def test_folding_from_any_snapshot_equals_folding_from_the_start(world: World, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(world.journal)))

    resumed = decode_state(encode_state(folded(world.journal[:cut])))
    fold(resumed, world.journal[cut:])

    assert encode_state(resumed) == encode_state(folded(world.journal))


@some
@given(worlds())
def test_what_chance_does_to_the_core_alone_breaks_no_law_of_the_simulation(world: World) -> None:
    assert_lawful(world.journal)


@some
@given(worlds())
def test_what_is_empty_of_a_task_is_the_empty_one_that_all_share(world: World) -> None:
    for task in world.state.tasks.values():
        for field in fields(Task):
            if field.default is EMPTY or field.default == ():
                found = getattr(task, field.name)
                assert found or found is field.default, field.name


@some
@given(worlds(), st.data())
def test_folding_on_a_scratch_state_gives_the_same_and_changes_nothing(world: World, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(world.journal)))
    state = folded(world.journal[:cut])
    before = encode_state(state)

    scratch = scratch_of(state)
    fold(scratch, world.journal[cut:])

    read = decode_state(encode_state(scratch))  # which also writes mappings that are empty
    assert encode_state(read) == encode_state(folded(world.journal))
    assert encode_state(state) == before


@some
@given(worlds())
def test_the_journal_alone_gives_the_state_that_was_decided_on(world: World) -> None:
    assert encode_state(folded(world.journal)) == encode_state(world.state)


@some
@given(worlds())
def test_a_journal_is_the_same_after_json(world: World) -> None:
    rows = [(place + 1, event.type, encode_event(event)) for place, event in enumerate(world.journal)]

    assert decode_events(rows) == world.journal


@some
@given(worlds(), randoms)
def test_decide_and_effects_leave_the_state_as_it_was(world: World, random: Random) -> None:
    before = encode_state(world.state)
    order = Order(id="next", command=random_command(random, world))
    decide(world.state, order, DecisionContext(now_ms=world.now_ms, jitter=0.5))
    for event in world.journal[-1:]:
        effects_of(world.state, event)

    assert encode_state(world.state) == before


@some
@given(worlds())
def test_every_history_leads_to_a_legal_state(world: World) -> None:
    assert_legal(world.state)


@some
@given(worlds(), randoms)
def test_a_command_that_comes_twice_is_carried_out_once(world: World, random: Random) -> None:
    order = Order(id="once", command=random_command(random, world))

    first, second = world.say(order), world.say(order)

    assert sum(isinstance(event, CommandApplied | CommandRefused) for event in first) == 1
    assert second == []


@some
@given(worlds(), randoms)
def test_an_applied_command_says_which_events_are_its_own(world: World, random: Random) -> None:
    events = world.say(Order(id="one", command=random_command(random, world)))

    for place, event in enumerate(events):
        if isinstance(event, CommandApplied):
            assert (event.before, event.after) == (place, len(events) - place - 1)


@some
@given(worlds())
def test_a_team_whose_agents_answer_comes_to_rest_with_every_run_finished(world: World) -> None:
    release(world)
    world.settle()

    stuck = [task for task in world.state.tasks.values() if not task.ended]
    blocked = [task for task in stuck if task.kind == "agent" and nobody_takes(world.state, task.queue)]
    assert not world.state.runs or blocked, [(task.id, task.kind, task.status, task.queue) for task in stuck]
    assert_legal(world.state)


@some
@given(worlds())
def test_a_finished_task_is_never_started_again(world: World) -> None:
    release(world)
    world.settle()

    done_at: dict[str, int] = {}
    for place, event in enumerate(world.journal):
        if isinstance(event, AttemptDone):
            assert event.task_id not in done_at
            done_at[event.task_id] = place
        if isinstance(event, AttemptStarted):
            assert event.task_id not in done_at


@some
@given(worlds(max_turns=20), randoms, st.integers(0, 80), st.sampled_from([KINDS, CHANGES]))
def test_after_every_single_turn_the_state_is_legal(
    world: World, random: Random, turns: int, kinds: dict[str, float]
) -> None:
    for _ in range(turns):
        random_turn(random, world, kinds)
        assert_legal(world.state)


@some
@given(worlds())
def test_a_finished_step_is_kept_for_later_attempts_and_never_runs_again_unless_its_task_began_again(
    world: World,
) -> None:
    kept: dict[str, set[str]] = {}
    for event in world.journal:
        if isinstance(event, StepRecorded):
            steps = kept.setdefault(event.task_id, set())
            assert event.key not in steps
            steps.add(event.key)
        if isinstance(event, EscalationAnswered) and event.kind == "doubt" and event.answer == "ran":
            kept.setdefault(event.subject, set()).add(str(event.detail["key"]))  # a person says that it was done
        if isinstance(event, AttemptCancelled) and event.restarted:
            kept.pop(event.task_id, None)

    for task in world.state.tasks.values():
        assert set(task.steps) == kept.get(task.id, set())


@some
@given(worlds())
def test_an_attempt_is_only_ever_at_work_on_one_generation_and_later_ones_follow_earlier_ones(world: World) -> None:
    on: dict[tuple[str, int], int] = {}
    for event in world.journal:
        if isinstance(event, AttemptStarted):
            on[event.task_id, event.attempt] = event.generation
        if isinstance(event, AttemptMigrated):
            assert on[event.task_id, event.attempt] == event.before < event.generation
            on[event.task_id, event.attempt] = event.generation


@some
@given(worlds())
def test_nothing_begins_under_a_paused_supervisor_and_pools_keep_their_bounds_and_their_pace(world: World) -> None:
    state, grown_ms = State(), {}
    for event in world.journal:
        if isinstance(event, AttemptStarted) and event.agent_id is not None:
            above = lineage_of(state, state.supervisors[state.agents[event.agent_id].supervisor_id])
            assert not any(supervisor.paused for supervisor in above), event
        if isinstance(event, PoolResized):
            pool = state.spec_of(state.agents[event.agent_id]).pool
            assert pool is not None
            assert pool.min <= event.size <= pool.max
            assert abs(event.size - event.previous) == 1
            if event.size > event.previous:
                grown_ms[event.agent_id] = event.at_ms
            else:
                assert event.at_ms - grown_ms.get(event.agent_id, -(10**9)) >= pool.idle_s * 1000
        fold(state, [event])


@some
@given(worlds(), st.sampled_from(get_args(SwapMode)))
def test_what_a_swap_is_said_to_do_with_each_attempt_is_what_it_asks_of_it(world: World, mode: str) -> None:
    fates = {None: "ends", "migrate": "migrates", "restart": "begins again"}
    for agent in world.state.agents.values():
        target = f"@{agent.id}"
        swaps = (SwapAgent(agent=target, registered=name, mode=mode) for name in world.state.registry)
        changes: list[Command] = [Rollback(agent=target, mode=mode), *swaps]
        for command in changes:
            try:
                events = preview(world.state, command, world.now_ms).events
            except Refused:
                continue
            after = scratch_of(world.state)
            fold(after, events)
            at_work = [after.tasks[task_id].attempt for task_id in (*agent.running, *agent.parked)]
            asked = [fates.get(one.stopping, "stops") for one in at_work if one is not None]
            said = swap_preview(world.state, target, mode, is_rollback=isinstance(command, Rollback)).attempts
            assert sorted(one.fate for one in said) == sorted(asked)


def nobody_takes(state: State, queue: str | None) -> bool:
    """Return True when all who could do what waits in a queue have left or are about to."""
    return queue is not None and all(state.agents[one].removing is not None for one in state.queues[queue].agents)
