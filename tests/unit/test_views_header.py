"""The first line: what it leaves out where there is little room, and what it says of a run that is paused."""

from dataclasses import replace
from decimal import Decimal

import pytest
from rich.cells import cell_len

from dashboard.clean import clean
from dashboard.views.drawing.plots import spark
from dashboard.views.header import banner, left_cells, path_cells, paused_runs, restart_lines, right_cells
from dashboard.views.measures.activity import Activity
from dashboard.views.measures.digest import make_digest
from dashboard.views.measures.strip import strip
from dashboard.views.situation import Situation
from engine.core.commands import Pause, Submit
from engine.core.records.values import Usage
from engine.core.specs.limits import Limits
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import Escalate, Retry
from store.journals.records import EngineInfo
from tests.world import World, agent, team_world

ENGINE = EngineInfo(
    pid=4211, alive=True, since_ms=0, token=1, heartbeat_age_ms=0, loop_age_ms=0, host="deck", started="", boot_id=""
)
SITUATION = Situation(db="team.db", engine=ENGINE, now_ms=767_000, events_per_s=3.0)


def asking() -> World:
    """Return a team with a question to a person."""
    work = team_world(agent("ada", "a", on_failure=[Retry(0), Escalate()]))
    work.order(Submit(request="count", supervisor="chief"))
    work.fail(next(iter(work.started)), "no")
    assert work.state.escalations
    return work


@pytest.mark.parametrize(
    ("room", "said"),
    [
        (60, ["● engine 4211  00:12:47", " ⚑ 1 needs you "]),
        (40, ["● engine 4211", " ⚑ 1 needs you "]),
        (28, [" ⚑ 1 needs you "]),
    ],
)
def test_who_needs_a_person_is_left_out_last(room: int, said: list[str]) -> None:
    state = asking().state

    cells = right_cells(state, SITUATION, make_digest(state), brief=True, room=room)

    assert [cell.text for cell in cells] == said


def test_an_engine_without_room_on_its_disk_is_not_to_be_taken_over() -> None:
    silent = replace(ENGINE, heartbeat_age_ms=5_000)
    told = [
        banner(team_world().state, replace(SITUATION, engine=engine), None)
        for engine in (silent, replace(silent, no_room=True), replace(ENGINE, no_room=True))
    ]

    assert [cell.text for cell in told if cell is not None] == [
        "✕ engine 4211 does not answer · take over: E or quarterdeck engine --takeover --db team.db",
        "✕ engine 4211 has no room to write team.db · free some space",
        "✕ engine 4211 has no room to write team.db · free some space",
    ]


def test_an_engine_without_room_on_its_disk_is_not_said_to_hang() -> None:
    full = replace(SITUATION, engine=replace(ENGINE, heartbeat_age_ms=5_000, no_room=True))
    state = team_world().state

    assert right_cells(state, full, make_digest(state), brief=True)[0].text == "✕ engine 4211 has no room to write"


def test_who_is_in_a_browser_is_not_told_to_press_the_key_that_does_nothing_there() -> None:
    gone = replace(SITUATION, engine=replace(ENGINE, alive=False))
    told = [banner(team_world().state, one, None) for one in (gone, replace(gone, in_browser=True))]

    assert [cell.text for cell in told if cell is not None] == [
        "✕ engine 4211 is gone · continue: E or quarterdeck engine --db team.db",
        "✕ engine 4211 is gone · continue: in a shell: quarterdeck engine --db team.db",
    ]


def test_a_run_that_is_paused_looks_so_and_how_it_goes_on_is_said() -> None:
    work = team_world(agent("ada", "a"))
    work.order(Submit(request="count", supervisor="chief"))
    assert [cell.text for cell in left_cells(work.state, SITUATION)][-1] == "▸ count"
    assert not paused_runs(work.state)

    work.order(Pause(target=next(iter(work.state.runs))))

    assert [cell.text for cell in left_cells(work.state, SITUATION)][-1] == "‖ count"
    assert "it is paused: 7, then z resumes it" in " ".join(cell.text for cell in restart_lines(work.state, SITUATION))
    work.order(Submit(request="count again", supervisor="chief"))
    assert not paused_runs(work.state)


@pytest.mark.parametrize(
    ("room", "said"),
    [
        (60, ["QUARTERDECK", "chief", "▸ inspection", "▸ metrician", "▸ t7 ast.py"]),
        (50, ["chief", "▸ inspection", "▸ metrician", "▸ t7 ast.py"]),
        (40, ["chief", "▸ …", "▸ metrician", "▸ t7 ast.py"]),
        (30, ["chief", "▸ …", "▸ t7 ast.py"]),
        (20, ["chief", "▸ …", "▸ t7 as…"]),
    ],
)
def test_a_path_that_has_no_room_leaves_out_what_was_opened_first(room: int, said: list[str]) -> None:
    cells = path_cells("chief", ["inspection", "metrician", "t7 ast.py"], room)

    assert [cell.text for cell in cells] == said


def test_a_path_is_no_wider_than_its_room_whatever_the_names_are() -> None:
    for room in range(24, 120):
        cells = path_cells("команда " * 9, ["運が悪い" * 20, "a" * 90, "🧭" * 30], room)

        assert cell_len("  ".join(clean(cell.text) for cell in cells)) <= room


def test_the_health_strip_has_a_second_of_the_queue_in_each_sample_however_often_it_was_looked_at() -> None:
    work, activity, now_ms = asking(), Activity(), 767_000
    for quarter in range(80, 0, -1):  # four samples a second while events come, then none for a while
        if quarter > 24:
            activity.sample_queues(now_ms - quarter * 250, 40 if quarter > 40 else 20, {})

    line = strip(work.state, make_digest(work.state), activity, now_ms=now_ms, width=120)

    assert spark([40, *[20] * 11], 6) in [span.text for span in line.spans]


@pytest.mark.parametrize(
    ("room", "said"),
    [
        (120, "● engine 4211  00:12:47|$0.54 ━╸─── of $2.00|    3 ev/s|queue 0"),
        (40, "● engine 4211  00:12:47|$0.54 of $2.00|    3 ev/s|queue 0"),
        (36, "● engine 4211|$0.54 ━╸─── of $2.00|    3 ev/s|queue 0"),
    ],
)
def test_the_header_says_what_a_team_has_spent_of_its_budget_before_any_rate(room: int, said: str) -> None:
    work = team_world(agent("ada"), options=SupervisorOptions(limits=Limits(cost_usd=2)))
    work.order(Submit(request="count", supervisor="chief"))
    work.record(next(iter(work.started)), "s", usage=Usage(tokens_in=5, cost_usd=Decimal("0.54")))

    cells = right_cells(work.state, SITUATION, make_digest(work.state), brief=False, room=room)

    assert "|".join(cell.text for cell in cells) == said
