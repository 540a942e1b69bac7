"""How wide the columns of the network are, and which of them gives way."""

from decimal import Decimal

import pytest
from rich.cells import cell_len

from dashboard.views.arrangement import arrange
from dashboard.views.drawing.rows import fit_columns
from dashboard.views.drawing.sorting import Sorting
from dashboard.views.measures.activity import Activity
from dashboard.views.measures.digest import make_digest
from dashboard.views.measures.meters import Meters
from dashboard.views.measures.progress import progress_of
from dashboard.views.network import GAP, Folding, Measures, mode_glyph, network
from engine.core.commands import Submit, SupervisorSpec
from engine.core.records.values import Usage
from engine.core.strategies import BUILT_IN
from tests.pilot.scene import NOW_MS, audit
from tests.world import agent, team_world


@pytest.mark.parametrize("columns", [80, 100, 110, 120, 160, 200])
def test_the_meter_of_the_last_minute_stays_at_every_width(columns: int) -> None:
    world = audit()
    tree = columns - arrange(columns, 40, 35, lines=11).pane
    measures = Measures(tree, 0, Meters(), None, progress_of(world.state), Sorting("declared"))
    shown = network(
        world.state, make_digest(world.state), {}, now_ms=NOW_MS, folding=Folding(99), measures=measures
    ).columns

    assert "LAST 60 s" in [shown[index].title for index, _ in fit_columns(shown, tree - 4, GAP)]


@pytest.mark.parametrize(
    ("columns", "whole"), [(58, "import-reader"), (77, "duplicate-finders"), (80, "duplicate-finder")]
)
def test_a_long_name_is_whole_where_what_an_agent_does_now_has_room_to_give(columns: int, whole: str) -> None:
    world = team_world(SupervisorSpec(name="inspection", mode="parallel", members=[agent(whole)]))
    measures = Measures(columns, 0, Meters(), None, progress_of(world.state), Sorting("declared"))
    shown = network(
        world.state, make_digest(world.state), {}, now_ms=NOW_MS, folding=Folding(99), measures=measures
    ).columns

    rooms = {shown[index].title: room for index, room in fit_columns(shown, columns - 2, GAP)}

    assert rooms["AGENT"] >= cell_len(f"│ └ {whole}")
    assert rooms["NOW"] >= 10


@pytest.mark.parametrize("columns", [62, 67, 68, 69, 70, 71, 74, 76, 90])
def test_a_name_is_cut_only_where_neither_what_an_agent_does_nor_its_generation_has_room(columns: int) -> None:
    world = team_world(SupervisorSpec(name="inspection", mode="parallel", members=[agent("duplicate-finder")]))
    measures = Measures(columns, 0, None, None, progress_of(world.state), Sorting("declared"))
    listing = network(world.state, make_digest(world.state), {}, now_ms=NOW_MS, folding=Folding(99), measures=measures)
    rooms = {listing.columns[index].title: room for index, room in fit_columns(listing.columns, columns - 2, GAP)}
    every = [listing.cells(place)[0] for place in range(len(listing.keys))]
    name = next(one for one in every if one.text == "duplicate-finder")

    assert cell_len(name.lead + name.text) <= rooms["AGENT"]
    assert rooms["NOW"] >= 10


def test_what_stands_in_the_rows_of_teams_is_explained_where_the_columns_are() -> None:
    inner = SupervisorSpec(name="inner", mode="parallel", members=[agent("eve")])
    world = team_world(agent("bob"), inner)
    world.order(Submit(request="count"))
    world.settle()
    measures = Measures(200, 60, None, None, progress_of(world.state), Sorting("declared"))
    shown = network(world.state, make_digest(world.state), {}, now_ms=NOW_MS, folding=Folding(99), measures=measures)
    means = {column.title: column.meaning for column in shown.columns}
    place = [column.title for column in shown.columns].index("P50")
    of_team = next(cells for row in range(len(shown.keys)) if (cells := shown.cells(row))[0].text == "inner")

    assert of_team[place].text != "", "how long requests took on their way"
    assert "Of a team under another: how long, on average, a request took on its way" in means["P50"]
    assert all(mode_glyph(mode) in means["AGENT"] for mode in (*BUILT_IN, "of_your_own"))


def test_of_an_agent_that_has_done_nothing_the_median_is_unknown() -> None:
    world = team_world(agent("bob"))
    measures = Measures(200, 60, None, None, progress_of(world.state), Sorting("declared"))
    shown = network(world.state, make_digest(world.state), {}, now_ms=NOW_MS, folding=Folding(99), measures=measures)
    place = [column.title for column in shown.columns].index("P50")

    assert next(cells for row in range(2) if (cells := shown.cells(row))[0].text == "bob")[place].text == "–"


@pytest.mark.parametrize("columns", [80, 100, 120, 200])
def test_the_smallest_sums_of_money_and_the_key_that_unfolds_are_whole(columns: int) -> None:
    world = team_world(*(agent(f"agent-with-a-long-name-{number}") for number in range(9)))
    world.state.agents["a1"].usage = Usage(cost_usd=Decimal("0.00028"))  # type: ignore[misc]
    world.state.supervisors["s1"].usage = Usage(cost_usd=Decimal("0.000031"))  # type: ignore[misc]
    meters = Meters()
    meters.update(Activity(), world.state, NOW_MS)
    measures = Measures(columns, 0, meters, None, progress_of(world.state), Sorting("declared"))
    shown = network(world.state, make_digest(world.state), {}, now_ms=NOW_MS, folding=Folding(4), measures=measures)
    rooms = {shown.columns[index].title: room for index, room in fit_columns(shown.columns, columns - 2, GAP)}
    rows = [dict(zip((one.title for one in shown.columns), row, strict=False)) for row in map(shown.cells, range(5))]

    assert {"0.0003", "<0.0001"} <= {row["COST"].text for row in rows if "COST" in row}
    assert rooms["COST"] >= max(cell_len(row["COST"].text) for row in rows if "COST" in row)
    assert rooms["NOW"] >= cell_len(rows[-1]["NOW"].text)
    assert rows[-1]["NOW"].text.startswith(". shows")


def test_how_many_wait_is_whole_however_many() -> None:
    world = team_world(agent("ada"))
    counts = make_digest(world.state)
    counts.waiting_of["s1"] = 12_345
    meters = Meters()
    meters.update(Activity(), world.state, NOW_MS)
    measures = Measures(200, 40, meters, None, progress_of(world.state), Sorting("declared"))
    shown = network(world.state, counts, {}, now_ms=NOW_MS, folding=Folding(9), measures=measures)
    queue = next(index for index, column in enumerate(shown.columns) if column.title == "QUEUE")

    assert shown.columns[queue].width == cell_len(shown.cells(0)[queue].text) == cell_len("+12,345")
