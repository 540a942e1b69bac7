"""Origins of agents: what the catalogue gave to a team is in its journal, and travels with the team."""

from pathlib import Path

import pytest

from engine.archive import export_archive, read_archive
from engine.core.commands import AddAgent, Order
from engine.core.events import AgentAdded, CommandRefused, Event
from engine.core.queries.team.code import references_in_command
from engine.core.specs.spec import AgentSpec, spec_hash
from engine.core.state import Origin
from tests.databases import write_database
from tests.world import World, agent, team_world

SCOUT = AgentSpec(name="scout", run="crew:scout", specialties=("survey",))
ENTRY = Origin(kind="catalogue", id="c00112233445566ff", hash=spec_hash(SCOUT))


def add_entry(world: World, *, granted: bool = True, **fields: object) -> list[Event]:
    """Add SCOUT as the engine does, once it has filled in the spec of an entry."""
    command = AddAgent(spec=SCOUT, catalogue=ENTRY.id, **fields)  # type: ignore[arg-type]
    references = references_in_command(command) if granted else []
    return world.say(Order(id="add", command=command, granted=dict.fromkeys(references, "1"), origin=ENTRY))


def test_an_agent_from_the_catalogue_keeps_its_origin_in_journal_and_archive(tmp_path: Path) -> None:
    world = team_world(agent("ada"))
    events = add_entry(world, name="guide")

    assert [event.origin for event in events if isinstance(event, AgentAdded)] == [ENTRY]
    archive = export_archive(write_database(tmp_path / "team.db", world.journal), tmp_path / "team.zip").path
    agents = read_archive(archive).state.agents.values()
    assert {member.name: member.origin for member in agents} == {"ada": None, "guide": ENTRY}


def test_only_the_first_of_several_agents_comes_from_the_entry() -> None:
    world = team_world(agent("ada"))
    add_entry(world, also=[agent("bob")])

    assert {member.name: member.origin for member in world.state.agents.values()} == {
        "ada": None,
        "scout": ENTRY,
        "bob": None,
    }


@pytest.mark.parametrize("fields", [{}, {"spec": SCOUT}, {"registered": "ada"}])
def test_a_command_that_the_engine_did_not_complete_adds_nothing(fields: dict[str, object]) -> None:
    world = team_world(agent("ada"))

    (refused,) = world.order(AddAgent(catalogue=ENTRY.id, **fields))  # type: ignore[arg-type]

    assert isinstance(refused, CommandRefused)
    assert "by its id alone" in refused.reason


def test_code_of_an_entry_needs_trust_in_full_and_the_refusal_says_how() -> None:
    world = team_world(agent("ada"))

    (refused,) = add_entry(world, granted=False)

    assert isinstance(refused, CommandRefused)
    assert refused.code == "not_trusted"
    assert refused.reason == (
        f"not trusted: crew:scout; allow them here with: quarterdeck add --catalogue {ENTRY.id} --trust"
    )
