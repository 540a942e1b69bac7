"""What a screen says of agents that keep failing and of supervisors that have failed."""

import pytest

from dashboard.views.facts.now import now_of_agent
from dashboard.views.facts.supervisor import now_of_supervisor, state_of_supervisor
from dashboard.views.measures.digest import make_digest
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import Circuit, Restart
from tests.story import attempt, member, submitted
from tests.world import agent, team_world


def test_an_agent_with_an_open_circuit_says_what_it_suffers_from() -> None:
    world = team_world(agent("ada", circuit=Circuit(1, 5.0)))
    submitted(world)
    world.fail(attempt(world, "ada"), "no paper")
    state = world.state

    now = now_of_agent(member(world, "ada"), make_digest(state), world.now_ms)

    assert (now.text, now.tone) == ("circuit open after 1 failure  5 s", "draining")


@pytest.mark.parametrize(
    ("busy", "agents", "told"),
    [(4, 8, "● 4 of 8"), (12, 120, "● 12/120"), (60, 1_000, "● 60/1000"), (1_000, 1_000, "● 1000")],
)
def test_how_many_of_a_large_team_are_at_work_is_not_cut(busy: int, agents: int, told: str) -> None:
    state = team_world(agent("ada")).state
    (chief,) = state.roots
    counts = make_digest(state)
    counts.busy_of[chief.id], counts.agents_of[chief.id] = busy, agents
    counts.kinds_of(chief.id)["working"] = busy

    assert state_of_supervisor(chief, counts).text == told


def test_a_supervisor_that_failed_is_in_error_and_says_why() -> None:
    world = team_world(agent("ada"), options=SupervisorOptions(restart=Restart("one_for_one", 0)))
    submitted(world)
    world.fail(attempt(world, "ada"), crashed=True)
    state = world.state
    (chief,) = state.roots

    assert state_of_supervisor(chief, make_digest(state)).text == "✕ error"
    assert now_of_supervisor(state, chief, make_digest(state)).text == "supervisor chief failed: 1 restart in 60 s"
