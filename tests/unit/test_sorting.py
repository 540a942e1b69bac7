"""Tables sorted by a column: by what their cells say, or by the orders of their view."""

from dashboard.views import agents, network, runs, tasks
from dashboard.views.drawing.rows import AnyColumn, Cell, Column, Listing
from dashboard.views.drawing.sorting import Sorting, reverse_rows, sort_by_cells, title_of
from dashboard.views.facts.ended import EndedTask
from dashboard.views.measures import metric_rows
from dashboard.views.measures.digest import make_digest
from engine.core.records.values import Usage
from engine.core.state import TaskStatus
from tests.pilot.scene import audit

COLUMNS: tuple[AnyColumn, ...] = (Column("WHO", 10), Column("SIZE", 8, right=True), Column("AT", 8))
ROWS = {
    "a": (Cell("anna"), Cell("1,200"), Cell("yesterday", rank=10)),
    "b": (Cell("Bert"), Cell("–"), Cell("12:04", rank=30)),
    "c": (Cell("carl"), Cell("300"), Cell("11:04", rank=20)),
}


def listing() -> Listing:
    return Listing(COLUMNS, ["b", "a", "c"], lambda key: ROWS[key], total=3)


def test_words_go_from_a_to_z_and_numbers_from_the_largest() -> None:
    assert sort_by_cells(listing(), Sorting("WHO")).keys == ["a", "b", "c"]
    assert sort_by_cells(listing(), Sorting("SIZE")).keys == ["a", "c", "b"]


def test_a_cell_that_says_nothing_is_last_whichever_end_is_on_top() -> None:
    assert sort_by_cells(listing(), Sorting("SIZE", is_reversed=True)).keys == ["c", "a", "b"]


def test_a_time_is_sorted_by_when_it_was_and_not_by_how_it_is_written() -> None:
    assert sort_by_cells(listing(), Sorting("AT")).keys == ["b", "c", "a"]


def test_rows_stay_as_they_come_where_no_column_is_chosen() -> None:
    assert sort_by_cells(listing(), Sorting()).keys == ["b", "a", "c"]
    assert reverse_rows(listing()).keys == ["c", "a", "b"]


def test_a_row_is_found_at_its_new_place() -> None:
    found = listing()
    assert found.index("b") == 0

    assert sort_by_cells(found, Sorting("WHO")).index("b") == 1
    assert reverse_rows(found).index("b") == 2


def test_clicks_on_a_heading_sort_turn_round_and_give_back() -> None:
    once = Sorting("declared").after_click("DONE", "declared")
    twice = once.after_click("DONE", "declared")

    assert (once, twice) == (Sorting("DONE"), Sorting("DONE", is_reversed=True))
    assert twice.after_click("DONE", "declared") == Sorting("declared")
    assert twice.after_click("FAIL", "declared") == Sorting("FAIL")


def test_every_heading_that_sorts_is_a_column_and_names_an_order_of_its_view() -> None:
    for view in (agents, metric_rows, runs, tasks):
        titles = {column.title for column in view.COLUMNS}
        assert titles.issuperset(view.HEADS), view.__name__
        assert set(view.ORDERS).issuperset(view.HEADS.values()), view.__name__
    assert network.HEADS.keys() == network.ORDERS.keys()


def test_the_heading_of_an_order_has_the_sign() -> None:
    assert title_of("failures", agents.HEADS) == "FAIL"
    assert title_of("declared", agents.HEADS) == ""
    assert title_of("SIZE", {}) == "SIZE"


def test_tasks_of_runs_that_are_over_stand_among_the_others_in_every_order() -> None:
    work = audit()
    state = work.state
    ended = EndedTask("t9000", "r1", "a1", "old", TaskStatus.DONE, 2, 30, 50, 20, None, Usage(), 7)
    for order in tasks.ORDERS:
        shown = tasks.tasks(state, make_digest(state), {}, now_ms=work.now_ms, order=order, ended_tasks=[ended])
        assert set(shown.keys) == {task.id for task in state.tasks.values() if task.kind != "group"} | {"t9000"}, order


def test_runs_can_be_sorted_in_every_order() -> None:
    state = audit().state
    for order in runs.ORDERS:
        assert set(runs.runs(state, make_digest(state), now_ms=99, order=order).keys) >= set(state.runs), order
