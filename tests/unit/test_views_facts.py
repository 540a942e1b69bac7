"""Facts laid out as cells, rows and lines."""

import pytest
from rich.cells import cell_len

from dashboard.views.drawing.facts import Fact, in_groups, to_cells, to_lines, to_row
from dashboard.views.drawing.lines import Line, Span, cell_width
from dashboard.views.facts.agent import agent_facts
from dashboard.views.facts.agent_page import facts_lines
from dashboard.views.facts.agent_pane import PaneData, agent_pane
from dashboard.views.facts.pages import agent_page, run_page, supervisor_page, task_page
from dashboard.views.facts.run import run_facts
from dashboard.views.facts.run_page import run_lines
from dashboard.views.facts.supervisor import supervisor_facts
from dashboard.views.facts.supervisor_pane import supervisor_pane, supervisor_side, words_section
from dashboard.views.facts.task import task_facts
from dashboard.views.facts.task_page import task_lines
from dashboard.views.graph.details import node_details
from dashboard.views.graph.nodes import Sight
from dashboard.views.graph.subject import graph_of
from dashboard.views.measures.activity import Activity
from dashboard.views.measures.digest import make_digest
from dashboard.views.measures.progress import Progress
from dashboard.views.words.names import JournalTexts, Names
from engine.core.state import Agent, Probation, Run, RunSummary, Task
from tests.pilot.scene import NOW_MS
from tests.pilot.talking import talking
from tests.pilot.trouble import trouble
from tests.world import World

FACTS = [
    Fact("type", "function", group="about", rank=2),
    Fact("generation", "g2", "accent", "about"),
    Fact("under", "desk", group="about", rank=1),
    Fact("budget", "5 of 10 tokens", "warn", "limits", drawn=(Span("━━", "warn"),), more="then it stops"),
]


def text_of(line: Line) -> str:
    return "".join(span.text for span in line.spans)


def test_a_place_chooses_groups_and_their_order() -> None:
    assert [fact.label for fact in in_groups(FACTS, "limits", "about")] == ["budget", "type", "generation", "under"]
    assert in_groups(FACTS, "alerts") == []


def test_cells_have_every_label_and_what_only_a_description_adds() -> None:
    cells = to_cells(FACTS)

    assert [cell.lead for cell in cells] == ["type        ", "generation  ", "under       ", "budget      "]
    assert cells[-1].text == "━━  5 of 10 tokens; then it stops"
    assert cells[-1].tone == "warn"


def test_a_row_without_room_loses_the_highest_rank_first() -> None:
    bare = {"generation", "type"}

    assert text_of(to_row(FACTS[:3], 40, bare=bare)) == "function   g2   under desk"
    assert text_of(to_row(FACTS[:3], 20, bare=bare)) == "g2   under desk"
    assert text_of(to_row(FACTS[:3], 10, bare=bare)) == "g2"
    assert text_of(to_row(FACTS[:3], 1, bare=bare)) == "…"


def test_the_free_cells_of_a_row_are_shared_evenly() -> None:
    row = text_of(to_row(FACTS[1:3], 40, max_gap=7))

    assert row == "generation g2   │   under desk"


def test_lines_take_as_many_as_the_facts_need() -> None:
    lines = [text_of(line) for line in to_lines(FACTS, 30, bare={"type"})]

    assert lines == ["function   generation g2", "under desk", "budget ━━ 5 of 10 tokens"]


@pytest.mark.parametrize("width", [1, 5, 12, 30, 100])
def test_no_row_or_line_is_wider_than_its_place(width: int) -> None:
    wide = [*FACTS, Fact("error", "日本語の" * 20, "error")]

    assert cell_width(to_row(wide, width, max_gap=12).spans) <= width
    assert all(cell_len(text_of(line)) <= width for line in to_lines(wide, width))


def test_no_facts_are_no_lines_and_an_empty_row() -> None:
    assert to_lines([], 40) == []
    assert text_of(to_row([], 40)) == ""


def rich(name: str) -> tuple[World, Agent]:
    """Return a team, and an agent of it of which much is known."""
    work = trouble()
    member = next(one for one in work.state.agents.values() if one.name == name)
    member.generation, member.previous = 3, member.spec  # type: ignore[misc]
    member.restarts, member.away, member.max_concurrency = 2, True, 4  # type: ignore[misc]
    member.probation = Probation(failures=3, tasks=10, mode="drain", ended=5, failed=1)  # type: ignore[misc]
    member.stuck, member.last_error = 1, "KeyError: 'total'"  # type: ignore[misc]
    return work, member


@pytest.mark.parametrize("name", ["clerk", "checker", "scanner", "reader"])
def test_every_place_shows_what_is_known_of_an_agent_in_the_same_words(name: str) -> None:
    work, member = rich(name)
    state, counts = work.state, make_digest(work.state)
    activity = Activity.of(state, work.journal)
    facts = agent_facts(state, member, counts, {}, now_ms=NOW_MS, activity=activity)
    sight = Sight(state=state, counts=counts, now_ms=NOW_MS, activity=activity)
    drawn = graph_of(sight, "team")
    node = next(node for node in drawn.nodes if node.about == member.id)
    lines = {
        "page": facts_lines(facts, member, None, 1_000, now_ms=NOW_MS),
        "pane": agent_pane(PaneData(state, counts, {}, Names(), activity, NOW_MS), member, [], 400, 60),
        "graph": node_details(sight, drawn, node, width=1_000),
    }
    groups = {
        "page": ("head", "program", "place", "spec", "tokens", "cost", "busy", "figures", "alerts", "limits"),
        "pane": ("head", "type", "program", "place", "spec", "tokens", "cost", "limits"),
        "graph": ("head", "figures", "alerts"),
    }
    told = {place: "\n".join(map(text_of, place_lines)) for place, place_lines in lines.items()}
    described = agent_page(state, member.id, counts, {}, (), now_ms=NOW_MS, activity=activity)

    missing = [
        (place, fact.label)
        for place, shown in groups.items()
        for fact in in_groups(facts, *shown)
        if fact.text not in told[place]
    ]
    assert missing == []
    said = "\n".join(f"{cell.lead.strip()} {cell.text}" for cell in described)
    assert [fact.label for fact in facts if fact.text.strip() not in said] == []
    assert [fact.label for fact in facts if fact.group in groups["page"] and fact.more not in said] == []


@pytest.mark.parametrize("name", ["chief", "books", "deeper", "night"])
def test_every_place_shows_what_is_known_of_a_supervisor_in_the_same_words(name: str) -> None:
    work = trouble()
    team = next(one for one in work.state.supervisors.values() if one.name == name)
    team.hand_overs, team.hand_over_ms, team.max_agents = 2, 2_400, 7  # type: ignore[misc]
    state, counts, activity = work.state, make_digest(work.state), Activity.of(work.state, work.journal)
    facts = supervisor_facts(state, team, counts, now_ms=NOW_MS, activity=activity)
    sight = Sight(state=state, counts=counts, now_ms=NOW_MS, activity=activity)
    drawn = graph_of(sight, "team")
    node = next(node for node in drawn.nodes if node.about == team.id)
    data = PaneData(state, counts, {}, Names(), activity, NOW_MS)
    told = {
        "pane": supervisor_pane(data, team, Progress(), 400, 60),
        "page": supervisor_side(data, team, (), 400, 60),
        "graph": node_details(sight, drawn, node, width=1_000),
    }
    groups = {
        "pane": ("head", "strategy", "settings", "limits"),
        "page": ("settings", "limits"),
        "graph": ("head", "strategy", "figures", "hand-over", "alerts"),
    }
    described = supervisor_page(state, team, counts, (), now_ms=NOW_MS, activity=activity)

    assert [
        (place, fact.label)
        for place, shown in groups.items()
        for fact in in_groups(facts, *shown)
        if fact.text not in "\n".join(map(text_of, told[place]))
    ] == []
    said = "\n".join(f"{cell.lead.strip()} {cell.text}" for cell in described)
    assert [fact.label for fact in facts if fact.text not in said or fact.more not in said] == []


def everywhere(work: World, task: Task) -> dict[str, str]:
    """Return what the places that tell of a task say of it."""
    state, counts = work.state, make_digest(work.state)
    facts = task_facts(state, task, counts, {}, now_ms=NOW_MS)
    sight = Sight(state=state, counts=counts, now_ms=NOW_MS)
    drawn = graph_of(sight, task.run_id)
    node = next(node for node in drawn.nodes if node.about == task.id)
    lines = {
        "page": task_lines(facts, task.title, task.id, 1_000),
        "graph": node_details(sight, drawn, node, width=1_000),
    }
    cells = task_page(state, task.id, counts, {}, JournalTexts(), (), now_ms=NOW_MS)
    words = {place: "\n".join(map(text_of, place_lines)) for place, place_lines in lines.items()}
    return words | {"words": "\n".join(cell.text for cell in cells)}


@pytest.mark.parametrize("title", ["clerk", "checker"])
def test_every_place_shows_what_is_known_of_a_task_in_the_same_words(title: str) -> None:
    work = trouble()
    task = next(one for one in work.state.tasks.values() if one.title == title and one.kind == "agent")
    task.attempts, task.preemptions, task.priority, task.failed_on = 3, 2, 1, ("a1",)  # type: ignore[misc]
    facts = task_facts(work.state, task, make_digest(work.state), {}, now_ms=NOW_MS)
    groups = {
        "page": ("head", "agent", "about", "alerts", "limits", "steers"),
        "graph": ("plan", "agent", "about", "alerts", "limits", "order"),
        "words": ("head", "agent", "about", "defaults", "kept", "plan", "order", "limits", "alerts", "steers"),
    }
    shown = everywhere(work, task)

    assert {"made way", "failed on", "priority"} <= {fact.label for fact in facts}
    assert [
        (place, fact.label)
        for place, names in groups.items()
        for fact in in_groups(facts, *names)
        if fact.text not in shown[place]
    ] == []
    assert {fact.group for fact in facts} <= {*groups["words"]}


def test_every_place_shows_what_is_known_of_a_run_in_the_same_words() -> None:
    work = trouble()
    counts = make_digest(work.state)
    runs: list[Run | RunSummary] = [*work.state.runs.values(), *work.state.finished]
    for run in runs:
        facts = run_facts(work.state, run, counts, now_ms=NOW_MS)
        page = "\n".join(map(text_of, run_lines(work.state, run.id, (), counts, width=1_000, now_ms=NOW_MS)))
        words = "\n".join(cell.text for cell in run_page(work.state, run.id, counts, JournalTexts(), now_ms=NOW_MS))

        assert [fact.label for fact in facts if fact.text not in words] == []
        assert [fact.label for fact in facts if fact.group not in ("spent", "defaults") and fact.text not in page] == []


def test_where_each_agent_has_one_line_a_call_begins_with_the_name_of_its_tool() -> None:
    work, live = talking()
    counts = make_digest(work.state, live=live, now_ms=NOW_MS)
    data = PaneData(work.state, counts, live, Names(), Activity(), NOW_MS)
    team = next(iter(work.state.supervisors.values()))

    (section,) = words_section(data, team, 34, 5)

    assert any(text_of(line).split()[:2] == ["seeker", "search"] for line in section.lines)
