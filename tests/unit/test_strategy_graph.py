"""Nodes and edges as they are written."""

from typing import Any

import pytest

from engine.core.commands import RetryWork
from engine.core.errors import Refused
from engine.core.records.records import JsonValue
from engine.core.specs.options import SupervisorOptions
from engine.core.state import RunStatus
from engine.core.strategies import check_settings
from engine.core.strategies.graph import sort_nodes
from tests.story import asked, attempt, done, ended, found, refused, seen_by, start_of, submitted, works
from tests.world import World, agent, team_world

NAMES = ("ada", "bob", "cyd", "dan")
DIAMOND: list[dict[str, Any]] = [
    {"name": "draft", "agent": "ada"},
    {"name": "facts", "agent": "bob", "after": ["draft"]},
    {"name": "style", "agent": "cyd", "after": ["draft"], "when": {"contains": "TODO"}},
    {"name": "edit", "agent": "dan", "after": ["facts", "style"]},
]


def drawn(nodes: list[dict[str, Any]], **settings: Any) -> World:
    world = team_world(
        *[agent(name) for name in NAMES],
        mode="graph",
        options=SupervisorOptions(settings={"nodes": nodes, **settings}),  # type: ignore[dict-item]
    )
    submitted(world)
    return world


def test_what_is_drawn_is_done_in_its_order() -> None:
    world = drawn(DIAMOND)
    assert works(world) == ["ada"]
    done(world, "ada")
    assert (works(world), asked(world)) == (["bob"], ["contains 'TODO'?"])
    found(world, holds=[0])
    assert works(world) == ["bob", "cyd"]
    done(world, "bob")
    done(world, "cyd")

    assert seen_by(world, "dan") == ["from bob", "from cyd"]
    done(world, "dan")
    assert ended(world).output == "from dan"


def test_a_node_whose_guard_does_not_hold_is_left_out_and_what_comes_after_others_too_goes_on() -> None:
    world = drawn(DIAMOND)
    done(world, "ada")
    found(world, holds=[])
    done(world, "bob")

    assert seen_by(world, "dan") == ["from bob"]
    done(world, "dan")
    assert ended(world).status is RunStatus.DONE


def test_what_comes_after_nothing_but_what_is_left_out_is_left_out_too() -> None:
    nodes = [*DIAMOND[:3], {"name": "polish", "agent": "dan", "after": ["style"]}]
    world = drawn(nodes, output="facts")
    done(world, "ada")
    found(world, holds=[])
    done(world, "bob")

    assert (ended(world).status, ended(world).output) == (RunStatus.DONE, "from bob")
    assert [start.agent for start in world.starts] == ["ada", "bob"]


def test_an_agent_may_have_several_nodes() -> None:
    world = drawn([{"name": "one", "agent": "ada"}, {"name": "two", "agent": "ada", "after": ["one"]}])
    done(world, "ada", "first")

    assert (start_of(world, "ada").takes, seen_by(world, "ada")) == ("previous", ["first"])
    done(world, "ada", "second")
    assert ended(world).output == "second"


def test_the_failure_of_one_node_can_be_the_way_of_another() -> None:
    world = drawn(
        [
            {"name": "try", "agent": "ada"},
            {"name": "mend", "agent": "bob", "after": ["try"], "when": {"status": "failed"}},
            {"name": "use", "agent": "cyd", "after": ["try"]},
        ],
        output="mend",
    )
    world.fail(attempt(world, "ada"))
    looks = {world.state.tasks[key[0]].title: key for key in world.checks}
    world.find(looks["status done?"], holds=[], said="")
    world.find(looks["status failed?"], holds=[0])

    assert works(world) == ["bob"]
    done(world, "bob", "mended")
    assert (ended(world).status, ended(world).output) == (RunStatus.DONE, "mended")


def test_nodes_of_the_same_depth_are_in_the_order_in_which_they_are_drawn() -> None:
    nodes: list[dict[str, JsonValue]] = [
        {"name": "z", "after": ["y"]},
        {"name": "w", "after": ["x"]},
        {"name": "x"},
        {"name": "y"},
    ]

    assert sort_nodes(nodes) == ["x", "y", "z", "w"]


def test_an_optional_node_may_fail() -> None:
    world = drawn(
        [{"name": "one", "agent": "ada", "optional": True}, {"name": "two", "agent": "bob", "after": ["one"]}]
    )
    world.fail(attempt(world, "ada"))
    done(world, "bob")

    assert ended(world).status is RunStatus.DONE


@pytest.mark.parametrize(
    ("nodes", "told"),
    [
        (
            [{"name": "a", "agent": "ada", "after": ["b"]}, {"name": "b", "agent": "bob", "after": ["a"]}],
            "a → b → a wait for each other",
        ),
        (
            [
                {"name": "a", "agent": "ada", "after": ["b"]},
                {"name": "b", "agent": "bob", "after": ["c"]},
                {"name": "c", "agent": "cyd", "after": ["a"]},
            ],
            "a → b → c → a wait for each other",
        ),
        ([{"name": "a", "agent": "adda"}], "did you mean ada"),
        ([{"name": "a", "agent": "ada", "after": ["x"]}], "which is not there"),
        ([{"name": "a", "agent": "ada"}, {"name": "a", "agent": "bob"}], "occurs twice"),
        ([{"name": "a", "agent": "ada", "when": {"matches": "(a{99}){99}"}}], "repeats a part"),
        ([{"name": "a", "agent": "ada", "wenn": 1}], "no key 'wenn'"),
        ([{"name": "a", "agent": "ada"}, {"name": "b", "agent": "bob"}], "say which of them is the output"),
        ([], "1 to 1,000 nodes"),
    ],
)
def test_a_graph_that_cannot_be_is_refused_in_one_line(nodes: list[dict[str, Any]], told: str) -> None:
    with pytest.raises(Refused, match=told) as refusal:
        check_settings("graph", {"nodes": nodes}, NAMES)  # type: ignore[dict-item]

    assert "\n" not in refusal.value.reason


def test_what_failed_is_not_tried_again_when_what_comes_after_it_has_begun_without_it() -> None:
    world = drawn(
        [
            {"name": "draft", "agent": "ada", "optional": True},
            {"name": "edit", "agent": "bob", "after": ["draft"]},
        ]
    )
    draft = attempt(world, "ada")
    world.fail(draft)
    assert works(world) == ["bob"]

    assert "used already" in refused(world, RetryWork(target=draft[0]))

    world.settle()
    assert ended(world).status is RunStatus.DONE
