"""The kind of an activity is the same whether its words are made or not, and whatever was looked at before."""

import pytest

from dashboard.views.measures.digest import make_digest
from engine.core.activities import Activities
from engine.core.commands import Submit, SupervisorSpec
from engine.core.state import State
from tests.pilot.scene import audit
from tests.pilot.talking import talking
from tests.pilot.trouble import trouble
from tests.world import World, agent, team_world


@pytest.mark.parametrize("working", [True, False])
def test_the_kind_alone_is_that_of_the_activity(working: bool) -> None:
    for state in (audit().state, trouble().state, talking()[0].state):

        def anew(state: State = state) -> Activities:
            return Activities(state, {}, state.at_ms, working=working)

        words, kinds, later = anew(), anew(), anew().at({}, state.at_ms)
        for member in state.agents.values():
            assert kinds.kind_of(member) == later.kind_of(member) == words.of_agent(member).kind


def busy_team() -> World:
    teams = [SupervisorSpec(name=f"t{team}", members=[agent(f"a{team}")], mode="parallel") for team in range(3)]
    work = team_world(*teams, mode="parallel")
    for number in range(5):
        work.order(Submit(request=f"go {number}"))
    return work


def test_what_agents_of_each_team_do_adds_up_to_the_team_also_a_moment_later() -> None:
    work = busy_team()
    counts = make_digest(work.state)
    while work.started:
        for supervisor in work.state.supervisors.values():
            assert counts.kinds_of(supervisor.id).total() == counts.agents_of[supervisor.id]
        key = next(iter(work.started))
        before = counts.at({}, work.state.at_ms + 1)
        work.succeed(key)
        counts = make_digest(work.state, before=before)
        for member in work.state.agents.values():
            assert counts.activities.of_agent(member).kind in ("working", "queued", "idle")


def test_a_run_that_came_after_the_last_look_is_no_fault() -> None:
    work = busy_team()
    activities = make_digest(work.state).activities
    work.order(Submit(request="one more"))

    for task in work.state.tasks.values():
        assert activities.kind_of_task(task) in ("working", "queued", "idle")
    for member in work.state.agents.values():
        assert activities.kind_of(member) in ("working", "queued", "idle")
