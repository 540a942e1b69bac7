"""What Network and Graph fold away as idle is idle, and not an agent that could not work if it had to."""

from dashboard.views.graph import graph_of
from dashboard.views.graph.nodes import Sight
from dashboard.views.graph.subject import TEAM
from dashboard.views.graph.team import hand_overs
from dashboard.views.measures.activity import Activity
from dashboard.views.measures.digest import make_digest
from dashboard.views.network import Folding, network
from engine.core.signals import AgentUnusable
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
