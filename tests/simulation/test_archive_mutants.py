"""Archives that were changed by hand: each is refused in one line, or is a team that can be worked with."""

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.chance import worlds
from tests.exports import exported, plain
from tests.simulation.mutants import changed_ones
from tests.world import World


@settings(max_examples=25, derandomize=True, phases=[Phase.generate], suppress_health_check=[HealthCheck.too_slow])
@given(worlds(max_turns=60), st.integers(0, 2**32))
def test_a_changed_archive_is_refused_or_can_be_worked_with(world: World, seed: int) -> None:
    state, texts = exported(world)

    changed_ones(plain(state), texts, seed=str(seed), count=15)
