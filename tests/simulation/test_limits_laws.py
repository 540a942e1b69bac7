"""Laws of deadlines and budgets, for every history."""

from hypothesis import HealthCheck, given, settings

from engine.core.options import GRACE_S
from tests.chance import worlds
from tests.world import World

some = settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@some
@given(worlds())
def test_nothing_has_longer_than_what_it_is_part_of(world: World) -> None:
    state = world.state
    for task in state.tasks.values():
        above = state.tasks[task.parent_id] if task.parent_id is not None else state.runs[task.run_id]
        if above.deadline_ms is not None:
            assert task.deadline_ms is not None
            assert task.deadline_ms <= above.deadline_ms


@some
@given(worlds())
def test_what_has_a_deadline_of_its_own_and_no_other_has_a_timer_for_it(world: World) -> None:
    state = world.state
    for subject in (*state.runs.values(), *state.tasks.values()):
        is_set = f"deadline:{subject.id}" in state.timers
        ended = subject.id in state.tasks and state.tasks[subject.id].ended
        if is_set or not (ended or subject.exceeded):
            assert is_set == (subject.deadline_after_ms is not None)


@some
@given(worlds())
def test_a_run_never_outlives_its_deadline_and_grace_when_agents_obey(world: World) -> None:
    due = {run.id: run.deadline_ms for run in world.state.runs.values() if run.deadline_ms is not None}
    began_ms = world.now_ms

    obey(world)

    ended = {event.run_id: event.at_ms for event in world.journal if event.type == "run_finished"}
    for run_id, due_ms in due.items():
        assert ended[run_id] <= max(began_ms, due_ms) + round(GRACE_S * 1000)


def obey(world: World) -> None:
    """Let agents stop when they are asked to and do nothing else, and every timer come when it is due."""
    while True:
        if world.stopping:
            world.stop(min(world.stopping))
        elif world.joins:
            world.join(next(iter(world.joins)))
        elif world.reads:
            world.read(world.reads[0])
        elif world.timers:
            world.due(min(world.timers, key=lambda one: world.timers[one]))
        else:
            return
