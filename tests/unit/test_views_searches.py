"""Searches for agents outside a team: what pages of supervisors, runs and agents say of them."""

import pytest

from dashboard.views.agents import agents
from dashboard.views.changes.members import describe_coordination
from dashboard.views.facts.agent import agent_facts
from dashboard.views.facts.pages import run_page, supervisor_page
from dashboard.views.facts.searches import discovery_fact
from dashboard.views.facts.supervisor import now_of_supervisor, supervisor_mark
from dashboard.views.measures.digest import make_digest
from dashboard.views.words.names import JournalTexts
from engine.core.commands import Answer, Order
from engine.core.queries.team.discovery import describe_search
from engine.core.signals import AgentsFound
from engine.core.specs.discovery import AgentDiscoveryMode, DiscoveryConfig
from engine.core.specs.options import SupervisorOptions
from tests.pilot.test_discovery import REQUEST, offering, searching
from tests.world import World, agent, team_world

RAG, CATALOGUE, MCP, DYNAMIC = (AgentDiscoveryMode(mode) for mode in ("rag", "catalogue", "mcp", "dynamic"))


def page_of_supervisor(world: World) -> str:
    state = world.state
    cells = supervisor_page(state, state.supervisors["s1"], make_digest(state), [], now_ms=world.now_ms)
    return "\n".join(cell.text for cell in cells)


def page_of_run(world: World) -> str:
    cells = run_page(world.state, "r1", make_digest(world.state), JournalTexts(), now_ms=world.now_ms)
    return "\n".join(cell.text for cell in cells)


def now(world: World) -> str:
    return now_of_supervisor(world.state, world.state.supervisors["s1"], make_digest(world.state)).text


def mark(world: World) -> str:
    return supervisor_mark(world.state.supervisors["s1"], make_digest(world.state)).word


def let_in(world: World) -> None:
    """Answer that the agent may join, by a person who trusts its code."""
    world.say(Order(id="o1", command=Answer(escalation="e1", answer="add"), granted={"textwrap:shorten": ""}))


def titles(world: World) -> list[str]:
    listing = agents(world.state, make_digest(world.state), {}, now_ms=world.now_ms)
    return [column.title for column in listing.columns]


def test_a_search_is_told_from_its_begin_until_who_was_found_is_in_the_team() -> None:
    assert (mark(searching()), now(searching())) == ("queued", "r1 looks for agents")

    world = offering()
    assert mark(world) == "asks"
    assert now(world).startswith("r1 asks: add painter (rag) to chief")
    assert "painter (the documents, 0.67) waits for you (e1)" in page_of_supervisor(world)
    assert "ORIGIN" not in titles(world)

    let_in(world)
    assert "painter (the documents, 0.67) is in the team" in page_of_supervisor(world)
    assert "ORIGIN" in titles(world)

    world.settle()
    assert "r1" not in world.state.runs
    assert "painter (the documents, 0.67) is in the team" in page_of_run(world)


def test_one_that_a_person_left_out_is_told_as_such() -> None:
    world = offering()
    world.order(Answer(escalation="e1", answer="skip"))

    assert "painter (the documents, 0.67) is not in the team" in page_of_run(world)


def test_a_search_that_found_nobody_says_where_and_what_could_not_be_read() -> None:
    world = searching()
    world.say(AgentsFound(task_id="t1", text=REQUEST, found=[], faults=["agents/x.md:2: not valid YAML"]))

    assert "nobody found in the documents; agents/x.md:2: not valid YAML" in page_of_run(world)


def test_an_agent_says_for_what_it_was_found() -> None:
    world = offering()
    let_in(world)
    painter = next(one for one in world.state.agents.values() if one.name == "painter")
    facts = agent_facts(world.state, painter, make_digest(world.state), {}, now_ms=world.now_ms)

    assert "found for a request: agents/painter.md" in [f"{fact.label} {fact.text}" for fact in facts]


def test_a_request_says_beforehand_what_nobody_knows_and_where_it_would_be_searched() -> None:
    state = searching().state

    lines = [cell.text for cell in describe_coordination(state, "s1", None, request=REQUEST)]
    assert lines[1:] == ["nobody in the team knows paint, pictures: would search the documents"]
    assert len(describe_coordination(state, "s1", None, request="count")) == 1


@pytest.mark.parametrize(
    ("config", "text"),
    [
        (DiscoveryConfig(), ""),
        (DiscoveryConfig(modes=(CATALOGUE,)), "would search the catalogue"),
        (DiscoveryConfig(modes=(CATALOGUE, MCP)), "would search the catalogue and the tool servers"),
        (DiscoveryConfig(modes=(DYNAMIC,), model="m/x"), "would make an agent"),
        (DiscoveryConfig(modes=(CATALOGUE, DYNAMIC), model="m/x"), "would search the catalogue, or make an agent"),
        (DiscoveryConfig(modes=(CATALOGUE,), max_new=0), ""),
    ],
)
def test_a_preview_names_the_places_that_are_searched(config: DiscoveryConfig, text: str) -> None:
    assert describe_search(config) == text


def test_the_settings_of_a_supervisor_say_how_it_finds_agents() -> None:
    inside = team_world(agent("ada", "count"), auto_discover=True)
    assert [fact.text for fact in discovery_fact(inside.state.supervisors["s1"])] == ["among its members"]
    assert not [*discovery_fact(team_world(agent("ada")).state.supervisors["s1"])]

    config = DiscoveryConfig(modes=(CATALOGUE,), approve="granted", max_new=2)
    outside = team_world(agent("ada"), auto_discover=True, options=SupervisorOptions(discovery=config))
    assert "the catalogue; asks about new code; at most 2 a run" in page_of_supervisor(outside)
