"""What is shown of deadlines and budgets."""

from decimal import Decimal

from dashboard.views.facts.pages import agent_page, run_page, task_page
from dashboard.views.measures.digest import make_digest
from dashboard.views.measures.limits import limit_facts
from dashboard.views.words.names import JournalTexts
from engine.core.records.values import Usage
from engine.core.specs.limits import Limits
from engine.core.state import AgentStatus
from tests.story import attempt, member, submitted, task_of
from tests.world import World, agent, team_world


def shown(world: World, subject: str) -> list[tuple[str, str]]:
    return [(line.text, line.tone) for line in limit_facts(world.state, subject, now_ms=world.now_ms)]


def test_what_is_left_and_what_is_spent_is_said_and_what_is_near_its_end_stands_out() -> None:
    world = team_world(agent("ada"))
    run_id = submitted(world, deadline_s=60, limits=Limits(tokens=2_000, cost_usd=Decimal("0.50")))
    world.record(attempt(world, "ada"), "s", usage=Usage(tokens_in=1_700, cost_usd=Decimal("0.1")))

    assert shown(world, run_id) == [
        ("in 1 min 00 s", ""),
        ("1,700 of 2,000 tokens, 85%", "warn"),
        ("$0.10 of $0.50, 20%", ""),
    ]
    assert shown(world, task_of(world, "ada").id) == [("in 1 min 00 s, inherited", "")]
    world.due(f"warn:{run_id}")
    assert shown(world, run_id)[0] == ("in 12.0 s", "warn")


def test_an_agent_that_has_spent_its_budget_looks_paused_and_says_why() -> None:
    world = team_world(agent("ada", limits=Limits(tokens=10)))
    submitted(world)
    world.succeed(attempt(world, "ada"), usage=Usage(tokens_in=12))
    ada = member(world, "ada")

    assert ada.status is AgentStatus.PAUSED
    assert shown(world, ada.id)[-1] == ("budget of 10 tokens of ada is spent (12); gets nothing more to do", "error")


def test_the_pages_say_it() -> None:
    world = team_world(agent("ada", limits=Limits(attempts=5)))
    run_id = submitted(world, deadline_s=60)
    state, counts, now_ms = world.state, make_digest(world.state), world.now_ms

    pages = [
        run_page(state, run_id, counts, JournalTexts(), now_ms=now_ms),
        task_page(state, task_of(world, "ada").id, counts, {}, JournalTexts(), (), now_ms=now_ms),
        agent_page(state, member(world, "ada").id, counts, {}, (), now_ms=now_ms),
    ]

    said = ["\n".join(cell.text for cell in page) for page in pages]
    assert "in 1 min 00 s" in said[0]
    assert "inherited" in said[1]
    assert "1 of 5 attempts" in said[2]
