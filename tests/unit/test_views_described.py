"""What is said of an object that has no page of its own, and what objects are called in titles."""

from dashboard.views.changes.targets import Target
from dashboard.views.facts.pages import entity_page
from engine.core.specs.options import SupervisorOptions
from tests.world import agent, team_world


def test_labels_are_whole_and_what_says_nothing_is_left_out() -> None:
    work = team_world(agent("ada"), mode="delegate", options=SupervisorOptions(lead="ada"))
    (supervisor,) = work.state.supervisors.values()
    supervisor.max_parallel = 6  # type: ignore[misc]

    lines = {cell.lead.strip(): cell for cell in entity_page(supervisor, ()) if cell.lead}

    assert lines["max parallel"].text == "6"
    assert "null" not in lines["options"].text
    assert len({len(cell.lead) for cell in lines.values()}) == 1


def test_titles_quote_what_people_wrote_and_not_the_names_of_the_team() -> None:
    assert Target("agent", "a1", "ada").title == "agent ada"
    assert Target("supervisor", "s1", "desk").title == "supervisor desk"
    assert Target("run", "r1", "Close the year").title == "run “Close the year”"
