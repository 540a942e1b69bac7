"""Graphs of the team and of runs, as lines."""

from functools import cache

import pytest
from rich.cells import cell_len

from dashboard.views.drawing.graph_slot import GraphSlot
from dashboard.views.drawing.lines import Line
from dashboard.views.facts.agent_pane import PaneData, agent_pane
from dashboard.views.facts.run_work import at_work_lines, take_census
from dashboard.views.graph import draw_graph, graph_lines, graph_of
from dashboard.views.graph.details import node_details
from dashboard.views.graph.model import Edge, Graph, Node, connected_nodes
from dashboard.views.graph.nodes import Sight
from dashboard.views.graph.overflow import bound_layers
from dashboard.views.graph.subject import TEAM
from dashboard.views.graph.team import hand_overs
from dashboard.views.graph.walking import walk
from dashboard.views.measures.activity import Activity
from dashboard.views.measures.digest import make_digest
from dashboard.views.situation import Situation
from dashboard.views.view_state import ViewState
from dashboard.views.words.names import Names
from engine.core.commands import Submit, SupervisorSpec
from engine.core.signals import PlannedItem
from engine.core.specs.options import SupervisorOptions
from tests.pilot.scene import NOW_MS, audit
from tests.pilot.talking import talking
from tests.pilot.trouble import trouble
from tests.story import attempt, done, submitted
from tests.world import World, agent, team_world

HOSTILE = "\x1b[31mred\x1b]0;owned\x07 \u202e[bold] 日本"


def sight_of(work: World, *, idle: bool = False, now_ms: int = NOW_MS) -> Sight:
    return Sight(
        state=work.state, counts=make_digest(work.state), now_ms=now_ms, idle=idle,
        activity=Activity.of(work.state, work.journal),
    )  # fmt: skip


def text_of(work: World, subject: str, *, width: int = 120, height: int = 30, idle: bool = False) -> str:
    lines = graph_lines(sight_of(work, idle=idle), subject=subject, width=width, height=height)
    return "\n".join("".join(span.text for span in line.spans) for line in lines)


def graph(work: World, subject: str = "", *, idle: bool = False) -> Graph:
    return graph_of(sight_of(work, idle=idle), subject, hand_overs(work.state))


def names(found: Graph) -> set[tuple[str, str]]:
    by_id = {node.id: node.name for node in found.nodes}
    return {(by_id[edge.source], by_id[edge.target]) for edge in found.edges}


def test_a_run_shows_who_works_for_whom_and_what_comes_next() -> None:
    found = graph(audit(), "r1")

    workers = {"scout", "scout-thorough", "scout-careful"}
    assert names(found) == {
        *(("planner", one) for one in workers), *((one, "metrics") for one in workers), ("metrics", "writer"),
    }  # fmt: skip
    planner = next(node for node in found.nodes if node.name == "planner")
    assert (planner.figure, planner.glyph) == ("15/30", "◔")


def test_boxes_have_room_for_how_long_their_work_takes() -> None:
    assert text_of(trouble(), "r3", width=80, height=19).count("4 min 57 s") == 2


def test_boxes_with_their_meter_in_the_border_say_how_much_beside_it() -> None:
    drawn = text_of(audit(), "r1", width=80, height=14)

    assert "└─━╸─ 15/30 ─┘" in drawn
    assert drawn.count("+10 ─┘") == 2


def test_a_stage_counts_the_same_tasks_as_the_page_of_the_run() -> None:
    work = team_world(SupervisorSpec(name="crew", members=[agent("lead"), agent("hand", "hand")]), mode="parallel")
    submitted(work)
    key = attempt(work, "lead")
    work.ask(key, "hand", ["one", "two"])
    done(work, "hand")
    stage = take_census(work.state, work.state.runs["r1"]).stages[0]
    shown = next(node for node in graph(work, "r1").nodes if node.id == stage.task.id)

    assert stage.total > 2
    assert shown.figure == f"{stage.ended_count}/{stage.total}"


def test_a_plan_that_an_agent_wrote_is_drawn_task_by_task_below_it() -> None:
    work = team_world(agent("ada"), agent("bob"), agent("cyd"), agent("dan"), max_parallel=1)
    submitted(work)
    facts = PlannedItem(title="facts", target="bob", input="find")
    work.plan(attempt(work, "ada"), facts, PlannedItem(title="text", target="cyd", input="write", after=[0]))

    found = graph(work, "r1")

    assert {("ada", "facts"), ("facts", "text")} <= names(found)
    assert ("ada", "bob") not in names(found)


def test_a_run_that_has_ended_says_where_its_tasks_are_read_from() -> None:
    work = team_world(agent("ada"))
    submitted(work)
    done(work, "ada", "out")
    for key in list(work.joins):
        work.join(key)

    assert work.state.runs == {}
    assert "journal" in graph(work, "r1").empty[0]


def test_the_network_leads_over_those_that_hand_work_out() -> None:
    found = graph(audit(), TEAM)

    assert ("planner", "scout") in names(found)
    assert ("survey", "scout") not in names(found)
    assert ("metrics", "parser") in names(found)


def test_members_at_rest_are_one_node_until_they_are_asked_for() -> None:
    work = audit(idle=30)

    folded, shown = graph(work, TEAM), graph(work, TEAM, idle=True)

    assert [node.name for node in folded.nodes if "idle" in node.name] == ["+25 idle"]  # the others had work lately
    assert "scout-29" in folded.folded
    assert len(shown.nodes) == len(folded.nodes) + 24


@pytest.mark.parametrize(
    ("age_ms", "heat"), [(0, 5), (599, 5), (601, 4), (1_190, 4), (1_300, 3), (2_000, 2), (2_900, 1), (9_000, 1)]
)
def test_an_edge_cools_in_five_steps_over_three_seconds(age_ms: int, heat: int) -> None:
    assert Edge("a", "b", 10_000).heat(10_000 + age_ms) == heat


def test_an_edge_with_many_flows_never_is_the_brightest_and_a_calm_one_has_two_steps() -> None:
    assert Edge("a", "b", 1_000, per_s=4).heat(1_000) == 4
    assert [Edge("a", "b", 1_000).heat(1_000 + age, calm=True) for age in (0, 2_900, 3_100)] == [3, 3, 1]


@cache
def hostile_sights() -> list[Sight]:
    """Return what views look at, and leave as it is."""
    return [sight_of(work) for work in (audit(f"a title {HOSTILE}"), trouble(HOSTILE), talking()[0], World())]


@pytest.mark.parametrize(("width", "height"), [(20, 4), (60, 10), (80, 20), (120, 30), (200, 50), (300, 70)])
@pytest.mark.parametrize("subject", ["", TEAM, "r1", "nothing"])
def test_a_graph_takes_exactly_the_room_that_there_is(subject: str, width: int, height: int) -> None:
    for sight in hostile_sights():
        lines = graph_lines(sight, subject=subject, width=width, height=height)

        assert len(lines) == height
        assert all(sum(cell_len(span.text) for span in line.spans) <= width for line in lines)
        assert "\x1b" not in "".join(span.text for line in lines for span in line.spans)


def test_boxes_grow_with_the_room() -> None:
    low, middle, tall = (
        text_of(audit(), "r1", width=wide, height=high) for wide, high in ((120, 6), (120, 20), (200, 40))
    )

    assert "┌─────────" not in low
    assert "┌─────────" in middle
    assert "lib/" not in middle
    assert "lib/" in tall


def test_where_it_is_narrow_stages_to_come_are_one_line() -> None:
    first = text_of(audit(), "r1", width=80, height=20).splitlines()[1]

    assert first.split() == ["╌╌►", "◌", "metrics", "╌╌►", "◌", "writer"]


def test_what_does_not_fit_is_shown_around_the_cursor() -> None:
    found = graph(team_world(*(agent(f"agent-{number}", "work") for number in range(80))), TEAM, idle=True)
    last = found.nodes[-1].id

    shown = draw_graph(found, width=80, height=20, now_ms=NOW_MS, selected=last)

    assert not shown.fits
    assert shown.node_at(shown.boxes[last].x, shown.boxes[last].y) == last
    assert 0 <= shown.boxes[last].y < 20


def test_teams_too_large_for_the_screen_stand_for_their_members() -> None:
    teams = [
        SupervisorSpec(name=f"team-{one}", members=[agent(f"agent-{one}-{two}", f"work-{one}") for two in range(9)])
        for one in range(9)
    ]
    work = team_world(*teams, mode="parallel")
    work.order(Submit(request="go", supervisor="chief"))
    opened = next(one for one in work.state.supervisors.values() if one.name == "team-3").id

    found = graph_of(sight_of(work, idle=True), TEAM, {}, opened=opened, folded=True)

    assert len(found.nodes) == 1 + 9 + 9


def crowd(teams: int, each: int) -> World:
    crews = [
        SupervisorSpec(
            name=f"team-{team}", mode="parallel", max_parallel=each, max_agents=each,
            members=[agent(f"a{team}-{number}", f"scan-{team}") for number in range(each)],
        )
        for team in range(teams)
    ]  # fmt: skip
    work = team_world(agent("planner", "plan"), *crews, participants=["planner"], max_agents=500)
    work.order(Submit(request="look at every file"))
    planner = next(iter(work.started))
    for team in range(teams):
        work.ask(planner, f"scan-{team}", [f"file {number}" for number in range(each + 3)], call=f"k{team}")
    return work


def test_in_a_run_of_very_many_agents_their_teams_stand_for_them() -> None:
    work = crowd(teams=4, each=30)
    work.succeed(next(key for key in work.started if work.state.tasks[key[0]].title == "file 0"))

    found = graph(work, "r1")

    assert names(found) == {("planner", f"team-{team}") for team in range(4)}
    assert [node.figure for node in found.nodes[1:]] == ["1/33", "0/33", "0/33", "0/33"]


def test_in_a_run_of_fewer_agents_each_stands_for_itself() -> None:
    found = graph(crowd(teams=2, each=30), "r1")

    assert len(found.nodes) == 61


def test_of_a_crowd_that_fits_nowhere_no_box_is_made_but_those_under_the_cursor() -> None:
    work = crowd(teams=4, each=30)
    crew = next(one.id for one in work.state.supervisors.values() if one.name == "team-1")

    found = graph_of(sight_of(work), TEAM, hand_overs(work.state), opened=crew, lines=20)

    assert sum(node.name.startswith("a1-") for node in found.nodes) == 30
    assert not any(node.name.startswith("a0-") for node in found.nodes)


def test_in_a_run_that_does_not_fit_teams_stand_for_their_work_but_for_the_one_under_the_cursor() -> None:
    crews = [
        SupervisorSpec(
            name=f"team-{team}", mode="parallel", members=[agent(f"a{team}-{one}", "go") for one in range(9)]
        )
        for team in range(5)
    ]
    work = team_world(*crews, mode="parallel")
    work.order(Submit(request="go"))
    second = next(one.id for one in work.state.tasks.values() if one.title == "team-1")

    found = graph_of(sight_of(work), "r1", {}, opened=second, folded=True)
    inner = next(node.id for node in found.nodes if node.name == "a1-3")
    again = graph_of(sight_of(work), "r1", {}, opened=inner, folded=True)

    assert sum(node.name.startswith("team-") for node in found.nodes) == 5
    assert {node.name[:3] for node in found.nodes if node.name.startswith("a")} == {"a1-"}
    assert [node.id for node in again.nodes] == [node.id for node in found.nodes]


def test_those_at_rest_stand_where_their_first_one_stood() -> None:
    crews = [
        SupervisorSpec(
            name=f"team-{team}", participants=[f"lead-{team}"],
            members=[agent(f"lead-{team}"), *(agent(f"a{team}-{one}", f"scan-{team}") for one in range(3))],
        )
        for team in range(2)
    ]  # fmt: skip
    work = team_world(*crews, mode="parallel")
    work.order(Submit(request="go"))
    for team in range(2):
        work.ask(attempt(work, f"lead-{team}"), f"scan-{team}", ["x", "y", "z", "still open"])
    for key in [key for key in work.started if work.state.tasks[key[0]].title in ("x", "y", "z")]:
        work.succeed(key)
    work.succeed(next(key for key in work.started if work.state.tasks[key[0]].title == "still open"))

    found = graph_of(sight_of(work, now_ms=NOW_MS + 600_000), "r1", {})

    assert [node.name for node in found.nodes if "idle" in node.name or node.name.startswith("team")] == [
        "team-0", "+3 idle", "team-1", "+2 idle",
    ]  # fmt: skip


def test_the_graph_of_an_ended_run_is_drawn_once_however_long_it_is_looked_at() -> None:
    work, slot = audit(), GraphSlot()
    then = sight_of(work, idle=True)

    def drawn(now_ms: int, then: Sight | None) -> list[Line]:
        situation = Situation(
            db="", engine=None, standbys=(), now_ms=now_ms, events_per_s=0.0, behind=0, opening=False, trouble=None,
            readonly=False, is_loaded=True, wall_ms=now_ms,
        )  # fmt: skip
        view = ViewState(
            work.state, then.counts if then else make_digest(work.state), {}, situation, Names(), Activity()
        )
        return slot.lines(view, "r1", 120, 20, final_sight=then)

    first = drawn(NOW_MS, then)
    assert drawn(NOW_MS + 60_000, then) is first
    assert drawn(NOW_MS + 120_000, None) is not drawn(NOW_MS + 180_000, None)


def test_the_cursor_walks_along_edges_and_within_a_layer() -> None:
    found = graph(audit(), "r1")
    places = draw_graph(found, width=120, height=30, now_ms=NOW_MS).boxes
    name = {node.id: node.name for node in found.nodes}
    start = next(node.id for node in found.nodes if node.name == "planner")

    path = [start]
    for way in ("right", "down", "right", "right", "right", "left", "left", "up"):
        path.append(walk(found, places, path[-1], way) or "")

    assert [name[one] for one in path] == [
        "planner", "scout-thorough", "scout-careful", "metrics", "writer", "writer", "metrics", "scout-thorough",
        "scout",
    ]  # fmt: skip


def test_a_chain_is_what_leads_to_a_node_and_what_it_leads_to() -> None:
    found = graph(audit(), "r1")
    scout = next(node.id for node in found.nodes if node.name == "scout")

    assert {node.name for node in found.subgraph(connected_nodes(found, [scout])).nodes} == {
        "planner",
        "scout",
        "metrics",
        "writer",
    }


def test_agents_that_hand_work_to_each_other_are_drawn_all_the_same() -> None:
    found = Graph("x", nodes=graph(audit(), "r1").nodes[:2])
    a, b = (node.id for node in found.nodes)

    shown = draw_graph(
        Graph("x", nodes=found.nodes, edges=(Edge(a, b, 1), Edge(b, a, 2))), width=80, height=10, now_ms=NOW_MS
    )

    assert len(shown.boxes) == 2


def test_lines_below_tell_about_the_node_under_the_cursor() -> None:
    work = audit()
    found = graph(work, "r1")
    scout = next(node for node in found.nodes if node.name == "scout")

    told = "\n".join(
        "".join(span.text for span in line.spans) for line in node_details(sight_of(work), found, scout, width=120)
    )

    assert "● 2 tasks" in told
    assert "work came from planner" in told
    assert "from planner" in told


def test_names_of_the_last_layer_of_a_small_graph_have_a_sign_where_the_pane_cuts_them() -> None:
    lines = graph_lines(sight_of(audit()), subject=TEAM, width=35, height=9)
    shown = ["".join(span.text for span in line.spans) for line in lines[1:]]

    assert [one[-4:] for one in shown if "planner" in one or "survey" in one] == [" sc…"] * 2


def test_a_name_that_the_edge_of_a_small_graph_cuts_has_a_sign() -> None:
    inner = SupervisorSpec(name="inner-team", members=[agent(f"reader{place}", "parse") for place in range(3)])
    work = team_world(SupervisorSpec(name="inspection", members=[inner]), agent("writer", "write"))
    lines = graph_lines(sight_of(work), subject=TEAM, width=41, height=8)
    shown = ["".join(span.text for span in line.spans) for line in lines[1:]]

    assert [one.rstrip()[-7:] for one in shown if "inspection" in one] == ["○ inne…"]


def test_names_stand_whole_in_the_pane_of_43_columns() -> None:
    members = [SupervisorSpec(name="inspection", members=[agent(f"reader{place}", "parse") for place in range(10)])]
    work = team_world(*members, agent("writer", "write"))
    lines = graph_lines(sight_of(work), subject=TEAM, width=41, height=10)
    text = "\n".join("".join(span.text for span in line.spans) for line in lines)

    assert [name for name in ("TEAM chief", "chief", "inspection", "writer", "+10") if name not in text] == []
    assert "…" not in text


def test_a_small_graph_has_whole_names_of_teams_rather_than_parts_of_all_names() -> None:
    crews = [
        SupervisorSpec(name=name, members=[agent(f"reader-of-the-{name}-{one}", name) for one in range(2)])
        for name in ("survey", "inspection")
    ]
    work = team_world(agent("planner", "plan"), *crews, participants=["planner"])
    work.order(Submit(request="look"))
    work.ask(next(iter(work.started)), "inspection", ["file 1", "file 2"])
    text = text_of(work, work.state.roots[0].id, width=41, height=10, idle=True)

    assert [name for name in ("chief", "planner", "survey", "inspection") if name not in text] == []
    assert "…" not in text


def test_where_no_node_is_under_the_cursor_a_graph_that_does_not_fit_begins_around_its_first_node() -> None:
    work = team_world(*(agent(f"agent-{number}", "work") for number in range(80)))

    shown = text_of(work, work.state.roots[0].id, width=80, height=12, idle=True)

    assert "● chief" in shown or "○ chief" in shown


def test_a_box_of_two_lines_says_a_figure_once() -> None:
    crews = [SupervisorSpec(name=one, members=[agent(f"{one}er", one)]) for one in ("print", "bind")]
    work = team_world(*crews, mode="parallel")
    work.order(Submit(request="go"))

    assert text_of(work, work.state.roots[0].id, width=80, height=6, idle=True).count("2 of 2") == 1


def test_a_large_box_says_once_how_long_its_work_takes() -> None:
    work = team_world(agent("ada"), agent("bob"), mode="parallel")
    work.now_ms = NOW_MS - 30_000
    work.order(Submit(request="go"))

    assert text_of(work, "r1", width=140, height=40).count(" 30 s ") == 2


def test_a_box_has_room_for_how_its_results_are_joined() -> None:
    crews = [SupervisorSpec(name=f"team-{one}", members=[agent(f"reader-{one}", f"r{one}")]) for one in range(2)]
    work = team_world(*crews, mode="parallel")
    work.order(Submit(request="go"))

    drawn = text_of(work, "r1", width=110, height=8)

    assert "└ concat ┘" in drawn


def test_in_a_small_graph_those_at_rest_are_called_idle_where_that_cuts_no_name() -> None:
    crews = [SupervisorSpec(name=one, members=[agent(f"{one}{two}", one) for two in range(4)]) for one in ("a", "b")]
    work = team_world(*crews)

    assert text_of(work, work.state.roots[0].id, width=41, height=9).count("+4 idle") == 2


def test_a_pane_says_how_many_teams_have_no_room_in_its_graph() -> None:
    crews = [SupervisorSpec(name=f"team-{one}", members=[agent(f"worker-{one}", f"w{one}")]) for one in range(40)]
    work = team_world(*crews, mode="parallel", max_agents=100)
    work.order(Submit(request="go"))
    late = next(one for one in work.state.supervisors.values() if one.name == "team-30")
    sight = sight_of(work)
    lines = graph_lines(sight, subject=work.state.roots[0].id, width=41, height=9)
    shown = ["".join(span.text for span in line.spans) for line in lines[1:]]
    chosen = graph_lines(sight, subject=TEAM, width=120, height=9, selected=late.id)

    ends = [line.rpartition("► ")[2].split(maxsplit=1)[1].rstrip() for line in shown]
    assert ends == [*(f"team-{one}" for one in range(7)), "+33 more"]  # nor who works for those
    assert any("team-30" in span.text for line in chosen for span in line.spans)


def test_edges_of_those_without_room_end_at_the_node_that_stands_for_them() -> None:
    nodes = ["lead", *(f"n{one}" for one in range(9)), "end"]
    edges = [Edge(*ends, 5) for n in range(9) for ends in (("lead", f"n{n}"), (f"n{n}", "end"))]
    found = bound_layers(
        Graph(title="", nodes=tuple(Node(one, one, "○", "idle") for one in nodes), edges=tuple(edges)), 4
    )

    assert [node.name for node in found.nodes] == ["lead", "n0", "n1", "n2", "end", "+6 more"]
    assert {(edge.source, edge.target) for edge in found.edges} == {
        (source, target) for n in ("n0", "n1", "n2", "more:1") for source, target in (("lead", n), (n, "end"))
    }


def test_after_a_run_the_network_says_along_which_edges_work_has_gone() -> None:
    crew = SupervisorSpec(name="crew", mode="delegate", members=[agent("cyd")], options=SupervisorOptions(lead="cyd"))
    work = team_world(agent("ada"), agent("bob"), crew, participants=["ada"])
    submitted(work)
    done(work, "ada", "out")
    for key in list(work.joins):
        work.join(key)

    found = graph(work, TEAM, idle=True)

    assert work.state.runs == {}
    gone = {found.node(edge.target).name for edge in found.edges if not edge.is_planned}  # type: ignore[union-attr]
    assert gone == {"ada"}
    assert all(edge.heat(NOW_MS) == 1 for edge in found.edges)


def test_attempts_come_no_further_as_time_passes_while_no_engine_is_at_work() -> None:
    work = audit()
    scout = next(one for one in work.state.agents.values() if one.name == "scout")

    def meters(*, working: bool) -> list[int]:
        counts, activity = make_digest(work.state, working=working), Activity.of(work.state, work.journal)
        sight = Sight(state=work.state, counts=counts, now_ms=NOW_MS, activity=activity)
        seen = PaneData(work.state, counts, {}, Names(), activity, NOW_MS)
        run = work.state.runs["r1"]
        at_work = at_work_lines(
            work.state,
            take_census(work.state, run),
            make_digest(work.state, working=working),
            {},
            width=80,
            now_ms=NOW_MS,
        )
        node = next(node for node in graph(work, run.id).nodes if node.name == "scout")
        shown = (
            node_details(sight, graph(work, run.id), node, width=80),
            agent_pane(seen, scout, [], 60, 20)[:8],
            [line for line in at_work if "lib/" in "".join(span.text for span in line.spans)],
        )
        return ["".join(span.text for line in lines for span in line.spans).count("━") for lines in shown]

    assert all(meters(working=True))
    assert not any(meters(working=False))
