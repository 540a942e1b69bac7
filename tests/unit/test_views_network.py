"""What stands on the Network screen: how it is divided, meters, progress, the calm tail, the panes."""

from collections.abc import Callable
from typing import Any, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from dashboard.views.arrangement import (
    GRAPH_MAX_LINES,
    GRAPH_MIN_LINES,
    TAIL_MIN_LINES,
    TAIL_RESERVED_LINES,
    arrange,
    max_tree_lines,
)
from dashboard.views.drawing.facts import in_groups, to_row
from dashboard.views.drawing.lines import Line, cell_width
from dashboard.views.drawing.sections import wrap_end
from dashboard.views.drawing.sorting import Sorting
from dashboard.views.event_log import Entry
from dashboard.views.facts.agent import state_of_agent
from dashboard.views.facts.agent_pane import PaneData, agent_pane, oldest_in_queue, oldest_of_queues
from dashboard.views.facts.supervisor import now_of_supervisor
from dashboard.views.facts.supervisor_pane import (
    facts_of,
    member_lines,
    progress_line,
    supervisor_pane,
    supervisor_side,
)
from dashboard.views.measures.activity import Activity
from dashboard.views.measures.digest import make_digest
from dashboard.views.measures.meters import METER, SPAN_MS, Meters
from dashboard.views.measures.progress import Progress, progress_of, time_to_go
from dashboard.views.measures.queues import QueueHistory
from dashboard.views.network import Folding, Measures, network
from dashboard.views.routine_events import BOOKKEEPING
from dashboard.views.tail import draw_tail, newest_lines, to_tail_line
from dashboard.views.words.glyphs import EVENT
from dashboard.views.words.names import Names
from engine.core.commands import Rollback, Submit, SupervisorSpec, SwapAgent
from engine.core.events import EVENTS, AgentSwapped, AttemptDone, AttemptFailed, AttemptStarted, Event
from engine.core.specs.spec import Pool
from engine.core.state import State, Supervisor
from tests.pilot.scene import NOW_MS, audit
from tests.pilot.talking import talking
from tests.pilot.trouble import trouble
from tests.story import attempt
from tests.world import World, agent, team_world

WORLDS: dict[str, Callable[[], World]] = {"audit": audit, "trouble": trouble, "talking": lambda: talking()[0]}


def entries_of(events: list[Event]) -> list[Entry]:
    """Return events as entries, the newest first."""
    return [Entry(seq, event.at_ms, event.type, event) for seq, event in enumerate(events, 1)][::-1]


def names_of(world: World) -> Names:
    names = Names()
    names.learn(world.journal)
    return names


def seen(world: World) -> PaneData:
    state = world.state
    activity = Activity.of(state, world.journal)
    return PaneData(state, make_digest(state), {}, names_of(world), activity, NOW_MS, [0, 3, 5])


def texts(lines: list[Line]) -> list[str]:
    return ["".join(span.text for span in line.spans) for line in lines]


@given(st.integers(20, 300), st.integers(10, 100), st.integers(0, 1_100), st.booleans())
def test_the_parts_of_the_screen_share_its_body_and_overlap_nowhere(
    columns: int, rows: int, lines: int, graph: bool
) -> None:
    height = max(1, rows - 5)

    found = arrange(columns, rows, height, lines=lines, graph=graph)

    assert found.tree + found.graph + found.tail == height
    assert min(found) >= 0
    assert found.pane <= columns // 2
    if lines and lines + 1 < height:
        assert found.tree >= min(lines + 1, height - TAIL_RESERVED_LINES)


def test_what_is_free_under_the_tree_is_never_blank() -> None:
    assert arrange(80, 24, 19, lines=14).tail == 4
    assert arrange(80, 24, 19, lines=17).tail == 0
    assert arrange(120, 40, 35, lines=20).tail == 14
    assert arrange(120, 40, 35, lines=90).tail == TAIL_RESERVED_LINES
    assert arrange(200, 60, 54, lines=20, graph=True).graph > 10
    assert arrange(200, 60, 54, lines=40, graph=True).graph == 0
    assert max_tree_lines(40, 35) == 27


@given(
    columns=st.integers(20, 300),
    rows=st.integers(14, 100),
    lines=st.integers(1, 1100),
    wanted=st.integers(1, 100),
    graph=st.booleans(),
)
@example(columns=200, rows=60, lines=20, wanted=4, graph=True)
@example(columns=200, rows=60, lines=20, wanted=20, graph=True)
def test_a_tail_is_as_high_as_the_user_wants_it_and_the_graph_takes_what_is_free_above_it(
    columns: int, rows: int, lines: int, wanted: int, *, graph: bool
) -> None:
    height = rows - 5
    found = arrange(columns, rows, height, lines=lines, graph=graph, tail_lines=wanted)
    free = height - lines - 1 - found.tail

    assert found.tail == min(max(wanted, TAIL_MIN_LINES), height - 4)
    assert found.graph == (min(GRAPH_MAX_LINES, free) if graph and found.lanes and free >= GRAPH_MIN_LINES else 0)
    assert found.tree + found.graph + found.tail == height


def test_a_pane_stands_beside_the_tree_from_110_columns_unless_it_was_taken_away() -> None:
    assert [arrange(columns, 40, 35, lines=5).pane for columns in (109, 110, 150, 300)] == [0, 43, 45, 72]
    assert arrange(200, 40, 35, lines=5, pane=False).pane == 0


def doing(at_ms: int, task: str, agent_id: str = "a1", *, took_ms: int = 100) -> Event:
    return AttemptDone(
        at_ms=at_ms, run_id="r1", task_id=task, attempt=1, agent_id=agent_id, output="x", duration_ms=took_ms
    )


def test_a_meter_has_its_samples_on_the_clock_and_keeps_them_from_look_to_look() -> None:
    state = team_world(agent("ada", "a")).state
    (ada,) = state.agents
    activity, meters = Activity(), Meters()
    activity.count_events([doing(NOW_MS, "t1", ada, took_ms=30_000)])

    meters.update(activity, state, NOW_MS)
    before = meters.samples(ada)
    meters.update(activity, state, NOW_MS + 3_000)
    after = meters.samples(ada)

    assert len(before.busy) == 2 * METER
    assert list(after.busy)[:-2] == list(before.busy)[1:-1]
    assert sum(before.busy) * SPAN_MS / (2 * METER) == pytest.approx(30_000)
    assert cell_width(meters.spans_of(ada)) == METER
    meters.update(activity, state, NOW_MS, lane=30)
    assert cell_width(meters.spans_of(ada)) == 30


def test_a_swap_stands_in_the_meter_of_its_agent_where_it_happened() -> None:
    world = team_world(agent("ada", "a"))
    (ada,) = world.state.agents
    spec = world.state.spec_of(world.state.agents[ada])
    activity, meters = Activity(), Meters()
    activity.count_events([AgentSwapped(at_ms=NOW_MS - 1_000, agent_id=ada, generation=2, spec=spec, mode="drain")])

    meters.update(activity, world.state, NOW_MS)

    assert "".join(span.text for span in meters.spans_of(ada)).index("◆") >= METER - 2


def test_how_much_has_ended_is_not_said_while_a_lead_may_ask_for_more() -> None:
    state = trouble().state
    said = {state.supervisors[one].name: found.percent_text for one, found in progress_of(state).items()}

    assert said == {"chief": "–", "books": "0%", "audit": "0%"}


def test_progress_counts_everything_below_a_supervisor() -> None:
    state = audit().state
    (root,) = state.roots

    progress = progress_of(state)

    below = [progress.get(one, Progress()) for one in root.members if one in state.supervisors]
    assert progress[root.id].total >= sum(one.total for one in below) > 0
    assert progress[root.id].ended_count >= sum(one.ended_count for one in below)
    assert sum(run.total for run in state.runs.values()) == progress[root.id].total


def test_a_forecast_is_a_range_of_what_was_slowest_and_fastest_and_says_nothing_of_too_little() -> None:
    world = team_world(agent("ada", "a"), agent("bob", "b"))
    state = world.state
    (ada, _), (root,) = state.agents, state.roots
    activity = Activity()
    times = [*range(0, 60_000, 2_000), *range(40_500, 60_000, 2_000)]
    activity.count_events([doing(NOW_MS - 60_000 + at_ms, f"t{at_ms}", ada) for at_ms in sorted(times)])
    steady = Activity()
    steady.count_events([doing(NOW_MS - 1_000, f"t{one}", ada) for one in range(20)])

    assert time_to_go(state, root.id, Progress(50, 150), activity, NOW_MS) == "2–3 min to go"
    assert time_to_go(state, root.id, Progress(50, 60), activity, NOW_MS) == "11–20 s to go"
    assert time_to_go(state, root.id, Progress(50, 50), activity, NOW_MS) == ""
    assert time_to_go(state, root.id, Progress(50, 150), steady, NOW_MS) == ""

    world.order(Submit(request="go"))
    assert time_to_go(state, root.id, Progress(50, 60), activity, NOW_MS) == "11–20 s to go"
    world.ask(next(iter(world.started)), "b", ["1"], call="one")  # who hands out work may hand out more
    assert time_to_go(state, root.id, Progress(50, 60), activity, NOW_MS) == ""


def storm(failures: int = 0) -> list[Event]:
    """Return a second in which two agents begin and finish forty tasks."""
    events: list[Event] = []
    for number in range(40):
        at_ms, who = 1_000 + number, f"a{number % 2}"
        begun = AttemptStarted(at_ms=at_ms, task_id=f"t{number}", attempt=1, agent_id=who, generation=1)
        events += [begun, doing(at_ms, f"t{number}", who)]
    for number in range(failures):
        events.append(
            AttemptFailed(
                at_ms=1_900, task_id=f"f{number}", attempt=1, agent_id="a0", error="no", error_type="E", duration_ms=1
            )
        )
    return events


def test_much_that_is_routine_becomes_one_line_an_agent_a_second() -> None:
    told = newest_lines(entries_of(storm(failures=3)), Names(), 20, joins=True)

    assert [(one.actor, one.text, one.bold) for one in told] == [
        ("a0", "finished 20, last: t38", False),
        ("a1", "finished 20, last: t39", False),
        *[("a0", f"failed f{number}: no", True) for number in range(3)],
    ]


def test_little_that_happens_is_told_event_by_event() -> None:
    told = newest_lines(entries_of(storm()), Names(), 6, joins=False)

    assert [one.text for one in told] == [
        "took t37",
        "finished t37",
        "took t38",
        "finished t38",
        "took t39",
        "finished t39",
    ]


@pytest.mark.parametrize("width", [40, 77, 134])
def test_lines_of_the_tail_fit_and_lead_to_their_events(width: int) -> None:
    world = trouble("said 漢字 " * 20)

    lines = draw_tail(newest_lines(entries_of(world.journal), names_of(world), 30, joins=False), width, 30)

    assert all(cell_len(text) <= width for text in texts(lines))
    assert all(line.key.startswith("event:") for line in lines)


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("size", [(43, 10), (43, 35), (66, 55), (72, 90)])
def test_panes_fill_exactly_their_room_whoever_is_under_the_cursor(name: str, size: tuple[int, int]) -> None:
    world = WORLDS[name]()
    sight, (width, height) = seen(world), size
    entries = entries_of(world.journal)

    panes = [
        agent_pane(sight, one, [e for e in entries if getattr(e.event, "agent_id", None) == one.id], width, height)
        for one in world.state.agents.values()
    ]
    progress = progress_of(world.state)
    for one in world.state.supervisors.values():
        panes.append(supervisor_pane(sight, one, progress.get(one.id, Progress()), width, height))
        panes.append(supervisor_side(sight, one, (), width, height))

    for lines in panes:
        assert len(lines) == height
        assert all(cell_width(line.spans) <= width for line in lines)
        assert all(text[0] in "│├┤┼" for text in texts(lines))


def test_the_pane_of_an_agent_says_what_it_is_at_and_what_it_did() -> None:
    world = audit()
    scout = next(one for one in world.state.agents.values() if one.name == "scout")
    entries = [one for one in entries_of(world.journal) if getattr(one.event, "agent_id", None) == scout.id]

    shown = "\n".join(texts(agent_pane(seen(world), scout, entries, 60, 40)))

    for text in ("2 of 2 slots", "lib/glob.py", "OUTPUT", "TIME A TASK", "LAST TASKS"):
        assert text in shown


def test_the_pane_of_an_agent_that_leads_says_what_it_delegated() -> None:
    world = team_world(agent("lead"), agent("worker", "reading"))
    world.order(Submit(request="read all"))
    world.ask(attempt(world, "lead"), "reading", [{"title": "a.py"}, {"title": "b.py"}])
    lead = next(one for one in world.state.agents.values() if one.name == "lead")
    entries = [one for one in entries_of(world.journal) if getattr(one.event, "agent_id", None) == lead.id]

    shown = texts(agent_pane(seen(world), lead, entries, 60, 40))

    says = next(at for at, text in enumerate(shown) if "SAYS" in text)
    assert "◔ delegated a.py, and 1 other task" in "".join(shown[says:])


def test_a_row_shows_where_its_agent_is_and_a_heading_sorts_the_members() -> None:
    world = audit()
    state, counts = world.state, make_digest(world.state)
    meters = Meters()
    meters.update(Activity.of(state, world.journal), state, NOW_MS)

    def shown(order: str, width: int = 77, lane: int = 0) -> list[str]:
        measures = Measures(width, lane, meters, None, progress_of(state), Sorting(order))
        listing = network(state, counts, {}, now_ms=NOW_MS, folding=Folding(99), measures=measures)
        return [listing.cells(index)[0].text for index in range(len(listing.keys))]

    assert shown("declared")[3:6] == ["scout", "scout-thorough", "scout-careful"]
    assert shown("DONE").index("scout-careful") < shown("DONE").index("scout-thorough")
    listing = network(state, counts, {}, now_ms=NOW_MS, folding=Folding(99), root=state.roots[0].members[1])
    assert [listing.cells(index)[0].text for index in range(len(listing.keys))] == [
        "scout", "scout-thorough", "scout-careful"
    ]  # fmt: skip


def test_late_generations_and_large_pools_are_whole() -> None:
    world = team_world(agent("ada"), agent("bob", pool=Pool(min=10, max=16)))
    for _ in range(11):
        world.order(SwapAgent(agent="ada", spec=agent("ada", weight=2.0), mode="drain"))
        world.order(Rollback(agent="ada"))
    activity, meters = Activity.of(world.state, world.journal), Meters()
    meters.update(activity, world.state, world.now_ms)
    measures = Measures(80, 0, meters, activity, progress_of(world.state), Sorting("declared"))
    listing = network(
        world.state, make_digest(world.state), {}, now_ms=world.now_ms, folding=Folding(99), measures=measures
    )

    tags = [listing.cells(index)[1].text for index in range(len(listing.keys))]

    assert tags[1:] == ["◆g23", "10/16"]
    assert max(map(cell_len, tags)) <= listing.columns[1].width


def test_what_an_agent_does_this_second_is_cut_but_not_how_long_it_has_taken() -> None:
    world = audit()
    live = {f"progress:{key}": '{"done": 3, "total": 7, "note": "headers"}' for key in world.state.tasks}
    counts = make_digest(world.state, live=live)

    def now(columns: int) -> str:
        measures = Measures(columns, 0, None, None, progress_of(world.state), Sorting("declared"))
        rows = network(world.state, counts, live, now_ms=NOW_MS, folding=Folding(99), measures=measures)
        at = [column.title for column in rows.columns].index("NOW")
        shown = (rows.cells(index) for index in range(len(rows.keys)))
        return next(row[at].text for row in shown if row[0].text == "scout")

    assert now(120) == "3 of 7 headers +1  12m26s"
    assert now(60) == "3 of 7 heade…  12m26s"


def test_a_supervisor_all_of_whose_open_work_has_failed_is_not_called_done() -> None:
    teams = [SupervisorSpec(name=name, members=[agent(f"of-{name}")]) for name in ("reading", "writing", "waiting")]
    world = team_world(*teams, mode="parallel")
    world.order(Submit(request="Read and write", supervisor="chief"))
    world.fail(attempt(world, "of-reading"))
    world.succeed(attempt(world, "of-writing"))
    measures = Measures(120, 0, None, None, progress_of(world.state), Sorting("declared"))
    rows = network(world.state, make_digest(world.state), {}, now_ms=NOW_MS, folding=Folding(99), measures=measures)
    at = [column.title for column in rows.columns].index("STATE")
    states = {row[0].text: row[at].text for row in map(rows.cells, range(len(rows.keys)))}

    assert (states["reading"], states["writing"], states["waiting"]) == ("✕ failed", "✓ done", "● 1 of 1")


def test_an_agent_that_waits_for_what_it_delegated_has_one_sign_everywhere() -> None:
    world = audit()
    planner = next(one for one in world.state.agents.values() if one.name == "planner")

    assert planner.parked
    assert not planner.running
    assert state_of_agent(planner, make_digest(world.state)).text == "◔ delegated"
    assert state_of_agent(planner, make_digest(world.state, working=False)).text == "‖ suspended"


def test_a_run_that_failed_is_not_told_as_done() -> None:
    world = trouble()
    ended = next(one for one in entries_of(world.journal) if one.kind == "run_finished")
    told = to_tail_line(ended, names_of(world))

    assert "has failed" in told.text
    assert (told.glyph, told.glyph_tone, told.tone) == ("✕", "error", "error")


def test_the_meter_of_progress_gives_way_to_its_numbers() -> None:
    world, progress = team_world(agent("ada")), Progress(ended_count=1_346, total=1_379, failed=15)
    chief = world.state.roots[0]

    for width in (30, 42, 64):
        (text,) = texts([progress_line(seen(world), chief, progress, width)])
        assert "1,346/1,379  15 failed" in text
        assert cell_len(text) <= width


def test_queue_lengths_are_sampled_once_a_second_and_forgotten_in_the_past() -> None:
    history = QueueHistory()
    for at_ms, length in ((0, 1), (400, 9), (1_000, 2), (4_000, 3)):
        history.record({"a1": length, "a2": 0}, at_ms)

    assert history.lengths_of("a1") == [1, 2, 2, 2, 3]
    assert history.lengths_of("a2") == [0] * 5
    history.record({"a1": 7}, 1_500)
    assert history.lengths_of("a1") == [1, 2]


def test_the_task_that_waits_longest_is_found_for_an_agent_and_for_a_team() -> None:
    world = audit()
    state: State = world.state
    team = next(one for one in state.supervisors.values() if one.name == "survey")

    found = oldest_of_queues(state)
    oldest = state.tasks[oldest_in_queue(state, team.id, found)]

    waiting = [task for task in state.tasks.values() if task.ready and task.supervisor_id == team.id]
    assert oldest.ready_ms == min(task.ready_ms for task in waiting)
    assert oldest_in_queue(state, "a999", found) == ""
    cast("Any", oldest).ready = False  # it has begun since they were looked for
    assert oldest_in_queue(state, team.id, found) != oldest.id


@given(st.text(max_size=400), st.integers(1, 40), st.integers(0, 8))
def test_wrapped_text_has_at_most_so_many_lines_and_cells(text: str, width: int, most: int) -> None:
    lines = wrap_end(text, width, most)

    assert len(lines) <= most
    assert all(cell_len(line) <= max(2, width) for line in lines)


def test_kinds_that_the_tail_knows_are_kinds_of_events() -> None:
    assert {kind.type for kind in EVENTS} >= {*EVENT, *BOOKKEEPING}


def test_what_was_told_of_events_long_ago_is_forgotten() -> None:
    known = {seq: to_tail_line(entry, Names()) for seq, entry in enumerate(entries_of(storm()) * 400, 10_000)}
    assert len(known) > 4_000

    told = newest_lines(entries_of(storm()), Names(), 6, joins=False, cache=known)

    assert list(known) == [one.seq for one in reversed(told)]


def test_figures_of_a_supervisor_count_what_waits_below_it_and_none_is_cut() -> None:
    inner = SupervisorSpec(name="inner", mode="parallel", max_parallel=1, members=[agent("ada"), agent("bob")])
    world = team_world(inner)
    world.order(Submit(request="go"))
    sight, chief = seen(world), world.state.roots[0]

    figures = in_groups(facts_of(sight, chief), "figures")
    whole = texts([to_row(figures, 120)])[0]
    short = texts([to_row(figures, 50)])[0]

    assert "waiting 1   teams below 1" in whole
    assert whole.startswith(short)
    assert whole.removeprefix(short).startswith("   ")


def test_bars_of_members_are_measured_against_the_one_who_did_most() -> None:
    world = team_world(*(agent(f"ada-{one}") for one in range(10)), mode="parallel")
    world.order(Submit(request="go"))
    for key in [*world.started][:2]:
        world.succeed(key)
    sight, chief = seen(world), world.state.roots[0]

    pane = texts(supervisor_pane(sight, chief, Progress(), 60, 40))

    assert sum(line.count("━" * 20) for line in pane if " ada-" in line) == 2


@pytest.mark.parametrize("width", [26, 36, 43, 60])
def test_figures_of_members_are_whole_beside_long_names(width: int) -> None:
    teams = [SupervisorSpec(name=f"readers-of-long-manuscripts-{one}", members=[]) for one in (7, 14)]
    world = team_world(*teams)
    sight, chief = seen(world), world.state.roots[0]
    first = chief.members[0]
    world.state.supervisors[first].done = 1_234_567  # type: ignore[misc]
    sight.counts.waiting_of[first] = 12_345

    member = member_lines(sight, chief, width, 9)

    assert cell_width(member[0].spans) <= width
    assert all(text in texts(member)[0] for text in ("7 ", " 1,234,567", "+12,345"))
    assert texts(member)[1].split()[1].endswith("14")


@pytest.mark.parametrize("size", [(43, 35), (66, 55)])
def test_panes_of_who_only_looks_name_no_key_that_changes_the_team(size: tuple[int, int]) -> None:
    world = team_world(agent("ada"))
    sight, chief = seen(world), world.state.roots[0]
    empty = team_world(agent("bob"), SupervisorSpec(name="crew", members=[]))

    def shown(sight: PaneData, one: Supervisor) -> str:
        lines = [*supervisor_pane(sight, one, Progress(), *size), *supervisor_side(sight, one, (), *size)]
        return "\n".join(texts(lines))

    keys = ("o changes them", "n gives it a request", "S does it")
    assert [key for key in keys if key not in shown(sight, chief)] == []
    assert [key for key in keys if key in shown(sight._replace(can_write=False), chief)] == []
    assert ":add" not in shown(seen(empty)._replace(can_write=False), empty.state.supervisors["s2"])


def test_of_several_runs_it_is_said_which_one_has_come_how_far() -> None:
    world = team_world(agent("ada"), agent("bob"))
    for _ in range(3):
        world.order(Submit(request="go"))
    (chief,) = world.state.roots

    assert now_of_supervisor(world.state, chief, make_digest(world.state)).text == "r1: ● ada  ◌ bob, and 2 other runs"


def test_the_share_of_work_that_may_grow_is_not_said() -> None:
    assert [Progress(ended, 5_840, 0, 1).percent_text for ended in (5_819, 5_840)] == ["–", "–"]


def test_the_pane_of_a_supervisor_has_what_its_agents_write_now_where_there_is_room() -> None:
    work, live = talking()
    data, chief = seen(work)._replace(live=live), work.state.roots[0]
    high = "\n".join(texts(supervisor_pane(data, chief, Progress(), 60, 50)))
    low = "\n".join(texts(supervisor_pane(data, chief, Progress(), 60, 14)))

    assert "─ NOW ─" in high
    assert "dates before I cite either." in high
    assert '⚙ search {"query": "the moon", "since": 1969}' in high
    assert "─ NOW ─" not in low
