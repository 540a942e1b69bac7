"""Labels of a request: what they may be, who has them, and what `label:` finds."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.views.measures.digest import make_digest
from dashboard.views.timeline.rows import labels_by_agent, rows_of
from dashboard.views.words.filters import parse_filter
from dashboard.views.words.subjects import AgentSubject, RunSubject, TaskSubject
from engine.core.commands import RetryWork, Submit, SupervisorSpec
from engine.core.encoding.codec import decode_state, encode_state
from engine.core.records.records import copy_with
from engine.core.state import Run, RunSummary
from engine.core.transfer.admission import Inadmissible, check
from tests.exports import exported
from tests.story import applied, attempt, refused, submitted, works
from tests.unit.test_views_timeline import lanes_of
from tests.world import World, agent, team_world

KEY, TEXT = re.compile(r"[a-z][a-z0-9_-]{0,31}"), re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029]{1,64}")
keys = st.one_of(st.sampled_from(["team", "a", "k-1_x"]), st.text("abzAZ09_- é", max_size=34))
texts = st.one_of(st.sampled_from(["web", "Großes Netz", "a=b"]), st.text(max_size=66))


@given(st.dictionaries(keys, texts, max_size=10))
def test_a_request_has_the_labels_that_are_within_the_bounds_or_is_refused_in_one_line(labels: dict[str, str]) -> None:
    world = team_world(agent("ada"))
    within = all(map(KEY.fullmatch, labels)) and all(map(TEXT.fullmatch, labels.values()))
    if within and len(labels) <= 8:
        assert world.state.runs[submitted(world, labels=labels)].labels == labels
    else:
        reason = refused(world, Submit(request="go", labels=labels))
        assert "labels" in reason
        assert "\n" not in reason


def test_every_task_of_a_request_has_its_labels_in_sub_teams_and_in_delegations_too() -> None:
    world = team_world(agent("ada"), SupervisorSpec(name="below", members=[agent("bob")]), agent("cyd", "sum"))
    submitted(world, labels={"team": "web", "env": "prod"})
    world.ask(attempt(world, "ada"), "sum", ["x", "y"])
    world.settle()

    assert {start.agent for start in world.starts} == {"ada", "bob", "cyd"}
    assert all(start.labels == {"team": "web", "env": "prod"} for start in world.starts)
    assert world.state.finished[-1].labels == {"team": "web", "env": "prod"}


def test_a_request_submitted_again_keeps_its_labels_and_so_does_a_state_that_is_read_again() -> None:
    world = team_world(agent("ada"))
    first = submitted(world, labels={"team": "web"})
    world.crash()
    assert world.state.runs[first].labels == {"team": "web"}
    world.settle()
    world.state = decode_state(encode_state(world.state))
    again = applied(world, RetryWork(target=first))["run_id"]

    assert world.state.runs[again].labels == {"team": "web"}


@pytest.mark.parametrize("labels", [{"Team": "web"}, {"team": "\x1b[31m"}, {f"k{number}": "x" for number in range(9)}])
def test_an_archive_with_labels_that_no_request_may_have_is_refused(labels: dict[str, str]) -> None:
    world = team_world(agent("ada"))
    submitted(world)
    state, texts = exported(world)
    check(state, len(texts))
    state.runs["r1"] = copy_with(state.runs["r1"], labels=labels)

    with pytest.raises(Inadmissible, match="a label must be"):
        check(state, len(texts))


def two_runs() -> World:
    """Two agents at work for one team, the second of which has ended one for another."""
    world = team_world(agent("ada"), agent("bob"), mode="parallel")
    submitted(world, "old", labels={"team": "website"})
    world.settle()
    submitted(world, "new", labels={"team": "Web", "env": "prod"})
    world.succeed(attempt(world, "bob"))
    return world


@pytest.mark.parametrize(
    ("term", "runs", "agents", "lanes"),
    [
        ("label:team", {"old", "new"}, {"ada"}, {"ada", "bob"}),
        ("label:team=web", {"new"}, {"ada"}, {"ada", "bob"}),
        ("label:TEAM=WEB", {"new"}, {"ada"}, {"ada", "bob"}),
        ("label:team=website", {"old"}, set(), {"ada", "bob"}),
        ("label:tea", set(), set(), set()),
        ("label:web", set(), set(), set()),
        ("-label:env", {"old"}, {"bob"}, {"ada", "bob"}),  # the supervisor has none, so its members stay
        ("label:env label:team=web", {"new"}, {"ada"}, {"ada", "bob"}),
    ],
)
def test_a_label_is_found_whole_in_runs_in_tasks_in_agents_at_work_and_in_lanes(
    term: str, runs: set[str], agents: set[str], lanes: set[str]
) -> None:
    world, wanted = two_runs(), parse_filter(term)
    state, counts, activities = world.state, make_digest(world.state), make_digest(world.state).activities
    assert works(world) == ["ada"]
    tasks = [task for task in state.tasks.values() if wanted.passes(TaskSubject(state, task, activities))]
    drawn = lanes_of(world)
    attempts = (*drawn.spans, *drawn.open_attempts())
    rows = rows_of(state, drawn.lanes, names=str, needle=term, available=20, labels=labels_by_agent(state, attempts))

    every: list[Run | RunSummary] = [*state.runs.values(), *state.finished]
    assert {run.title for run in every if wanted.passes(RunSubject(state, run, activities, 0))} == runs
    assert {one.name for one in state.agents.values() if wanted.passes(AgentSubject(state, one, counts))} == agents
    assert {state.runs[task.run_id].title for task in tasks} == runs - {"old"}
    assert {row.name for row in rows} & {"ada", "bob"} == lanes
