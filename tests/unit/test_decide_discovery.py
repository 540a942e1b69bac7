"""Agents that are found outside the team: who joins, who is asked about, and what becomes of the request meanwhile."""

from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from engine.core.commands import Answer, Cancel, Pause, Resume, SupervisorSpec, SwitchStrategy
from engine.core.documents.importing import raise_ids
from engine.core.events import Discovered, Event, GroupPlanned, PlanAsked
from engine.core.legality import faults_of
from engine.core.queries.team.code import references_of
from engine.core.records.values import Usage
from engine.core.signals import AgentsFound, FoundSpec
from engine.core.specs.discovery import AgentDiscoveryMode, DiscoveryConfig
from engine.core.specs.limits import Limits
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec, spec_hash
from engine.core.state import Escalation
from engine.core.transfer.approvals import forget_approvals
from tests.depth import examples
from tests.story import done, refused, submitted, works
from tests.world import World, agent, team_world

CATALOGUE, DYNAMIC, REGISTRY = AgentDiscoveryMode.CATALOGUE, AgentDiscoveryMode.DYNAMIC, AgentDiscoveryMode.REGISTRY
WORDS = ("translate", "draw", "sing", "count")
REQUEST = "parse, translate, draw, sing and count"


def found(name: str, *specialties: str, run: str | None = None, **said: Any) -> FoundSpec:
    """Return an agent outside the team; without `run` it needs no code."""
    spec = AgentSpec(name=name, agent_type="scripted", run=run, specialties=specialties)
    said.setdefault("source", CATALOGUE)
    return FoundSpec(id=f"c-{name}", hash=spec_hash(spec), spec=spec, **said)


def searching(*, max_agents: int = 50, limits: Limits | None = None, **config: Any) -> World:
    """Return a team with one agent for `parse` that looks for others."""
    config = {"modes": (CATALOGUE,), "approve": "granted"} | config
    options = SupervisorOptions(discovery=DiscoveryConfig(**config), run_limits=limits)
    return team_world(agent("ada", "parse"), auto_discover=True, max_agents=max_agents, options=options)


def asked_for(world: World, request: str, *agents: FoundSpec, **said: Any) -> list[Event]:
    """Give a request to a team, and let the search for it end."""
    run_id = submitted(world, request)
    return world.search(world.state.runs[run_id].root_id, *agents, text=request, **said)


def joined(world: World) -> list[str]:
    return [one.name for one in world.state.agents.values() if one.is_found]


def question(world: World) -> Escalation:
    (one,) = world.state.escalations.values()
    return one


def discovered(events: list[Event]) -> Discovered:
    (one,) = (event for event in events if isinstance(event, Discovered))
    return one


def planned(events: list[Event]) -> bool:
    return any(isinstance(event, GroupPlanned) for event in events)


def answer(world: World, choice: str) -> list[Event]:
    return world.order(Answer(escalation=question(world).id, answer=choice))


def test_who_was_found_where_nobody_is_looked_for_any_more_does_not_join() -> None:
    world = searching()

    assert planned(asked_for(world, "parse and translate", found("bob", "translate", source=DYNAMIC)))
    assert joined(world) == []


def test_a_request_that_nobody_can_do_says_why_the_search_for_it_brought_nobody() -> None:
    world = searching(max_agents=1, evict=True)
    asked_for(world, "sing", found("bob", "sing"), faults=["the catalogue is damaged"])

    error = world.state.finished[-1].error or ""
    assert error.startswith("no agent can 'sing'; did you mean bob (catalogue, 1.00)?")
    assert "; the catalogue is damaged" in error


specs = st.builds(
    lambda name, specialties, run, always_asks, source: found(
        name, *specialties, run=run, always_asks=always_asks, source=source
    ),
    st.sampled_from(["ada", "bob", "cyd", "a3", "else"]),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=2, unique=True),
    st.sampled_from([None, "safe:run", "foul:run"]),
    st.booleans(),
    st.sampled_from(AgentDiscoveryMode),
)


@settings(max_examples=examples(60))
@given(
    found_by_request=st.lists(st.lists(specs, max_size=4), min_size=1, max_size=3),
    max_new=st.integers(1, 3),
    max_agents=st.integers(1, 4),
    approve=st.sampled_from(["ask", "granted"]),
    evict=st.booleans(),
    choices=st.lists(st.sampled_from(["add", "skip"]), min_size=3, max_size=3),
)
def test_whatever_is_found_the_request_goes_on_and_no_more_join_than_may(
    found_by_request: list[list[FoundSpec]],
    max_new: int,
    max_agents: int,
    approve: str,
    evict: bool,
    choices: list[str],
) -> None:
    places: dict[str, Any] = {"modes": (AgentDiscoveryMode.HYBRID,), "documents": ("*.md",), "template": "any"}
    world = searching(max_new=max_new, max_agents=max_agents, approve=approve, evict=evict, **places)
    world.untrusted.add("foul:run")

    for agents, choice in zip(found_by_request, choices, strict=False):
        run_id = submitted(world, REQUEST)
        root_id = world.state.runs[run_id].root_id
        if root_id in world.searches:
            world.search(root_id, *agents)
        if root_id in {each.subject for each in world.state.escalations.values()}:
            asks_for_foul = any("foul:run" in references_of(each.spec) for each in agents)
            if choice == "add" and "code not_trusted" in repr(answer(world, choice)) and asks_for_foul:
                answer(world, "skip")
        for escalation in [*world.state.escalations]:
            world.order(Answer(escalation=escalation, answer="skip"))

        assert world.state.tasks[root_id].mode is not None
        assert world.state.runs[run_id].agents_found <= max_new
        agents_there = world.state.agents.values()
        assert len(agents_there) <= max_agents
        assert "ada" in {one.name for one in agents_there}
        assert not any("foul:run" in references_of(world.state.spec_of(one)) for one in agents_there)
        assert [*faults_of(world.state)] == []


@settings(max_examples=examples(40))
@given(crashes=st.sets(st.sampled_from(["search", "question", "answer"])), choice=st.sampled_from(["add", "skip"]))
def test_no_request_is_lost_whenever_the_engine_ends(crashes: set[str], choice: str) -> None:
    world = searching(approve="ask")
    run_id = submitted(world, "translate and parse")
    root_id = world.state.runs[run_id].root_id

    if "search" in crashes:
        world.crash()
    world.search(root_id, found("tom", "translate"))
    if "question" in crashes:
        world.crash()
    assert world.searches == {}
    answer(world, choice)
    if "answer" in crashes:
        world.crash()

    assert joined(world) == (["tom"] if choice == "add" else [])
    assert world.state.tasks[root_id].mode is not None
    world.settle()
    assert world.state.finished[-1].id == run_id
    assert sum(isinstance(event, Discovered) for event in world.journal) == 1


def test_a_team_that_knows_every_word_is_not_left() -> None:
    world = searching()

    submitted(world, "parse")

    assert (world.searches, works(world)) == ({}, ["ada"])


@pytest.mark.parametrize(
    ("config", "searches"),
    [
        ({"modes": (REGISTRY,)}, False),
        *(({"modes": (mode,)}, True) for mode in AgentDiscoveryMode if mode is not REGISTRY),
        ({"modes": (CATALOGUE,), "max_new": 0}, False),
    ],
)
def test_each_mode_but_the_registry_looks_outside_the_team(config: dict[str, Any], searches: bool) -> None:
    world = searching(**config, template="ada", documents=("*.md",))

    submitted(world, "parse and translate")

    assert [effect.words for effect in world.searches.values()] == ([["translate"]] if searches else [])


def test_an_agent_that_is_found_joins_unasked_where_that_is_granted_and_gets_the_request() -> None:
    world = searching()

    events = asked_for(world, "translate", found("tom", "translate"))

    assert discovered(events).chosen == ["c-tom"]
    assert (joined(world), works(world)) == (["tom"], ["tom"])
    (tom,) = (one for one in world.state.agents.values() if one.is_found)
    assert tom.origin is not None
    assert (tom.origin.id, tom.origin.hash) == ("c-tom", tom.spec)


def test_by_default_a_person_is_asked_and_may_skip_them() -> None:
    world = searching(approve="ask")

    assert not planned(asked_for(world, "translate and parse", found("tom", "translate")))
    assert (question(world).options, question(world).default) == (["add", "skip"], "skip")

    assert planned(answer(world, "skip"))
    assert (joined(world), works(world)) == ([], ["ada"])


def test_untrusted_code_asks_in_any_case_and_cannot_be_let_in_before_it_is_trusted() -> None:
    world = searching()
    world.untrusted.add("foul:run")
    asked_for(world, "translate", found("tom", "translate", run="foul:run"))

    reason = refused(world, Answer(escalation=question(world).id, answer="add"))
    assert "foul:run" in reason
    assert "--trust" in reason
    world.untrusted.clear()

    assert planned(answer(world, "add"))
    assert joined(world) == ["tom"]
    assert "foul:run" in world.state.trusted


def test_an_agent_made_where_nothing_else_was_found_is_always_asked_about() -> None:
    world = searching(modes=(AgentDiscoveryMode.HYBRID,), template="ada")

    asked_for(world, "translate", found("new", "translate", source=DYNAMIC, always_asks=True))

    assert question(world).kind == "discover"
    assert joined(world) == []


def test_the_specs_of_the_registry_are_found_where_another_mode_is_searched_too() -> None:
    for modes, expected in (((CATALOGUE,), []), ((REGISTRY, CATALOGUE), ["tom"])):
        world = searching(modes=modes)
        spec = found("tom", "translate").spec
        world.state.specs[spec_hash(spec)] = spec
        world.state.registry["tom"] = spec_hash(spec)

        asked_for(world, "translate")

        assert joined(world) == expected


def test_one_that_matches_too_little_of_the_request_does_not_join() -> None:
    world = searching(min_score=0.6)

    events = asked_for(world, "translate, draw and count", found("weak", "count"), found("able", "translate", "draw"))

    assert joined(world) == ["able"]
    assert {match.name: match.score < 0.6 for match in discovered(events).matches} == {"weak": True, "able": False}


def test_answers_to_two_questions_of_one_request_bring_no_more_than_it_may() -> None:
    config = DiscoveryConfig(modes=(CATALOGUE,), max_new=1)
    fields: dict[str, Any] = {"auto_discover": True, "options": SupervisorOptions(discovery=config)}
    teams = [SupervisorSpec(name=name, members=[agent("bob", "parse")], **fields) for name in ("north", "south")]
    world = team_world(*teams, mode="parallel")
    run_id = submitted(world, "translate and parse")
    for group_id in [*world.searches]:
        world.search(group_id, found("tom", "translate"))

    for escalation in [*world.state.escalations]:
        world.order(Answer(escalation=escalation, answer="add"))

    assert joined(world) == ["tom"]
    assert world.state.runs[run_id].agents_found == 1
    assert works(world) == ["tom", "bob"]


def test_where_the_team_is_full_nobody_joins_and_the_reason_is_kept() -> None:
    world = searching(max_agents=1)

    assert planned(asked_for(world, "translate and parse", found("tom", "translate")))
    assert joined(world) == []


def test_only_an_idle_agent_that_was_found_for_another_request_makes_room() -> None:
    world = searching(max_agents=2, evict=True)
    asked_for(world, "translate", found("tom", "translate"))
    asked_for(world, "draw and parse", found("dora", "draw"))
    assert joined(world) == ["tom"]  # it is at work
    world.settle()

    asked_for(world, "draw and translate", found("dora", "draw"))
    assert joined(world) == ["tom"]  # the request needs it
    world.settle()

    asked_for(world, "draw", found("dora", "draw"))
    assert joined(world) == ["dora"]
    assert "ada" in {one.name for one in world.state.agents.values()}


def test_agents_that_join_together_do_not_take_the_place_of_each_other() -> None:
    world = searching(max_agents=3, evict=True)
    asked_for(world, "translate", found("tom", "translate"))
    asked_for(world, "sing", found("sue", "sing"))
    (busy,) = (key for key, start in world.started.items() if start.agent == "tom")
    world.succeed(next(key for key in world.started if key != busy))

    asked_for(world, "draw and count", found("dora", "draw"), found("carl", "count"))

    assert joined(world) == ["tom", "dora"]


@pytest.mark.parametrize(("name", "expected"), [("ada", "ada-2"), ("a3", "a3-2"), ("else", "else-2"), ("tom", "tom")])
def test_a_name_that_is_taken_or_is_an_id_gets_a_number(name: str, expected: str) -> None:
    world = searching()

    asked_for(world, "translate", found(name, "translate"))

    assert joined(world) == [expected]


def test_what_is_found_twice_or_too_late_is_ignored() -> None:
    world = searching()
    late = AgentsFound(task_id="t1", text="translate", found=[found("tom", "translate")])
    run_id = submitted(world, "translate")
    root_id = world.state.runs[run_id].root_id
    world.search(root_id)

    assert world.say(late) == []
    world.order(Cancel(target=f"@{run_id}"))
    assert world.say(late) == []
    assert joined(world) == []


def test_a_search_is_asked_for_once_whatever_makes_the_graph_be_looked_at_again() -> None:
    world = searching(approve="ask")
    run_id = submitted(world, "translate")
    root_id = world.state.runs[run_id].root_id

    world.order(Pause(target=f"@{run_id}"))
    world.order(SwitchStrategy(supervisor="chief", mode="parallel"))
    world.order(Resume(target=f"@{run_id}"))
    world.search(root_id, found("tom", "translate"))
    world.order(Pause(target="chief"))
    world.order(Resume(target="chief"))
    answer(world, "add")

    assert sum(isinstance(event, PlanAsked) for event in world.journal) == 1
    assert works(world) == ["tom"]


def test_a_request_that_ends_takes_its_question_along() -> None:
    world = searching(approve="ask")
    asked_for(world, "translate", found("tom", "translate"))

    world.order(Cancel(target=question(world).run_id or ""))

    assert world.state.escalations == {}
    assert world.state.runs == {}


def test_what_a_model_describes_is_paid_by_the_request_and_ends_it_when_that_is_too_much() -> None:
    world = searching(modes=(DYNAMIC,), model="m", limits=Limits(tokens=100))

    asked_for(world, "translate", found("tom", "translate"), model="m", usage=Usage(tokens_in=90, tokens_out=20))

    assert world.state.runs == {}
    assert world.state.finished[-1].usage.tokens_in == 90
    assert [*faults_of(world.state)] == []


def test_a_copy_of_the_team_looks_for_the_agents_again_that_a_person_was_asked_about() -> None:
    world = searching(approve="ask")
    asked_for(world, "translate", found("tom", "translate"))

    forget_approvals(world.state)
    world.crash()

    assert world.state.escalations == {}
    assert [effect.words for effect in world.searches.values()] == [["translate"]]


def test_a_paused_request_is_searched_for_when_it_is_resumed() -> None:
    world = searching()
    run_id = submitted(world, "parse")
    later = submitted(world, "translate", after=[run_id])
    world.order(Pause(target=f"@{later}"))
    done(world, "ada")
    assert world.searches == {}

    world.order(Resume(target=f"@{later}"))

    assert [*world.searches] == [world.state.runs[later].root_id]


def test_what_is_remembered_of_a_search_keeps_its_ids_in_an_import() -> None:
    world = searching()
    asked_for(world, "translate and parse", found("tom", "translate"))

    raise_ids(world.state, {"t": 10, "a": 20}, used_names=())

    (supervisor,) = world.state.supervisors.values()
    (search,) = supervisor.discoveries
    assert search.task_id == "t11"
    assert {match.id for match in search.matches} == {"a21", "c-tom"}
