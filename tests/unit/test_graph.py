"""The execution graph of a run as data, rebuilt at every change."""

import pytest

from engine.core.commands import SwitchStrategy
from engine.core.errors import UnknownWork
from engine.core.graph import graph_of
from engine.core.queries.plans import plans_of
from engine.core.signals import PlannedItem
from engine.core.state import TaskStatus
from tests.story import attempt, done, found, submitted
from tests.world import agent, team_world


def test_a_run_is_its_nodes_with_what_became_of_them_and_who_waits_for_whom() -> None:
    world = team_world(agent("ada"), agent("bob"), agent("cyd"), max_parallel=1)
    submitted(world)
    done(world, "ada")

    graph = graph_of(world.state, "r1")

    assert (graph.mode, [node.title for node in graph.nodes]) == ("sequential", ["ada", "bob", "cyd"])
    assert [node.status for node in graph.nodes] == [TaskStatus.DONE, TaskStatus.RUNNING, TaskStatus.WAITING]
    ids = [node.id for node in graph.nodes]
    assert graph.edges == [(ids[0], ids[1]), (ids[1], ids[2])]
    assert graph.outcome_id == ids[-1]


def test_it_is_another_after_a_switch() -> None:
    world = team_world(agent("ada"), agent("bob"), agent("cyd"), max_parallel=1)
    submitted(world)
    world.order(SwitchStrategy(mode="parallel"))

    graph = graph_of(world.state, "r1")

    assert [node.title for node in graph.nodes if node.is_ready] == ["bob", "cyd"]
    assert graph.ready == [node.id for node in graph.nodes if node.title in ("bob", "cyd")]
    assert [node.kind for node in graph.nodes] == ["agent", "agent", "agent", "join"]


def test_built_in_looks_and_the_ways_that_were_not_taken_are_in_it() -> None:
    world = team_world(agent("ada"), agent("bob"), agent("cyd"), mode="conditional")
    submitted(world)
    done(world, "ada")
    found(world, holds=[1])

    graph = graph_of(world.state, world.state.runs["r1"].root_id)

    assert [node.title for node in graph.nodes if node.kind == "check"] == ["which way?"]
    assert [node.title for node in graph.nodes if node.passed_by] == ["bob"]


def test_tasks_of_a_plan_that_an_agent_wrote_stand_after_it_with_their_edges() -> None:
    world = team_world(agent("ada"), agent("bob"), agent("cyd"), max_parallel=3)
    submitted(world)
    facts = PlannedItem(title="facts", target="bob", input="find")
    world.plan(attempt(world, "ada"), facts, PlannedItem(title="text", target="cyd", input="write", after=[0]))
    world.plan(attempt(world, "bob"), PlannedItem(title="sources", target="cyd", input="look"))

    graph = graph_of(world.state, "r1")
    by_title = {node.title: node for node in graph.nodes}

    assert [node.title for node in graph.nodes] == ["ada", "facts", "sources", "text", "bob", "cyd"]
    assert {title: node.planned_by for title, node in by_title.items() if node.planned_by} == {
        "facts": by_title["ada"].id, "text": by_title["ada"].id, "sources": by_title["facts"].id,
    }  # fmt: skip
    assert by_title["text"].after == (by_title["facts"].id,)
    assert (by_title["text"].is_ready, by_title["sources"].status) == (False, TaskStatus.RUNNING)
    (plan,) = plans_of(world.state, world.state.tasks[by_title["ada"].id])
    assert (plan.tasks, plan.open) == ((by_title["facts"].id, by_title["text"].id), 2)


def test_what_is_not_open_has_no_graph() -> None:
    with pytest.raises(UnknownWork):
        graph_of(team_world().state, "r1")
