"""A page of something that the state does not have says whether it is gone, or was not there yet."""

from typing import Any

from dashboard.views.facts.pages import agent_page, run_page
from dashboard.views.facts.run_page import run_lines
from dashboard.views.measures.digest import make_digest
from dashboard.views.words.absent import absence, is_issued
from dashboard.views.words.names import JournalTexts
from engine.core.commands import AddAgent, Submit
from engine.core.fold import apply
from engine.core.state import State
from tests.world import World, agent, team_world


def moments() -> tuple[World, State]:
    """Return a team with a run and an agent that was added, and its state before both."""
    work = team_world(agent("ada"))
    before = len(work.journal)
    work.order(AddAgent(supervisor="chief", spec=agent("bob")))
    work.order(Submit(request="go"))
    past = State()
    for event in work.journal[:before]:
        apply(past, event)
    return work, past


def test_what_came_later_is_not_called_gone_in_the_past() -> None:
    work, past = moments()
    bob = next(one.id for one in work.state.agents.values() if one.name == "bob")
    (run_id,) = work.state.runs
    facts = run_lines(past, run_id, [], make_digest(past), width=80, now_ms=past.at_ms)
    told: list[Any] = [
        agent_page(past, bob, make_digest(past), {}, [], now_ms=past.at_ms)[0].text,
        run_page(past, run_id, make_digest(past), JournalTexts(), now_ms=past.at_ms)[0].text,
        facts[0].spans[0].text,
    ]

    assert told == ["there is no such agent yet", "there is no such run yet", f" {run_id}  there is no such run yet"]


def test_what_was_there_is_called_gone() -> None:
    work, _ = moments()
    work.state.agents.pop("a2")
    work.state.runs.clear()

    assert absence(work.state, "a2") == "this agent has left the team"
    assert absence(work.state, "r1") == "this run is no longer remembered; its events are in the journal"
    assert [is_issued(work.state, key) for key in ("a2", "a3", "a", "", "a²", "a" + "9" * 5000)] == [True, *[False] * 5]
