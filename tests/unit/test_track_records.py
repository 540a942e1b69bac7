"""What agents did in each category of work: kept over all runs, and used where a supervisor says so."""

from decimal import Decimal

from dashboard.views.facts.pages import agent_page
from dashboard.views.measures.digest import make_digest
from engine.core.commands import ChangeSupervisor
from engine.core.queries.team.track_record import mean_of, track_record_category, track_record_of
from engine.core.queries.team.workers import workers_of
from engine.core.records.values import Usage
from engine.core.specs.options import Balance, SupervisorOptions
from engine.core.specs.spec import AgentSpec
from engine.core.state import MAX_CATEGORIES, TrackRecord
from engine.runtimes.model.options import ModelOptions
from engine.runtimes.model.prompt import system_text
from tests.legal import assert_legal
from tests.story import applied, attempt, done, member, submitted
from tests.world import World, agent, team_world

KINDS = {"research": "sequential", "writing": "sequential"}


def hands(*members: AgentSpec, balance: Balance = "track_record", told: bool | None = None) -> World:
    """A lead who delegates sums to others, in requests of several categories."""
    options = SupervisorOptions(balance=balance, strategies=KINDS, track_record=told)
    return team_world(agent("lead"), *members, participants=["lead"], options=options, max_parallel=50)


def summed(world: World, category: str | None, *, ms: int = 10, fails: bool = False) -> str:
    """Have a sum done in a request of a category, and return who did it."""
    submitted(world, category=category) if category else submitted(world)
    if world.reads:
        world.read(world.reads[0])
    lead = attempt(world, "lead")
    world.ask(lead, "sum", ["1 + 1"])
    name = next(start.agent for start in world.started.values() if start.agent != "lead")
    key = attempt(world, name)
    world.now_ms += ms
    usage = Usage(cost_usd=Decimal("0.02"), tokens_in=10, time_ms=ms)
    if fails:
        world.fail(key, usage=usage)
    else:
        world.succeed(key, usage=usage)
    world.settle()
    return name


def record(world: World, name: str, category: str) -> TrackRecord:
    return member(world, name).track_record[category]


def test_outcome_and_cost_are_kept_by_category_over_all_runs() -> None:
    world = hands(agent("ada", "sum"))

    for category, fails in (("research", False), ("research", True), ("writing", False), (None, False)):
        summed(world, category, fails=fails)

    ada = member(world, "ada").track_record
    assert {category: (one.done, one.failed) for category, one in ada.items()} == {
        "research": (1, 1), "writing": (1, 0), "": (1, 0),
    }  # fmt: skip
    assert ada["research"].usage == Usage(cost_usd=Decimal("0.04"), tokens_in=20, time_ms=20)
    assert mean_of(ada["research"]) == (0.01, 0.02)
    assert_legal(world.state)


def test_a_form_of_the_name_of_a_category_is_that_category() -> None:
    world = hands(agent("ada", "sum"))

    summed(world, "research_tasks")

    assert list(member(world, "ada").track_record) == ["research"]


def test_more_categories_than_are_kept_are_counted_together() -> None:
    kinds = {f"kind {number}": "sequential" for number in range(MAX_CATEGORIES + 2)}
    options = SupervisorOptions(strategies=kinds)
    world = team_world(agent("ada"), options=options)

    for kind in kinds:
        submitted(world, category=kind)
        done(world, "ada")

    kept = member(world, "ada").track_record
    assert kept[""].done == 2
    assert [category for category in kept if category] == list(kinds)[2:]
    assert_legal(world.state)


def test_the_agent_that_did_better_at_work_of_the_category_gets_it() -> None:
    world = hands(agent("ada", "sum"), agent("bob", "sum"))
    first = [summed(world, "research", ms=900), summed(world, "research", ms=10)]
    other = [summed(world, "writing", ms=10), summed(world, "writing", ms=900)]

    assert sorted(first) == sorted(other) == ["ada", "bob"], "each is tried once in each category"
    assert [summed(world, "research") for _ in range(3)] == [first[1]] * 3
    assert [summed(world, "writing") for _ in range(3)] == [other[0]] * 3


def test_who_has_only_failed_at_work_of_a_category_gets_it_last() -> None:
    world = hands(agent("ada", "sum"), agent("bob", "sum"))
    failed = summed(world, "research", fails=True)
    other = summed(world, "research", ms=60_000)

    assert {failed, other} == {"ada", "bob"}
    assert [summed(world, "research", ms=60_000) for _ in range(3)] == [other] * 3


def told(world: World, request: str) -> str:
    """What a model that leads is told of its workers in a request of a category."""
    submitted(world, category=request)
    (chief,) = world.state.roots
    lead = member(world, "lead")
    task = world.state.tasks[attempt(world, "lead")[0]]
    category = track_record_category(world.state, chief, task)
    workers = workers_of(world.state, chief, lead_id=lead.id, category=category)
    text = system_text(world.state.spec_of(lead), ModelOptions(), workers, "")
    world.settle()
    return text


def test_a_model_that_leads_is_told_of_the_category_alone_and_only_where_that_was_said() -> None:
    world = hands(agent("ada", "sum"), balance="round_robin")
    summed(world, "research", ms=1500)
    summed(world, "research", ms=1500, fails=True)

    assert "What came of their work" not in told(world, "research")

    applied(world, ChangeSupervisor(supervisor="chief", options=SupervisorOptions(track_record=True)))
    assert told(world, "research").endswith(
        "What came of their work on requests of this kind before:\n- ada: 1 of 2 done, 1.5 s and $0.02 each"
    )
    assert "What came of their work" not in told(world, "writing")


def test_the_record_of_a_team_is_that_of_the_agents_under_it() -> None:
    world = hands(agent("ada", "sum"), agent("bob", "sum"))
    for _ in range(4):
        summed(world, "research")

    (chief,) = world.state.roots
    found = track_record_of(world.state, chief)

    assert found["research"].done == 8, "with the attempts of the lead"
    assert found["research"].usage.tokens_in == 40


def test_a_record_stays_with_the_agent_after_a_restart_of_the_engine() -> None:
    world = hands(agent("ada", "sum"))
    summed(world, "research")
    before = record(world, "ada", "research")

    world.crash()

    assert record(world, "ada", "research") == before


def test_the_page_of_an_agent_shows_its_record_without_any_setting() -> None:
    world = hands(agent("ada", "sum"), balance="round_robin")
    summed(world, "research", ms=1500)
    summed(world, "research", ms=1500, fails=True)

    page = agent_page(world.state, member(world, "ada").id, make_digest(world.state), {}, (), now_ms=world.now_ms)

    lines = [cell.text for cell in page]
    assert "research: 1 of 2 ok, 1.5 s each, 20 tokens in, $0.04" in lines[lines.index("TRACK RECORD") :]
