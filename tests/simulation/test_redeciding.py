"""What the core decided in a history is decided the same again, from the state right before it."""

import pytest

from engine.core.encoding.codec import encode_event
from engine.core.events import AttemptStarted, GroupGrown, GroupPlanned
from engine.core.fold import fold
from engine.core.state import State
from engine.history.redeciding import Planner
from engine.reading.texts import resolve_value
from engine.simulation.history import run_history
from engine.simulation.report import plan_of


@pytest.mark.parametrize("seed", [1, 3, 5])
def test_every_plan_and_choice_of_a_history_is_decided_the_same_again(seed: int) -> None:
    journal = run_history(plan_of(seed, None, hours=3)).events
    bodies = [encode_event(event) for event in journal]
    state, planners, planned, chosen = State(), dict[str, Planner](), 0, 0
    for event in journal:
        run_id = getattr(event, "run_id", "")
        if run_id not in planners:
            planners[run_id] = Planner(run_id, lambda value: resolve_value(value, lambda seq: bodies[seq - 1]), {})
        planned += isinstance(event, GroupPlanned | GroupGrown)
        chosen += isinstance(event, AttemptStarted) and event.agent_id is not None

        assert planners[run_id].compare(state, event, state.seq + 1) is None
        fold(state, [event])

    assert planned > 5
    assert chosen > 20
