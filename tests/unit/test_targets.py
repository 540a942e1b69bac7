"""A target names the object whose name or id it is, or nothing."""

import ast
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core.commands import COMMANDS, AddAgent, Move, Pause, RemoveMember, Submit, SupervisorSpec
from engine.core.errors import AmbiguousName, Refused, UnknownAgent, UnknownSupervisor, UnknownWork
from engine.core.queries.targets import (
    find_agent,
    find_any,
    find_member,
    find_supervisor,
    find_work,
    id_target,
    shortest_targets,
)
from engine.core.state import State
from tests.story import applied, refused, submitted
from tests.world import World, agent, team_world

ROOT = Path(__file__).parents[2]
NAMES = [f"{letter}{number}" for letter in "asrt" for number in range(1, 5)] + ["x", "y"]
"""Names that may be somebody's id, and some that are not."""


def team(draw: st.DataObject, name: str, depth: int) -> SupervisorSpec:
    named = draw.draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=5))
    members: list[Any] = [
        team(draw, one, depth + 1) if depth < 3 and draw.draw(st.booleans()) else agent(one) for one in named
    ]
    return SupervisorSpec(name=name, members=members)


def world_of(draw: st.DataObject) -> World:
    top = team(draw, draw.draw(st.sampled_from(NAMES)), 1)
    world = team_world(*top.members)
    if draw.draw(st.booleans()):
        world.order(AddAgent(name=draw.draw(st.sampled_from(NAMES)), spec=agent("late")))
    world.order(Submit(request="go"))
    return world


def everything(state: State) -> list[Any]:
    return [*state.agents.values(), *state.supervisors.values(), *state.runs.values(), *state.tasks.values()]


@given(st.data())
def test_every_object_can_be_named_by_its_id_and_every_member_by_a_word(data: st.DataObject) -> None:
    state = world_of(data).state

    for one in everything(state):
        assert find_any(state, id_target(one.id)) is one
    for an_id, word in shortest_targets(state).items():
        assert find_any(state, word).id == an_id
        assert find_member(state, word).id == an_id


@given(st.data())
def test_no_word_names_another_object_than_the_one_whose_name_or_id_it_is(data: st.DataObject) -> None:
    state = world_of(data).state
    word = data.draw(
        st.sampled_from([*NAMES, *(one.id for one in everything(state)), *shortest_targets(state).values()])
    )
    finders: list[Any] = [find_agent, find_supervisor, find_member, find_any]

    for find in finders:
        try:
            found = find(state, word)
        except Refused:
            continue
        known: list[Any] = (
            everything(state) if find is find_any else [*state.agents.values(), *state.supervisors.values()]
        )
        others = [one for one in known if one is not found and word in (one.id, getattr(one, "name", None))]
        assert word in (
            found.id,
            getattr(found, "name", None),
            shortest_targets(state).get(found.id),
            id_target(found.id),
        )
        assert all(type(one) is not type(found) and one.id != word != found.id for one in others)


@given(st.data())
def test_a_word_that_nobody_has_names_nothing(data: st.DataObject) -> None:
    state = world_of(data).state

    for word in ("", "/", "//", "@", "nobody", "@nobody", "x/", "/nobody", "nobody/x", "@chief"):
        with pytest.raises((UnknownAgent, UnknownSupervisor)):
            find_member(state, word)


def test_an_agent_named_like_the_id_of_another_is_not_paused_in_its_place() -> None:
    world = team_world(*(agent(f"a{number}") for number in range(6)))
    assert {one.name: one.id for one in world.state.agents.values()}["a2"] == "a3"

    reason = refused(world, Pause(target="a3"))

    assert reason == "'a3' is not unique; say one of @a3 (chief/a2), chief/a3 (@a4)"
    applied(world, Pause(target="chief/a3"))
    assert [one.name for one in world.state.agents.values() if one.paused] == ["a3"]
    applied(world, Pause(target="@a3"))
    assert [one.name for one in world.state.agents.values() if one.paused] == ["a2", "a3"]


def test_a_path_names_by_place_and_a_slash_before_it_means_the_top() -> None:
    deep = SupervisorSpec(name="core", members=[agent("parse"), SupervisorSpec(name="core", members=[agent("parse")])])
    world = team_world(agent("parse"), deep)
    state = world.state

    assert find_supervisor(state, "/chief") is state.roots[0]
    assert find_agent(state, "/chief/parse").supervisor_id == state.roots[0].id
    assert find_agent(state, "chief/core/parse").supervisor_id == find_supervisor(state, "chief/core").id
    assert find_agent(state, "core/core/parse").supervisor_id == find_supervisor(state, "core/core").id
    with pytest.raises(AmbiguousName, match=r"@a2 \(core/parse\), @a3 \(core/parse\)"):
        find_agent(state, "core/parse")


def test_a_run_and_a_member_with_its_id_as_a_name_are_told_apart() -> None:
    world = team_world(agent("r1"))
    run_id = submitted(world)
    assert run_id == "r1"

    assert "chief/r1 (@a1), @r1" in refused(world, Pause(target="r1"))
    applied(world, Pause(target="@r1"))
    assert world.state.runs["r1"].paused
    assert find_work(world.state, "@r1") is find_work(world.state, "r1")
    with pytest.raises(UnknownWork):
        find_work(world.state, "r2")


def test_what_a_command_does_not_take_is_refused_in_words() -> None:
    world = team_world(agent("one"), SupervisorSpec(name="below"))
    submitted(world)

    assert "cannot be paused" in refused(world, Pause(target="t1"))
    assert "no supervisor '@a1'" in refused(world, Move(target="below", parent="@a1"))
    assert "there is no 'ono' here; did you mean one" in refused(world, Pause(target="ono"))
    assert "did you mean one" in refused(world, RemoveMember(target="chief/ono"))
    assert "no agent '@one'; list them" in refused(world, RemoveMember(target="@one")), "an id is like no name"


def test_our_own_code_never_names_a_member_by_a_bare_id() -> None:
    """A bare id may be somebody's name; `at` says that it is an id."""
    classes = {cls.__name__ for cls in COMMANDS} - {"RetryWork", "SetDeadline", "SetPriority"}  # of work alone
    called = re.compile(rf"\b({'|'.join(classes)})\(")
    for folder in ("engine", "dashboard"):
        for path in (ROOT / folder).rglob("*.py"):
            source = path.read_text()
            for node in ast.walk(ast.parse(source)) if called.search(source) else ():
                name = ast.unparse(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""
                if not isinstance(node, ast.Call) or name not in classes:
                    continue
                for said in node.keywords:
                    value = ast.unparse(said.value)
                    bare = (
                        said.arg in ("agent", "target", "supervisor", "parent")
                        and value.rpartition(".")[2].rpartition("_")[2] == "id"
                    )
                    assert not bare, f"{path}:{node.lineno}: {said.arg}={value}"
