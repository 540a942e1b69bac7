"""The lists of tasks and runs: what has ended is there too, in every order, and found by the same filters."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.views.agents import COLUMNS as OF_AGENTS
from dashboard.views.agents import agents
from dashboard.views.drawing.rows import fit_columns, visible_columns
from dashboard.views.event_log import Entry
from dashboard.views.facts.agent import agent_facts
from dashboard.views.facts.agent_page import facts_lines
from dashboard.views.facts.ended import EndedTaskIndex, ended_tasks_in
from dashboard.views.facts.pages import agent_page
from dashboard.views.facts.task_page import child_lines
from dashboard.views.measures.activity import Activity
from dashboard.views.measures.digest import make_digest
from dashboard.views.measures.progress import format_share
from dashboard.views.measures.usage import USAGE_TITLES
from dashboard.views.runs import ORDERS as RUN_ORDERS
from dashboard.views.runs import runs
from dashboard.views.tasks import COLUMNS, ORDERS, tasks
from dashboard.views.words.names import Names
from engine.core.commands import SetDeadline, SetPriority, Submit, SupervisorSpec
from engine.core.records.values import Usage
from engine.core.signals import PersonAsked
from engine.core.specs.spec import Retry
from tests.pilot.scene import NOW_MS
from tests.pilot.trouble import trouble
from tests.story import attempt, done, submitted
from tests.world import World, agent, team_world


def over() -> World:
    """Return a team with a run that is over and one that is not."""
    work = team_world(agent("reader", "read"), agent("writer", "write"), participants=["reader", "writer"])
    work.order(Submit(request="Write it up", supervisor="chief"))
    done(work, "reader")
    done(work, "writer")
    for key in list(work.joins):
        work.join(key)
    work.order(Submit(request="Write another", supervisor="chief"))
    return work


def entries(work: World) -> list[Entry]:
    return [Entry(seq, one.at_ms, one.type, one) for seq, one in enumerate(work.journal, 1)][::-1]


def names(work: World) -> Names:
    known = Names()
    known.learn(work.journal)
    known.learn_state(work.state)
    return known


def headings(work: World) -> list[str]:
    return [column.title for column in tasks(work.state, make_digest(work.state), {}, now_ms=NOW_MS).columns]


def test_columns_of_tasks_that_would_say_nothing_of_any_are_not_there() -> None:
    work = over()
    task_id = next(one.id for one in work.state.tasks.values() if one.kind != "group" and not one.ended)

    assert headings(work) == ["TASK", "STATE", "AGENT", "RUN", "WHY, OR HOW FAR", "SINCE", "TOOK"]
    work.order(SetPriority(target=task_id, priority=2))
    work.order(SetDeadline(target=task_id, deadline_s=60))
    assert headings(work) == ["TASK", "STATE", "AGENT", "RUN", "WHY, OR HOW FAR", "PRI", "DUE", "SINCE", "TOOK"]
    listing = tasks(work.state, make_digest(work.state), {}, now_ms=NOW_MS)
    cells = dict(zip((column.title for column in listing.columns), listing.make(task_id), strict=True))
    assert (cells["PRI"].text, cells["DUE"].text != "") == ("2", True)


def test_priority_and_deadline_of_runs_take_no_room_from_the_request_where_no_run_has_any() -> None:
    work = team_world(agent("ada"))
    submitted(work)

    def titles() -> list[str]:
        return [column.title for column in runs(work.state, make_digest(work.state), now_ms=NOW_MS).columns]

    assert not {"PRI", "DUE"} & {*titles()}
    work.order(SetPriority(target="r1", priority=2))
    work.order(SetDeadline(target="r1", deadline_s=60))
    assert titles().index("DUE") == titles().index("PRI") + 1
    listing = runs(work.state, make_digest(work.state), now_ms=NOW_MS)
    cells = dict(zip(titles(), listing.make("r1"), strict=True))
    assert (cells["PRI"].text, cells["DUE"].text != "") == ("2", True)


def test_the_team_of_an_agent_is_whole_where_there_is_room() -> None:
    work = team_world(SupervisorSpec(name="counting-house", members=[agent("ada")]))
    columns = agents(work.state, make_digest(work.state), {}, now_ms=NOW_MS).columns
    rooms = {columns[index].title: room for index, room in fit_columns(columns, 200)}

    assert rooms["UNDER"] == len("counting-house")


def test_a_task_that_just_began_has_a_time_and_one_that_waits_says_for_what_beside_its_state() -> None:
    work = over()
    state = work.state
    listing = tasks(state, make_digest(state), {}, now_ms=state.at_ms)
    rows = {task.title: [cell.text for cell in listing.make(task.id)] for task in state.tasks.values()}

    assert (rows["reader"][1], rows["reader"][-1]) == ("● working", "<1 s")
    assert (rows["writer"][1], rows["writer"][4]) == ("◌ queued", "for reader")


def test_in_a_window_of_80_with_a_scroll_bar_a_task_says_whole_what_it_waits_for_and_how_long_it_took() -> None:
    columns = visible_columns(COLUMNS, without=USAGE_TITLES)
    rooms = {columns[index].title: room for index, room in fit_columns(columns, 77)}

    assert [*rooms] == ["TASK", "STATE", "AGENT", "WHY, OR HOW FAR", "TOOK"]
    assert rooms["WHY, OR HOW FAR"] >= len("for a process slot: 1 of 1")


def test_names_of_agents_stand_whole_in_the_list_of_tasks_where_there_is_room() -> None:
    work = team_world(agent("duplicate-finder", "read"), agent("ada", "write"))
    columns = tasks(work.state, make_digest(work.state), {}, now_ms=NOW_MS).columns
    rooms = {
        width: {columns[at].title: room for at, room in fit_columns(columns, width)} for width in (101, 107, 110, 200)
    }

    assert [room["AGENT"] for room in rooms.values()] == [len("duplicate-finder")] * 4
    assert rooms[200]["TASK"] > 40


def test_an_agent_that_waits_says_so_as_in_the_network_and_one_that_asks_a_person_says_that() -> None:
    def said(work: World) -> set[tuple[str, str]]:
        rows = agents(work.state, make_digest(work.state), {}, now_ms=NOW_MS)
        return {(row[3].text, row[4].text) for row in map(rows.cells, range(len(rows.keys)))}

    assert ("◔ delegated", "for 14 delegated tasks") in said(trouble())

    asks = team_world(agent("ada"))
    submitted(asks)
    key = attempt(asks, "ada")
    question = PersonAsked(
        task_id=key[0], attempt=1, generation=1, key="ask:1", kind="ask", question="go on?", options=["yes", "no"]
    )
    asks.say(question)
    asks.rest(key, why="ask")
    assert {state for state, _ in said(asks)} == {"⚑ asks"}
    state, found, activity = asks.state, make_digest(asks.state), Activity.of(asks.state, asks.journal)
    (ada,) = state.agents.values()
    task, now_ms = state.tasks[key[0]], state.at_ms
    facts = agent_facts(state, ada, found, {}, now_ms=now_ms, activity=activity)
    head = facts_lines(facts, ada, task, 80, now_ms=now_ms)[0]
    assert "⚑ asks" in "".join(span.text for span in head.spans)
    assert "⚑ asks" in [cell.text for cell in agent_page(state, ada.id, found, {}, [], now_ms=now_ms)]


def test_in_a_window_of_80_with_a_scroll_bar_the_slowest_agent_can_be_found() -> None:
    columns = visible_columns(OF_AGENTS, {"AGENT": (16, 16)}, without=USAGE_TITLES)

    assert "P50" in [columns[index].title for index, _ in fit_columns(columns, 77)]


def test_the_slowest_agent_is_the_one_that_worked_longest_and_not_the_lead_that_waited_for_it() -> None:
    work = team_world(agent("lead", "lead"), agent("reader", "read"), participants=["lead"])
    work.order(Submit(request="Read it", supervisor="chief"))
    lead = next(iter(work.started))
    work.ask(lead, "read", ["a.py"])
    work.now_ms += 60_000
    work.succeed(next(key for key in work.started if key != lead), took_ms=60_000)
    work.succeed(lead, usage=Usage(time_ms=2), duration_ms=60_002)
    listing = agents(work.state, make_digest(work.state), {}, now_ms=work.now_ms, order="slowest")

    assert [(cells[0].text, cells[-1].text) for cells in map(listing.make, listing.keys)] == [
        ("reader", "1 min 00 s"),
        ("lead", "2 ms"),
    ]


@pytest.mark.parametrize("order", ORDERS)
def test_tasks_of_runs_that_are_over_are_listed_once_with_their_run_and_who_did_them(order: str) -> None:
    work = over()
    state = work.state
    found = ended_tasks_in(entries(work), names(work))
    listing = tasks(state, make_digest(state), {}, now_ms=NOW_MS, order=order, ended_tasks=[*found, *found])
    gone = [key for key in listing.keys if key not in state.tasks]

    assert len(gone) == len(set(gone)) == 2
    rows = [[cell.text for cell in listing.make(key)] for key in gone]
    assert {(row[0], row[2], row[3]) for row in rows} == {("reader", "reader", "r1"), ("writer", "writer", "r1")}
    assert listing.total == len(listing.keys) == 2 + sum(task.kind != "group" for task in state.tasks.values())


@pytest.mark.parametrize(
    ("needle", "many"), [("run:r1", 2), ("agent:writer status:done", 1), ("run:r1 -agent:writer", 1)]
)
def test_filters_find_tasks_of_runs_that_are_over(needle: str, many: int) -> None:
    work = over()
    found = ended_tasks_in(entries(work), names(work))
    listing = tasks(work.state, make_digest(work.state), {}, now_ms=NOW_MS, needle=needle, ended_tasks=found)

    assert len([key for key in listing.keys if key not in work.state.tasks]) == many


@pytest.mark.parametrize("order", RUN_ORDERS)
def test_every_order_of_runs_has_all_of_them(order: str) -> None:
    state = trouble().state

    assert set(runs(state, make_digest(state), now_ms=NOW_MS, order=order).keys) == {
        *state.runs,
        *(run.id for run in state.finished),
    }


def test_a_run_says_its_id_how_far_it_is_and_what_it_cost() -> None:
    state = trouble().state
    listing = runs(state, make_digest(state), now_ms=NOW_MS, order="cost")
    row = dict(zip((column.title for column in listing.columns), listing.make(listing.keys[0]), strict=True))

    assert (row["ID"].text, row["PROGRESS"].text, row["TASKS"].text, row["COST"].text) == ("r1", "6%", "1/16", "0.3100")
    assert "".join(span.text for span in row["PROGRESS"].spans) == "╸─────────"


WORK = trouble()
EVENTS = entries(WORK)


@given(st.lists(st.tuples(st.integers(0, len(EVENTS)), st.integers(1, len(EVENTS))), max_size=8))
def test_ended_tasks_that_are_followed_are_those_that_are_made_anew(looks: list[tuple[int, int]]) -> None:
    followed, known = EndedTaskIndex(), names(WORK)
    for newer, many in looks:  # a window that time, or an operator, moves forth and back
        window = EVENTS[newer : newer + many]
        one_by_one, anew = followed.update(window, known), ended_tasks_in(window, known)
        # An earlier attempt that has left the window is not forgotten.
        assert all(one.started_ms <= other.started_ms for one, other in zip(one_by_one, anew, strict=True))
        assert [replace(one, started_ms=0, usage=None) for one in one_by_one] == [
            replace(one, started_ms=0, usage=None) for one in anew
        ]


def test_a_task_took_as_long_and_began_as_early_once_its_run_is_over() -> None:
    work = team_world(agent("ada", on_failure=[Retry(1, 10.0, 10.0)]), agent("bob"), mode="parallel")
    submitted(work)
    first = attempt(work, "ada")
    work.now_ms += 40_000
    work.fail(first, duration_ms=40_000)
    work.due(next(one for one in work.state.timers if one.startswith("retry:")))
    again = attempt(work, "ada")
    work.now_ms += 100
    work.fail(again, duration_ms=100)

    def told() -> list[str]:
        listing = tasks(
            work.state,
            make_digest(work.state),
            {},
            now_ms=work.now_ms,
            ended_tasks=ended_tasks_in(entries(work), names(work)),
        )
        at = {column.title: place for place, column in enumerate(listing.columns)}
        (row,) = [cells for cells in map(listing.make, listing.keys) if cells[0].text == "ada"]
        return [row[at[title]].text for title in ("SINCE", "TOOK")]

    while_open = told()
    done(work, "bob")
    work.settle()
    assert not work.state.tasks
    assert told() == while_open
    of_old = EndedTaskIndex()
    history = entries(work)
    for place in reversed(range(len(history))):  # as the events come
        of_old.update(history[place:], names(work))
    assert of_old.update(history, names(work)) == ended_tasks_in(history, names(work))


def test_of_many_tasks_below_one_a_pane_lists_those_at_work_first_and_says_how_many_more_there_are() -> None:
    members = [agent(f"a{number}", "parse") for number in range(30)]
    work = team_world(*members, mode="parallel", max_parallel=30, max_agents=30)
    work.order(Submit(request="go"))
    for name in ("a0", "a1", "a2"):
        done(work, name)
    group = work.state.tasks[work.state.runs["r1"].root_id]

    def lines(most: int | None) -> list[str]:
        made = child_lines(work.state, group, make_digest(work.state), width=60, now_ms=NOW_MS, max_lines=most)
        return ["".join(span.text for span in one.spans) for one in made]

    few = lines(6)
    assert len(few) == 6
    assert few[-1].strip() == f"and {len(group.children) - 5:,} more"
    assert [one.split()[1] for one in few[:-1]] == ["a3", "a4", "a5", "a6", "a7"]
    assert len(lines(None)) == len(lines(100)) == len(group.children)


def test_of_a_run_that_failed_before_it_began_nothing_was_done() -> None:
    world = team_world(agent("ada", "a"))
    first = submitted(world, "first")
    after = submitted(world, "after it", after=[first])
    world.fail(attempt(world, "ada"))
    listing = runs(world.state, make_digest(world.state), now_ms=NOW_MS)
    place = [column.title for column in listing.columns].index("PROGRESS")

    assert [run.tasks for run in world.state.finished if run.id == after] == [0]
    assert listing.make(after)[place].text == "0%"


def test_nothing_is_the_most_of_nothing_even_where_more_may_come() -> None:
    assert [format_share(share, grows=True) for share in (0.0, 0.5)] == ["0%", "–"]
