"""What Network and Graph fold away as idle is idle, and not an agent that could not work if it had to."""

from dashboard.views.graph import graph_of
from dashboard.views.graph.nodes import Sight
from dashboard.views.graph.subject import TEAM
from dashboard.views.graph.team import hand_overs
from dashboard.views.measures.activity import Activity
from dashboard.views.measures.digest import make_digest
from dashboard.views.network import Folding, network
from engine.core.commands import Submit
from engine.core.signals import AgentUnusable
from engine.core.specs.failure_policies import Escalate
from tests.story import attempt
from tests.world import agent, team_world

AWAY = ("of-1", "of-2", "of-3", "of-4")


def test_agents_whose_code_is_gone_are_not_folded_away_as_idle() -> None:
    work = team_world(*(agent(f"of-{number}") for number in range(12)))
    for one in [one for one in work.state.agents.values() if one.name in AWAY]:
        work.say(AgentUnusable(agent_id=one.id, generation=1, error="its code was edited", away=True))
    state, counts, now_ms = work.state, make_digest(work.state), work.now_ms + 60_000
    rows = network(state, counts, {}, now_ms=now_ms, folding=Folding(1))
    sight = Sight(state=state, counts=counts, now_ms=now_ms, activity=Activity.of(state, work.journal))
    nodes = graph_of(sight, TEAM, hand_overs(state)).nodes

    shown = {row[0].text: row[2].text for row in map(rows.cells, range(len(rows.keys)))}
    assert {name: shown.get(name) for name in AWAY} == dict.fromkeys(AWAY, "‖ away")
    assert shown["+5 idle"] == "○ idle"
    assert {node.name for node in nodes} == {"chief", *AWAY, "+8 idle"}


def test_an_agent_whose_work_waits_for_a_person_is_not_folded_away_as_idle() -> None:
    names = [f"reader-{number}" for number in range(12)]
    work = team_world(*(agent(name, on_failure=[Escalate(after_s=600)]) for name in names), mode="parallel")
    work.order(Submit(request="read it"))
    for name in names:
        work.fail(attempt(work, name)) if name == "reader-11" else work.succeed(attempt(work, name))
    work.now_ms += 600_000
    counts = make_digest(work.state, now_ms=work.now_ms)
    listing = network(work.state, counts, {}, now_ms=work.now_ms, folding=Folding(4))
    rows = {cells[0].text: cells[1].text + cells[2].text for cells in map(listing.cells, range(len(listing.keys)))}

    assert "⚑ asks" in rows["reader-11"]
    assert any(name.startswith("+8 idle") for name in rows)
