"""Strategies that go on in the middle of a run while members that they name leave, or are called otherwise."""

from typing import Any

import pytest

from engine.core.commands import Move, RemoveMember, SupervisorSpec
from engine.core.events import GroupGrown
from engine.core.records.records import copy_with
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec
from engine.core.state import RunStatus
from tests.legal import assert_legal
from tests.story import applied, done, ended, found, submitted, works
from tests.world import World, agent, load, team_world

AGAIN = "add it and submit the request again"


def began(mode: str, *names: str, **settings: object) -> World:
    """A team whose members are so called, with others below it, which has a request."""
    options = SupervisorOptions(settings=settings)  # type: ignore[arg-type]
    elsewhere = SupervisorSpec(name="else")
    world = team_world(*map(agent, names), elsewhere, mode=mode, options=options, participants=names)
    submitted(world)
    return world


def leaves(world: World, name: str, *, moves: bool) -> None:
    applied(world, Move(target=name, parent="else") if moves else RemoveMember(target=name))


def rounds(world: World, *names: str) -> None:
    for name in names:
        done(world, name)


def why(world: World) -> str:
    return [one for one in world.journal if isinstance(one, GroupGrown)][-1].why


@pytest.mark.parametrize("moves", [False, True])
@pytest.mark.parametrize("gone", ["author", "critic"])
def test_the_best_draft_is_taken_when_its_author_or_all_critics_are_gone(gone: str, *, moves: bool) -> None:
    world = began("iterative_refinement", "author", "critic", author="author", critics=["critic"])
    rounds(world, "author", "critic")
    leaves(world, gone, moves=moves)

    found(world, score=0.4, enough=False)

    assert (ended(world).status, ended(world).output) == (RunStatus.DONE, "from author")
    assert why(world) == (
        f"0.4 in round 1, the last of iterative_refinement, because {gone} is no longer a member; {AGAIN}: "
        "the best draft is taken"
    )
    assert_legal(world.state)


def test_the_critics_that_are_left_score_the_next_draft() -> None:
    world = began("iterative_refinement", "author", "bob", "cyd", author="author", critics=["bob", "cyd"])
    rounds(world, "author", "bob", "cyd")
    leaves(world, "bob", moves=False)

    found(world, score=0.4, enough=False)

    rounds(world, "author")
    assert works(world) == ["cyd"]
    assert "bob is no longer a member" in why(world)


@pytest.mark.parametrize("mode", ["requeue", "abort"])
@pytest.mark.parametrize("looks", [False, True])
def test_the_critics_that_are_left_score_the_first_draft_as_they_do_the_next(mode: Any, *, looks: bool) -> None:
    world = began("iterative_refinement", "author", "bob", "cyd", author="author", critics=["bob", "cyd"])
    rounds(world, *["author"] * looks)

    applied(world, RemoveMember(target="bob", mode=mode))

    rounds(world, *["author"] * (not looks))
    for stopping in list(world.stopping):
        world.stop(stopping)
    assert works(world) == ["cyd"]
    rounds(world, "cyd")
    found(world, score=0.4, enough=False)
    assert works(world) == ["author"]
    assert_legal(world.state)


def test_the_draft_is_taken_when_the_only_critic_is_gone_before_it_scores() -> None:
    world = began("iterative_refinement", "author", "critic", author="author", critics=["critic"])

    applied(world, RemoveMember(target="critic", mode="requeue"))

    rounds(world, "author")
    assert (ended(world).status, ended(world).output) == (RunStatus.DONE, "from author")


@pytest.mark.parametrize(("left", "status"), [(["lead", "boss"], RunStatus.DONE), (["lead"], RunStatus.FAILED)])
def test_a_level_reviews_without_who_is_gone_before_it_looked_unless_it_was_the_only_one(
    left: list[str], status: RunStatus
) -> None:
    world = began("hierarchical_review", "ada", *left, "head", levels=[["ada"], left, ["head"]], returns=1)

    applied(world, RemoveMember(target="lead", mode="requeue"))

    world.settle()
    assert ended(world).status is status


@pytest.mark.parametrize("moves", [False, True])
@pytest.mark.parametrize("gone", ["worker", "checker"])
@pytest.mark.parametrize(("otherwise", "status"), [("fail", RunStatus.FAILED), ("accept", RunStatus.DONE)])
def test_work_cannot_be_sent_back_to_or_by_who_is_gone(
    gone: str, otherwise: str, status: RunStatus, *, moves: bool
) -> None:
    settings = {"validator": "checker", "otherwise": otherwise}
    world = began("sequential_with_validation", "worker", "checker", **settings)
    rounds(world, "worker", "checker")
    leaves(world, gone, moves=moves)

    found(world, approved=False, reasons="too long")

    assert (ended(world).status, ended(world).output) == (status, "from worker")
    told = why(world) if status is RunStatus.DONE else ended(world).error
    assert told == (
        f"sequential_with_validation cannot send it back, because {gone} is no longer a member; {AGAIN} "
        "(not approved by checker after 0 returns: too long)"
    )


@pytest.mark.parametrize("moves", [False, True])
@pytest.mark.parametrize("gone", ["ada", "lead"])
def test_a_level_goes_on_as_it_is_when_nobody_is_left_to_do_it_again(gone: str, *, moves: bool) -> None:
    world = began("hierarchical_review", "ada", "lead", "head", levels=[["ada"], ["lead"], ["head"]], returns=1)
    rounds(world, "ada", "lead")
    leaves(world, gone, moves=moves)

    found(world, approved=False, reasons="thin")

    assert (
        why(world)
        == f"hierarchical_review goes on with it as it is, because {gone} is no longer a member; {AGAIN}: thin"
    )
    rounds(world, "head")
    found(world, approved=True)
    assert (ended(world).status, ended(world).output) == (RunStatus.DONE, "from head")


def test_those_of_a_level_who_are_left_do_it_again() -> None:
    world = began("hierarchical_review", "ada", "bob", "lead", levels=[["ada", "bob"], ["lead"]], returns=1)
    rounds(world, "ada", "bob", "lead")
    leaves(world, "ada", moves=False)

    found(world, approved=False)

    rounds(world, "bob")
    assert works(world) == ["lead"]


@pytest.mark.parametrize(
    ("mode", "settings", "said"),
    [
        ("iterative_refinement", {"author": "ada", "critics": ["bob"]}, {"score": 0.1}),
        ("sequential_with_validation", {"validator": "bob"}, {"approved": False}),
        ("hierarchical_review", {"levels": [["ada"], ["bob"]], "returns": 1}, {"approved": False}),
    ],
)
def test_members_that_are_renamed_go_on_under_their_new_names(
    mode: str, settings: dict[str, object], said: dict[str, object]
) -> None:
    world = began(mode, "ada", "bob", **settings)
    rounds(world, "ada", "bob")
    names = [("ada", "eve"), ("bob", "fay")]
    renamed: list[AgentSpec | SupervisorSpec] = [copy_with(agent(old), name=new) for old, new in names]
    options = SupervisorOptions(settings=in_new_names(settings, dict(names)))  # type: ignore[arg-type]
    chief = SupervisorSpec(
        name="chief", mode=mode, members=[*renamed, SupervisorSpec(name="else")], options=options,
        participants=["eve", "fay"],
    )  # fmt: skip
    world.order(load(chief))
    assert [one.name for one in world.state.agents.values()] == ["eve", "fay"]

    found(world, **said)

    rounds(world, "eve", "fay")
    assert_legal(world.state)


def in_new_names(value: object, names: dict[str, str]) -> object:
    if isinstance(value, dict):
        return {key: in_new_names(one, names) for key, one in value.items()}
    if isinstance(value, list):
        return [in_new_names(one, names) for one in value]
    return names.get(value, value) if isinstance(value, str) else value
