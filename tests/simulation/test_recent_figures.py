"""Figures of the last minutes and of spending by agent, model and tool, that of agents which left included."""

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core.commands import RemoveMember, SupervisorSpec
from engine.core.encoding.codec import decode_state, encode_state
from engine.core.queries.money.recent import model_figures, recent_of
from engine.core.queries.money.spending import SpendingRow, name_of_spender, spending_rows, total_of
from engine.core.queries.team.figures import MIN_OUTCOMES
from engine.core.records.values import Usage
from engine.core.state import COARSE_SLOTS, MAX_SLOTS, SLOT_MS
from tests.story import applied, attempt, member, submitted
from tests.world import World, agent, team_world

ENDS = st.lists(
    st.tuples(st.integers(0, 400_000), st.integers(0, 100_000), st.booleans(), st.sampled_from(["ada", "bob"])),
    max_size=25,
)


def spent(cost: str, tokens: int = 10, time_ms: int = 0) -> Usage:
    return Usage(tokens_in=tokens, tokens_out=1, cost_usd=Decimal(cost), time_ms=time_ms)


def ended(world: World, name: str, *, ms: int = 10, is_done: bool = True, usage: Usage | None = None) -> None:
    """Let an agent end one request, done or failed."""
    submitted(world, supervisor=f"{name}-team")
    key = attempt(world, name)
    usage = usage or Usage(time_ms=ms)
    if is_done:
        world.succeed(key, usage=usage)
    else:
        world.fail(key, usage=usage)
    world.settle()


def teams() -> World:
    """Two teams of one agent each, under one supervisor."""
    below = [SupervisorSpec(name=f"{name}-team", members=[agent(name, "sum")]) for name in ("ada", "bob")]
    return team_world(*below)


@given(st.data())
def test_windows_count_exactly_what_ended_in_their_span(data: st.DataObject) -> None:
    ends: list[tuple[int, int, bool, str]] = data.draw(ENDS)
    world, moments = teams(), []
    for gap_ms, time_ms, is_done, name in ends:
        world.now_ms += gap_ms
        ended(world, name, ms=time_ms, is_done=is_done)
        moments.append((world.now_ms, time_ms, is_done, name))
    state = decode_state(encode_state(world.state))
    root = state.roots[0]
    for scope, key, names in (
        ("agent", member(world, "ada").id, {"ada"}),
        ("supervisor", root.id, {"ada", "bob"}),
        ("supervisor", member(world, "bob").supervisor_id, {"bob"}),
        ("capability", "sum", {"ada", "bob"}),
    ):
        figures = recent_of(state, scope, key, world.now_ms)  # type: ignore[arg-type]
        for span, size in ((figures.last_5m, 1), (figures.last_1h, COARSE_SLOTS)):
            oldest = world.now_ms // SLOT_MS // size - MAX_SLOTS
            counted = [end for end in moments if end[3] in names and end[0] // SLOT_MS // size > oldest]
            times_ms = sorted(time_ms for _, time_ms, is_done, _ in counted if is_done)
            assert (span.done, span.tasks) == (len(times_ms), len(counted))
            assert span.errors == ({"ValueError": span.failed} if span.failed else {})
            assert math.isnan(span.success_rate) == (len(counted) < MIN_OUTCOMES)
            if times_ms:
                exact_ms = times_ms[max(0, math.ceil(0.5 * len(times_ms)) - 1)]
                assert exact_ms / 2 <= span.p50_ms <= max(1, exact_ms * 2)


def test_spending_is_kept_by_agent_model_and_tool_after_the_agent_has_left() -> None:
    world = team_world(agent("ada"), agent("bob"))
    submitted(world)
    key = attempt(world, "ada")
    world.record(key, "turn 1", what="model", input={"model": "large"}, usage=spent("0.5"))
    world.record(key, "fetch", what="tool", usage=spent("0.25"))
    world.record(key, "note", what="model", input={"model": "large"}, usage=spent("0.0001", 7))
    world.succeed(key, usage=spent("0.1", time_ms=5))
    world.succeed(attempt(world, "bob"), usage=Usage(time_ms=3))
    ada = member(world, "ada").id
    applied(world, RemoveMember(target="ada"))

    rows = {(row.name, row.model, row.tool): row for row in spending_rows(world.state)}
    assert {key: row.usage.cost_usd for key, row in rows.items()} == {
        ("ada", "large", None): Decimal("0.5001"),
        ("ada", None, "fetch"): Decimal("0.25"),
        ("ada", None, None): Decimal("0.1"),
        ("bob", None, None): None,
    }
    assert [row.left for row in rows.values() if row.name == "ada"] == [True] * 3
    assert total_of(row.usage for row in rows.values()) == world.state.usage
    assert name_of_spender(world.state, ada) == "ada"
    assert ada not in world.state.agents


def test_rows_beyond_the_limit_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.core.fold.spending.MAX_SPENDING_ROWS", 2)
    world = team_world(agent("ada"), agent("bob"), agent("cyd"))
    submitted(world)
    for name in ("ada", "bob", "cyd"):
        key = attempt(world, name)
        world.record(key, "turn", what="model", input={"model": "large"}, usage=spent("1"))
        world.succeed(key, usage=spent("0.5"))
    world.settle()
    for name in ("bob", "cyd"):
        applied(world, RemoveMember(target=name))

    rows = spending_rows(world.state)
    assert {(row.name, row.model): row.usage.cost_usd for row in rows} == {
        ("ada", "large"): Decimal(1), ("ada", None): Decimal("0.5"), ("other", None): Decimal(3),
    }  # fmt: skip
    assert total_of(row.usage for row in rows) == world.state.usage


def test_spending_of_agents_that_left_before_it_was_kept_is_a_row_of_its_own() -> None:
    world = team_world(agent("ada"))
    submitted(world)
    world.succeed(attempt(world, "ada"), usage=spent("0.5"))
    applied(world, RemoveMember(target="ada"))
    world.state.spending.clear()

    assert spending_rows(world.state) == [SpendingRow(None, "", None, None, world.state.usage, left=True)]


def test_figures_of_a_model_are_those_of_its_calls() -> None:
    world = team_world(agent("ada"))
    submitted(world)
    key = attempt(world, "ada")
    for _ in range(10):
        world.record(
            key, f"turn {_}", what="model", input={"model": "large"}, duration_ms=1_000, usage=spent("0.5", 100)
        )
    world.now_ms += 1

    figures = model_figures(world.state, "large").last_5m
    assert (figures.done, figures.success_rate, figures.cost_usd, figures.tokens_in) == (10, 1.0, Decimal(5), 1_000)
    assert 512 <= figures.p50_ms <= 1_024
    assert model_figures(world.state, "small").last_1h.tasks == 0
    assert model_figures(world.state, "large", world.now_ms + 3_700_000).last_1h.tasks == 0
