"""The tour: each step waits until it is done, none acts, and every card fits the smallest screen."""

import re

from rich.cells import cell_len

from dashboard.views.measures.digest import make_digest
from dashboard.views.words.filters import parse_filter
from dashboard.views.words.keyed import fill_keys
from dashboard.views.words.subjects import TaskSubject
from dashboard.views.words.tour import ROWS, STEPS, Tour, TourContext
from engine.core.commands import Submit
from tests.world import agent, team_world

HOME = TourContext("network", cursor="s1")
DONE: tuple[tuple[TourContext, ...], ...] = (
    (HOME._replace(cursor="a1"),),
    (TourContext("", page=True, cursor="a1"),),
    (HOME._replace(cursor="a1"),),
    (TourContext("tasks", cursor="t1"),),
    (TourContext("tasks", cursor="t1", typing=True), TourContext("tasks", cursor="t1")),
    (TourContext("tasks", cursor="t1", past=True),),
    (TourContext("tasks", cursor="t1"),),
    (TourContext("tasks", cursor="t1", help=True),),
)


def test_every_step_waits_until_it_is_done_and_the_last_one_ends_the_tour() -> None:
    tour = Tour()
    tour.update(HOME)
    now = HOME
    for number, done in enumerate(DONE):
        assert tour.index == number
        assert not tour.update(now), "looking on does not do a step"
        for now in done:
            tour.update(now)
    assert tour.step is None


def test_whoever_goes_on_without_doing_it_is_not_asked_to_come_back_from_where_they_are_not() -> None:
    tour, shown = Tour(), []
    tour.update(HOME)
    while tour.step is not None:
        shown.append(fill_keys(tour.step.key))
        tour.advance(HOME)

    assert shown == ["↓", "enter", "5", "/", "[", "?"]


def test_in_the_past_it_begins_all_the_same_and_asks_for_the_way_back() -> None:
    past = HOME._replace(past=True)
    tour = Tour()
    tour.update(past)
    while tour.step is not None and fill_keys(tour.step.key) != "L":
        assert fill_keys(tour.step.key) != "["
        tour.advance(past)

    assert tour.step is not None
    assert tour.update(HOME)


def test_every_card_fits_into_80_columns() -> None:
    tour = Tour()
    tour.update(HOME)
    for number in range(len(STEPS)):
        tour.index = number
        lines = ["".join(span.text for span in line.spans) for line in tour.lines(80)]
        assert len(lines) == ROWS
        assert all(cell_len(line) <= 80 for line in lines)
        words = " ".join(lines[1:]).replace("▲", "").replace("▼", "").split()
        assert words == [*fill_keys(STEPS[number].text).split(), *fill_keys(STEPS[number].key).split()]


def test_what_it_says_of_filters_finds_failed_work_in_the_list_that_it_looks_at() -> None:
    world = team_world(agent("ada"), agent("bob"), mode="parallel")
    world.order(Submit(request="count"))
    world.fail(next(iter(world.started)))
    (failed,) = [task for task in world.state.tasks.values() if task.status == "failed"]
    (step,) = [one for one in STEPS if one.key == "/"]
    (example,) = re.findall(r"[a-z]+:[a-z]+", step.text)

    assert parse_filter(example).passes(TaskSubject(world.state, failed, make_digest(world.state).activities))
