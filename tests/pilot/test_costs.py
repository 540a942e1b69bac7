"""The Costs screen: who spent it, agents that have left included."""

from decimal import Decimal
from pathlib import Path

import pytest

from dashboard.views.costs import costs, describe_cost
from dashboard.views.facts.run_page import run_lines
from dashboard.views.measures.costs import GROUPINGS, cost_rows
from dashboard.views.measures.digest import make_digest
from dashboard.views.measures.usage import budget_spans
from engine.core.commands import RemoveMember
from engine.core.queries.money.recent import covered_s, usd_per_min
from engine.core.records.values import Usage
from engine.core.specs.limits import Limits
from engine.core.specs.options import SupervisorOptions
from tests.pilot.hand import opened
from tests.story import applied, attempt, submitted
from tests.world import World, agent, team_world


def spent() -> World:
    """A team whose crawler spent most of its budget and has left."""
    options = SupervisorOptions(limits=Limits(cost_usd=2))
    world = team_world(agent("crawler"), agent("critic"), mode="parallel", options=options)
    submitted(world)
    for name, model, cost in (("crawler", "large", "1.2"), ("critic", "small", "0.00002")):
        usage = Usage(tokens_in=400, tokens_out=20, cost_usd=Decimal(cost))
        world.record(attempt(world, name), "turn 1", what="model", input={"model": model}, usage=usage)
    usage = Usage(cost_usd=Decimal("0.0002"))
    world.record(attempt(world, "critic"), "fetch_page", what="tool", usage=usage)
    world.succeed(attempt(world, "crawler"))
    applied(world, RemoveMember(target="crawler"))
    return world


def test_rows_of_every_grouping_add_up_to_what_the_team_has_spent() -> None:
    state = spent().state

    for by in GROUPINGS:
        rows = cost_rows(state, by, state.at_ms)
        assert sum((row.usage.cost_usd or Decimal(0)) for row in rows) == state.usage.cost_usd
        listing = costs(rows, by=by)
        cells = [dict(zip((column.title for column in listing.columns), listing.make(key), strict=True))
                 for key in listing.keys]  # fmt: skip
        assert {cell["COST"].text[-5] for cell in cells} == {"."}


def test_runs_that_have_ended_are_rows_beside_the_tasks_of_open_ones() -> None:
    world = spent()
    world.settle()
    ended_usage = world.state.summary("r1")
    submitted(world)
    usage = Usage(cost_usd=Decimal("0.5"))
    world.record(attempt(world, "critic"), "turn 1", what="model", input={"model": "small"}, usage=usage)
    state = world.state

    rows = {row.key: row for row in cost_rows(state, "task", state.at_ms)}
    assert ended_usage is not None
    assert rows["r1"].usage == ended_usage.usage
    assert rows["r1"].left
    assert sum(row.usage.cost_usd or 0 for key, row in rows.items() if key.startswith("t")) == Decimal("0.5")
    assert sum(row.usage.cost_usd or 0 for row in rows.values()) == state.usage.cost_usd


def test_an_agent_that_has_left_is_listed_with_its_models() -> None:
    state = spent().state
    (first, second) = cost_rows(state, "agent", state.at_ms)
    details = describe_cost(state, first, by="agent", now_ms=state.at_ms, width=100, height=20, opens="")
    text = "\n".join("".join(span.text for span in line.spans) for line in details.lines)

    assert (first.name, first.left, second.name, second.left) == ("crawler", True, "critic", False)
    assert costs([first, second], by="agent").make(first.key)[0].text == "crawler (left)"
    assert first.usd_per_min == Decimal("7.2"), "of the ten seconds at least that a mean is taken over"
    assert "large" in text
    assert "$1.20, $7.20 a minute" in text


def test_a_minute_costs_the_mean_of_the_time_since_the_first_run_began() -> None:
    state = spent().state
    began_ms = state.runs["r1"].started_ms

    looks_ms = [began_ms + seconds * 1_000 for seconds in (1, 60, 200)]
    rates = [usd_per_min(state, "model", "large", now_ms, covered_s(state, now_ms, 300)) for now_ms in looks_ms]
    assert rates == [Decimal("7.2"), Decimal("1.2"), Decimal("0.36")]


def test_tasks_that_cost_the_same_are_listed_in_the_order_of_their_numbers() -> None:
    world = team_world(*(agent(f"writer{number}") for number in range(12)), mode="parallel", max_parallel=12)
    submitted(world)
    for number in range(12):
        usage = Usage(tokens_in=1, cost_usd=Decimal("0.1"))
        world.record(attempt(world, f"writer{number}"), "turn 1", what="model", input={"model": "m"}, usage=usage)
    keys = [row.key for row in cost_rows(world.state, "task", world.now_ms)]

    assert keys == sorted(keys, key=lambda key: int(key[1:]))


def test_budgets_of_several_runs_are_one_sum() -> None:
    world = team_world(agent("ada"), options=SupervisorOptions(run_limits=Limits(cost_usd=0.5)))
    submitted(world)
    submitted(world)
    usage = Usage(cost_usd=Decimal("0.2"))
    world.record(attempt(world, "ada"), "turn 1", what="model", input={"model": "m"}, usage=usage)

    assert "".join(span.text for span in budget_spans(world.state, 0)) == "$0.20 of $1.00"


@pytest.mark.anyio
async def test_t_lists_costs_by_model_tool_and_task(tmp_path: Path) -> None:
    async with opened(tmp_path, work=spent()) as hand:
        await hand.press("colon", *"costs", "enter")
        seen = [hand.table.rows.columns[0].title]
        for _ in GROUPINGS:
            await hand.press("t")
            seen.append(hand.table.rows.columns[0].title)

    assert seen == ["AGENT", "MODEL", "TOOL", "TASK", "AGENT"]


def test_a_run_says_who_spent_it_also_after_its_end() -> None:
    world = spent()
    for is_open in (True, False):
        run = world.state.runs.get("r1") or world.state.finished[-1]
        lines = run_lines(world.state, run.id, (), make_digest(world.state), width=80, now_ms=world.now_ms)
        text = ["".join(span.text for span in line.spans) for line in lines]
        assert " spent by crawler $1.20 99% · critic $0.0002 <1%" in text
        assert bool(world.state.runs) == is_open
        if is_open:
            world.succeed(attempt(world, "critic"))
            world.settle()
