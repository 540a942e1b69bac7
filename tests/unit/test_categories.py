"""A strategy for each kind of work: what the request is, who takes part, and why."""

import re
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.core.commands import AddSupervisor, Submit, SupervisorSpec
from engine.core.signals import AgentUnusable, AgentUsable, TextRead
from engine.core.specs.options import SupervisorOptions
from tests.depth import examples
from tests.story import done, member, only, refused, submitted, works
from tests.world import LONG, World, agent, team_world

ROOT = Path(__file__).parents[2]
STRATEGIES = {
    "research_tasks": "parallel_then_synthesis",
    "analysis_tasks": "sequential_with_validation",
    "content_tasks": "iterative_refinement",
    "technical_tasks": "hierarchical_review",
}
CREW = [
    agent("seeker", "research", "sources"),
    agent("checker", "research", "fact checking"),
    agent("stats", "analysis", "statistics"),
    agent("poet", "content", "writing"),
    agent("editor", category="content_tasks"),
    agent("coder", "technical", "python"),
]


def studio(*, members: list[Any] | None = None, **options: Any) -> World:
    return team_world(*(members or CREW), options=SupervisorOptions(strategies=STRATEGIES, **options))


def planned(world: World, request: str = "do it", **fields: Any) -> Any:
    return only(world.order(Submit(request=request, **fields)), "group_planned")


def names(world: World, event: Any) -> list[str]:
    return [node.title for node in event.nodes if node.kind == "agent"]


def test_the_words_of_a_request_find_its_category_and_with_it_the_strategy() -> None:
    world = studio()

    event = planned(world, "Research the sources of the river")

    assert (event.category, event.mode) == ("research_tasks", "parallel_then_synthesis")
    assert "the request is of the category research_tasks" in event.explanation


def test_who_takes_part_is_who_belongs_to_the_category_by_specialty_or_by_name() -> None:
    world = studio()

    assert names(world, planned(world, "Research the sources")) == ["seeker", "checker"]
    assert names(world, planned(world, category="content")) == ["poet", "editor"]


def test_who_belongs_to_the_category_and_is_in_error_takes_part_and_what_it_has_to_do_waits() -> None:
    world = studio()
    poet = member(world, "poet")
    world.say(AgentUnusable(agent_id=poet.id, generation=poet.generation, error="no code"))

    assert names(world, planned(world, category="content")) == ["poet", "editor"]
    assert works(world) == []
    world.say(AgentUsable(agent_id=poet.id, generation=poet.generation))
    assert works(world) == ["poet"]


def test_a_category_that_is_named_is_taken_with_or_without_its_suffix() -> None:
    world = studio()

    assert planned(world, category="technical").mode == "hierarchical_review"
    assert planned(world, category="technical_tasks").mode == "hierarchical_review"


def test_a_request_of_no_category_takes_the_mode_of_the_supervisor() -> None:
    world = studio()

    strange = planned(world, "xyzzy")

    assert strange.mode == "sequential"
    assert "no category fits" in strange.explanation
    assert len(names(world, strange)) == len(CREW)


def test_where_nobody_belongs_to_the_category_all_take_part() -> None:
    world = studio(members=[agent("ada"), agent("bob")])

    event = planned(world, category="research")
    assert set(names(world, event)) == {"ada", "bob"}
    assert event.explanation.endswith("; no member is of that category, so all take part")


WORDS = ("content", "market", "legal", "sales", "python", "review", "creation", "writing")


@settings(max_examples=examples(25))
@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3, unique=True), st.data())
def test_a_category_begins_the_keys_that_it_pairs_with(key: list[str], data: st.DataObject) -> None:
    own = {
        name: data.draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3, unique=True))
        for name in ("ada", "bob", "cyd")
    }
    members = [agent(name, category="_".join(words)) for name, words in own.items()]
    options = SupervisorOptions(strategies={"_".join([*key, "tasks"]): "parallel"})
    world = team_world(*members, options=options)

    event = planned(world, category="_".join([*key, "tasks"]))

    whole = {name for name, words in own.items() if {*key} <= {*words}}
    begun = {name for name, words in own.items() if key[: len(words)] == words}
    assert set(names(world, event)) == (whole or begun or {*own})
    assert ("no member is of that category" in event.explanation) == (not whole and not begun)


def documented_teams() -> list[Any]:
    """Return the teams in the documents that have strategies by category."""
    teams = []
    for page in sorted((ROOT / "docs").rglob("*.md")):
        for block in re.findall(r"```yaml\n(.*?)```", page.read_text(), re.DOTALL):
            team = yaml.safe_load(block) if "\nstrategies:" in block else None
            if isinstance(team, dict) and any("category" in one for one in team.get("agents", [])):
                teams.append(team)
    return teams


def test_every_category_in_the_documents_has_the_agents_with_which_it_is_written() -> None:
    teams = documented_teams()
    assert teams
    for team in teams:
        members = [agent(one["name"], category=one.get("category")) for one in team["agents"]]
        world = team_world(*members, options=SupervisorOptions(strategies=team["strategies"]))
        for key in team["strategies"]:
            event = planned(world, category=key)
            expected = [one["name"] for one in team["agents"] if key.startswith(f"{one.get('category')}_")]
            assert expected
            assert {world.state.agents[node.worker_id].name for node in event.nodes if node.worker_id} == {*expected}


def test_whoever_the_settings_name_takes_part_whatever_the_category() -> None:
    world = studio(settings={"sequential_with_validation": {"validator": "coder"}})

    assert names(world, planned(world, category="analysis")) == ["stats", "coder"]


def test_settings_for_a_category_are_those_under_the_name_of_its_strategy() -> None:
    world = studio(settings={"iterative_refinement": {"until": 0.5, "rounds": 2}})

    event = planned(world, category="content")

    assert (event.settings["until"], event.settings["rounds"]) == (0.5, 2)


def test_the_category_that_was_found_stays_with_the_run() -> None:
    world = studio()
    submitted(world, "Research the sources of the river")

    assert world.state.runs["r1"].category == "research_tasks"


def test_what_came_before_is_read_whole_before_its_category_is_found() -> None:
    below = SupervisorSpec(name="below", options=SupervisorOptions(strategies=STRATEGIES), members=[*CREW])
    world = team_world(agent("ada"), below)
    submitted(world)
    done(world, "ada", LONG)

    (task_id,) = world.reads
    event = only(world.say(TextRead(task_id=task_id, text="Research the sources")), "group_planned")

    assert event.mode == "parallel_then_synthesis"
    assert works(world) == ["seeker"]


def test_a_strategy_that_is_not_there_is_refused_with_what_there_is() -> None:
    options = SupervisorOptions(strategies={"x": "zigzag"})
    team = SupervisorSpec(name="other", options=options, members=[])

    assert "no coordination strategy 'zigzag'" in refused(team_world(), AddSupervisor(parent=None, team=team))


def test_it_works_to_the_end() -> None:
    world = studio()
    submitted(world, "Research the sources")
    done(world, "seeker")
    world.settle()

    assert not world.state.runs
