"""Archives that were changed by hand: each is refused in one line, or is a team that can be worked with."""

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from engine.core.commands import Submit
from tests.chance import worlds
from tests.exports import exported, plain
from tests.simulation.mutants import changed_ones, is_taken
from tests.world import World, agent, team_world


@settings(max_examples=25, derandomize=True, phases=[Phase.generate], suppress_health_check=[HealthCheck.too_slow])
@given(worlds(max_turns=60), st.integers(0, 2**32))
def test_a_changed_archive_is_refused_or_can_be_worked_with(world: World, seed: int) -> None:
    state, texts = exported(world)

    changed_ones(plain(state), texts, seed=str(seed), count=15)


def test_a_run_that_would_wait_twice_for_the_same_run_is_refused() -> None:
    world = team_world(agent("ada", "parse"))
    world.order(Submit(request="read it"))
    world.order(Submit(request="sum it up", after=["r1"]))
    state, texts = exported(world)
    document = plain(state)
    assert is_taken(document, texts)

    document["runs"]["r2"]["after"].append("r1")

    assert not is_taken(document, texts)
