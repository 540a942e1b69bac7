"""Laws of failures for every history: chains end, nobody fails twice on what others could do, restarts are counted."""

from collections import Counter, defaultdict
from contextlib import suppress
from random import Random
from typing import Any

from hypothesis import HealthCheck, given, settings

from engine.core.commands import Answer, Command, Submit
from engine.core.events import (
    AgentsRestarted,
    AttemptFailed,
    AttemptMigrated,
    AttemptStarted,
    DoubtSettled,
    Event,
    RunSubmitted,
    StepRecorded,
    TaskFailedOver,
    TaskReopened,
    TaskTriedAnew,
    ToolFailed,
    ToolStarted,
)
from engine.core.fold import fold
from engine.core.queries.team.tree import inherited_option
from engine.core.signals import AgentUnusable
from engine.core.state import State
from engine.simulation.teams import draw_team
from tests.chance import mend, randoms, worlds
from tests.depth import examples
from tests.world import World, load

some = settings(max_examples=examples(8), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
ENDS = {"attempt_done", "task_failed", "task_skipped", "task_answered", "group_ended"}


@some
@given(worlds())
def test_every_task_gets_one_outcome_unless_it_is_tried_again_by_hand(world: World) -> None:
    mend(world)
    world.settle()

    outcomes: Counter[str] = Counter()
    journal: list[Any] = world.journal
    for event in journal:
        if event.type in ENDS:
            outcomes[event.task_id] += 1
        elif isinstance(event, TaskReopened):
            outcomes.subtract(event.reopened)
    assert not [task_id for task_id, count in outcomes.items() if count > 1]


@some
@given(worlds())
def test_a_task_is_never_given_to_an_agent_that_failed_on_it_in_this_round(world: World) -> None:
    failed: defaultdict[str, set[str | None]] = defaultdict(set)
    journal: list[Any] = world.journal
    for event in journal:
        if isinstance(event, AttemptFailed):
            failed[event.task_id].add(event.agent_id)
        elif isinstance(event, TaskTriedAnew):
            failed[event.task_id].clear()
        elif isinstance(event, TaskReopened):
            for task_id in event.reopened:
                failed[task_id].clear()
        elif isinstance(event, TaskFailedOver):
            assert event.to_id not in failed[event.task_id]


@some
@given(worlds())
def test_restarts_are_never_more_than_allowed_and_nothing_starts_through_an_open_circuit(world: World) -> None:
    state = State()
    for event in world.journal:
        if isinstance(event, AgentsRestarted) and event.period_s is not None:
            supervisor = state.supervisors[event.supervisor_id]
            allowed = inherited_option(state, supervisor, "restart", None).intensity
            since = event.at_ms - event.period_s * 1000
            assert sum(at_ms > since for at_ms in supervisor.restarts_ms) < allowed
        elif isinstance(event, AttemptStarted) and event.agent_id is not None:
            assert not state.agents[event.agent_id].is_shut
        elif isinstance(event, RunSubmitted):
            assert state.supervisors[event.supervisor_id].error is None
        fold(state, [event])


@some
@given(worlds())
def test_no_attempt_begins_while_a_tool_call_of_its_task_is_in_doubt(world: World) -> None:
    mend(world)
    world.settle()

    begun: defaultdict[str, set[str]] = defaultdict(set)
    journal: list[Any] = world.journal
    for event in journal:
        if isinstance(event, ToolStarted):
            begun[event.task_id].add(event.key)
        elif isinstance(event, StepRecorded | ToolFailed | DoubtSettled):
            begun[event.task_id].discard(event.key)
        elif isinstance(event, AttemptStarted | AttemptMigrated):
            assert not begun[event.task_id]


class Hopeless(World):
    """A world in which every attempt fails, and no person ever answers."""

    def succeed(self, key: tuple[str, int], output: Any = "done", **said: Any) -> list[Event]:
        """Fail instead."""
        return self.fail(key, crashed=key[1] % 2 == 0, **said)

    def order(self, command: Command, *, run_id: str | None = None) -> list[Event]:
        """Give no answers."""
        if isinstance(command, Answer):
            raise NobodyAnswers
        return super().order(command, run_id=run_id)


class NobodyAnswers(Exception):
    """All that is left waits for a person."""


@some
@given(randoms)
def test_a_team_whose_every_attempt_fails_comes_to_rest_without_any_person(random: Random) -> None:
    world = Hopeless()
    world.order(load(draw_team(random)))
    for supervisor in list(world.state.supervisors):
        world.order(Submit(request="parse it", supervisor=f"@{supervisor}"))

    with suppress(NobodyAnswers):
        world.settle()

    assert not world.started
    # A default without a deadline never takes effect.
    assert not world.state.runs or [one for one in world.state.escalations.values() if one.due_ms is None]


@some
@given(worlds(max_turns=80))
def test_an_agent_in_error_or_leaving_never_takes_over(world: World) -> None:
    for agent in list(world.state.agents.values())[::2]:
        world.say(AgentUnusable(agent_id=agent.id, generation=agent.generation, error="no code"))
    events: list[Any] = []
    for key in list(world.started):
        if key in world.started:
            events += world.fail(key)

    state = world.state
    for event in events:
        if isinstance(event, TaskFailedOver) and event.to_id in state.agents:
            assert state.agents[event.to_id].error is None
