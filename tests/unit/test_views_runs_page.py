"""The page of a run without a terminal: how far it is, its tasks, and how long it may take."""

import re

import pytest

from dashboard.views.drawing.lines import Line, cell_width
from dashboard.views.facts.run import run_facts
from dashboard.views.facts.run_page import run_lines
from dashboard.views.facts.run_work import at_work_lines, take_census, waiting_lines
from dashboard.views.measures.digest import make_digest
from dashboard.views.measures.forecast import Range, may_grow, time_left
from dashboard.views.runs import runs
from dashboard.views.tasks import tasks
from engine.core.commands import Cancel
from engine.core.entities.work import Run
from engine.core.signals import PersonAsked
from engine.core.specs.spec import Skip
from engine.core.state import State
from tests.pilot.scene import NOW_MS, audit
from tests.pilot.trouble import trouble
from tests.story import attempt, submitted
from tests.world import World, agent, team_world


def text(lines: list[Line]) -> list[str]:
    return ["".join(span.text for span in line.spans).rstrip() for line in lines]


def run_with(*, total: int, ended: int, seconds: int) -> Run:
    return Run(
        id="r1", supervisor_id="s1", request="x", title="x", root_id="t1", total=total, ended=ended,
        started_ms=NOW_MS - seconds * 1_000,
    )  # fmt: skip


def test_a_run_says_how_long_it_may_take_as_a_range_that_narrows() -> None:
    early, late = (time_left(State(), run_with(total=2 * n, ended=n, seconds=n), NOW_MS) for n in (16, 1_600))

    assert early is not None
    assert late is not None
    assert early.low_ms < 16_000 < early.high_ms
    assert (late.high_ms - late.low_ms) / late.low_ms < (early.high_ms - early.low_ms) / early.low_ms
    assert late.text == "23–31 min"


def test_while_more_tasks_may_come_nothing_is_said_of_the_end() -> None:
    state = audit().state

    assert time_left(state, state.runs["r1"], NOW_MS) is None
    assert "to go" not in text(run_lines(state, "r1", (), make_digest(state), width=120, now_ms=NOW_MS))[1]
    plain = team_world(agent("ada"), agent("bob"))
    submitted(plain)
    assert not may_grow(plain.state, plain.state.runs["r1"])


def test_while_a_person_is_asked_about_some_tasks_nothing_is_said_of_the_end() -> None:
    work = team_world(agent("ada"), agent("bob"), mode="parallel")
    submitted(work)
    run = work.state.runs["r1"]
    run.total, run.ended, run.started_ms = 22, 20, NOW_MS - 20_000  # type: ignore[misc]
    assert time_left(work.state, run, NOW_MS) is not None
    asks(work, "ada")
    assert time_left(work.state, run, NOW_MS) is None

    asks(work, "bob")
    facts = text(
        run_lines(
            work.state, "r1", take_census(work.state, run).stages, make_digest(work.state), width=120, now_ms=NOW_MS
        )
    )
    assert "⚑ asks" in facts[0]
    assert "⚑ ada" in facts[2]
    cells = [cell.text for cell in runs(work.state, make_digest(work.state), now_ms=NOW_MS).cells(0)]
    assert "⚑ asks" in cells
    assert any(text.startswith("ada: ") and "asks" not in text for text in cells)


def test_a_range_whose_end_is_more_than_three_times_its_beginning_is_of_no_use() -> None:
    assert Range(10, 30).is_useful
    assert not Range(10, 31).is_useful


def asks(work: World, name: str) -> None:
    key = attempt(work, name)
    question = PersonAsked(
        task_id=key[0], attempt=1, generation=1, key="ask:1", kind="ask", question="go on?", options=[]
    )
    work.say(question)
    work.rest(key, why="ask")


@pytest.mark.parametrize(("total", "ended"), [(100, 3), (50, 50), (0, 0)])
def test_where_nothing_can_be_said_nothing_is(total: int, ended: int) -> None:
    assert time_left(State(), run_with(total=total, ended=ended, seconds=60), NOW_MS) is None


@pytest.mark.parametrize(
    ("low_s", "high_s", "said"),
    [(32, 50, "32–50 s"), (0.2, 0.4, "1 s"), (100, 240, "2–4 min"), (20, 4_000, "20.0 s – 1 h 06 min")],
)
def test_a_range_is_told_in_one_unit_where_it_can_be(low_s: float, high_s: float, said: str) -> None:
    assert Range(low_s * 1_000, high_s * 1_000).text == said


@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_facts_and_tasks_of_a_run_fit_into_any_width(width: int) -> None:
    state = trouble().state
    run = state.runs["r1"]
    found = take_census(state, run)
    facts = run_lines(state, "r1", found.stages, make_digest(state), width=width, now_ms=NOW_MS)
    work = at_work_lines(state, found, make_digest(state), {}, width=width, now_ms=NOW_MS)
    waits = waiting_lines(state, found, make_digest(state), width=width, now_ms=NOW_MS)

    assert all(cell_width(line.spans) <= width for line in (*facts, *work, *waits))
    assert "1/16" in text(facts)[1]
    assert "clerk" in text(work)[0]
    assert [line.key for line in work] == [task.id for task in found.at_work]
    assert any("for reader" in line for line in text(waits))


def test_work_that_has_a_leader_is_counted_under_its_stage() -> None:
    state = trouble().state
    stages = {one.task.title: (one.ended_count, one.total) for one in take_census(state, state.runs["r1"]).stages}

    assert stages["clerk"] == (0, 15)
    assert stages["checker"] == (1, 1)


def test_a_run_says_everywhere_that_it_waits_for_others_or_is_being_stopped() -> None:
    world = team_world(agent("ada"))
    first = submitted(world)
    submitted(world, after=[first])
    world.order(Cancel(target=first))

    heads = [
        text(run_lines(world.state, one, (), make_digest(world.state), width=120, now_ms=world.now_ms))[0]
        for one in ("r1", "r2")
    ]
    rows = runs(world.state, make_digest(world.state), now_ms=world.now_ms)

    for key, head, word in zip(("r1", "r2"), heads, ("◐ stopping", "◌ queued"), strict=True):
        assert word in head
        assert word in [cell.text for cell in rows.make(key)]
        assert list(
            runs(world.state, make_digest(world.state), now_ms=world.now_ms, needle=f"status:{word[2:]}").keys
        ) == [key]


def test_tables_give_the_date_of_what_began_on_another_day() -> None:
    world = team_world(agent("ada"))
    submitted(world)
    tomorrow_ms = world.now_ms + 86_400_000

    for now_ms, form in ((world.now_ms, r"\d\d:\d\d:\d\d"), (tomorrow_ms, r"\d{4}-\d\d-\d\d \d\d:\d\d")):
        work = tasks(world.state, make_digest(world.state), {}, now_ms=now_ms)
        for found, heading in ((runs(world.state, make_digest(world.state), now_ms=now_ms), "AT"), (work, "SINCE")):
            place = [column.title for column in found.columns].index(heading)
            said = found.make(found.keys[0])[place].text
            assert re.fullmatch(form, said)
            assert len(said) == found.columns[place].width


def test_a_run_that_is_held_has_no_forecast() -> None:
    world = team_world(agent("ada"))
    submitted(world)
    run, chief = world.state.runs["r1"], world.state.roots[0]
    run.total, run.ended, run.started_ms = 22, 20, NOW_MS - 20_000  # type: ignore[misc]
    assert time_left(world.state, run, NOW_MS) is not None

    for held, field in ((chief, "paused"), (run, "held"), (chief, "held")):
        setattr(held, field, True)
        chief.exhausted = "tokens" if held is chief and field == "held" else None  # type: ignore[misc]
        assert time_left(world.state, run, NOW_MS) is None
        setattr(held, field, False)


def test_an_output_of_several_lines_is_one_line_in_the_table() -> None:
    world = team_world(agent("ada"))
    submitted(world)
    world.succeed(attempt(world, "ada"), "# Report\n\nall\tis well\n")
    world.settle()

    assert "# Report all is well" in [
        cell.text for cell in runs(world.state, make_digest(world.state), now_ms=world.now_ms).make("r1")
    ]


def test_what_was_skipped_is_counted_beside_what_failed() -> None:
    world = team_world(agent("ada", on_failure=[Skip()]), agent("bob"), mode="parallel")
    run = world.state.runs[submitted(world)]
    world.fail(attempt(world, "ada"))

    facts = run_facts(world.state, run, make_digest(world.state), now_ms=world.now_ms)

    assert [fact.text for fact in facts if fact.label in ("failed", "skipped or cancelled")] == ["0", "1"]
