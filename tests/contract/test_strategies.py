"""What every coordination strategy has to keep to, built in or of a package that is installed."""

import importlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.core.errors import Refused
from engine.core.records.records import copy_with
from engine.core.strategies import STRATEGIES, check_settings, is_sparse
from engine.core.strategies.layout import Layout
from engine.core.strategies.validation import validate
from engine.core.strategies.wiring import Growth, Nodes, Verdict, Wiring
from tests.depth import examples

NAMES = ("ada", "bob", "cyd", "dan", "eve")
DRAWN = {"nodes": [{"name": "one", "agent": "ada"}, {"name": "two", "agent": "bob", "after": ["one"]}]}
EXAMPLES: dict[str, list[dict[str, Any]]] = {
    "parallel": [{"need": 2}],
    "parallel_then_synthesis": [{"aggregator": "cyd"}],
    "sequential_with_validation": [{"validator": "ada", "returns": 0}, {"returns": 3, "otherwise": "accept"}],
    "iterative_refinement": [{"author": "bob", "critics": ["ada"], "rounds": 1}, {"until": 7, "rounds": 4}],
    "hierarchical_review": [{"levels": [["ada", "bob"], ["cyd"]], "returns": 2}, {"returns": 1}],
    "conditional": [
        {"branches": [{"when": {"contains": "x"}, "to": ["bob", "cyd"]}, {"when": "else", "to": "dan"}], "then": "eve"},
        {"first": "request", "take": "all", "branches": [{"when": {"status": "done"}, "to": "ada"}]},
    ],
    "delegate": [{"lead": "bob"}],
    "map": [{"over": "ada", "to": "bob", "join": "vote"}, {"optional": True}],
    "graph": [
        DRAWN,
        {"nodes": [*DRAWN["nodes"], {"name": "x", "agent": "cyd", "when": {"contains": "y"}}], "output": "two"},
    ],
}
few = settings(max_examples=examples(8))
every = pytest.mark.parametrize("name", sorted(STRATEGIES))


@st.composite
def graphs(draw: Callable[[st.SearchStrategy[Any]], Any], name: str) -> Nodes:
    """Draw a graph in any state, with settings that are right."""
    kinds = draw(st.lists(st.sampled_from(["done", "running", "unstarted"]), max_size=6))
    ids = {kind: [f"t{place}" for place, one in enumerate(kinds) if one == kind] for kind in set(kinds)}
    done = ids.get("done", [])
    members = {f"t{place}": draw(st.sampled_from(NAMES)) for place in range(len(kinds))}
    options: list[dict[str, Any]] = [*EXAMPLES.get(name, []), *([] if name == "graph" else [{}])]
    aggregator = draw(st.sampled_from([None, *ids.get("unstarted", [])])) if "parallel" in name else None
    return Nodes(
        done=done,
        ends=draw(st.lists(st.sampled_from(done), unique=True)) if done else [],
        used=draw(st.lists(st.sampled_from(done), unique=True)) if done else [],
        running=ids.get("running", []),
        unstarted=ids.get("unstarted", []),
        aggregator=aggregator,
        members=members,
        cast=list(dict.fromkeys(members.values())),
        settings=draw(st.sampled_from(options)),
        lead=draw(st.sampled_from([None, "ada"])) if name == "delegate" else None,
    )


def as_grown(nodes: Nodes, wiring: Wiring, role: str) -> Nodes:
    """Return a graph as a strategy sees it once everything before a check has ended."""
    made = [one.key for one in wiring.added]
    members = dict(nodes.members) | {one.key: one.member or "" for one in wiring.added}
    ended = [*nodes.done, *nodes.running, *(node for node in (*nodes.unstarted, *made) if node not in wiring.dropped)]
    waiting = [node for node in ended if _comes_after(wiring, node, {n for n, r in wiring.roles.items() if r == role})]
    return Nodes(
        done=[node for node in ended if node not in waiting],
        unstarted=waiting,
        members=members,
        cast=nodes.cast,
        settings=wiring.settings or nodes.settings,
        roles=dict(nodes.roles) | wiring.roles,
        after=dict(nodes.after) | wiring.after,
    )


def _comes_after(wiring: Wiring, node: str, those: set[str]) -> bool:
    after = wiring.after.get(node, [])
    return any(one in those or _comes_after(wiring, one, those) for one in after)


def verdicts() -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {
            "score": st.sampled_from([None, 0, 0.5]),
            "enough": st.just(False),
            "approved": st.booleans(),
            "holds": st.sampled_from([[], [0], [1], [0, 1]]),
            "items": st.sampled_from([None, 0, 3]),
        }
    )


@every
@few
@given(st.data())
def test_what_it_wires_can_be_drawn_from_any_state_and_is_the_same_each_time(name: str, data: st.DataObject) -> None:
    nodes = data.draw(graphs(name))

    wiring = STRATEGIES[name].wire(nodes)

    validate(name, wiring, nodes)
    assert wiring == STRATEGIES[name].wire(nodes)
    assert not set(wiring.after) & {*nodes.done, *nodes.running}
    assert set(nodes.unstarted) <= set(wiring.after) | set(wiring.dropped)
    there = {*nodes.done, *nodes.running, *wiring.after}
    assert wiring.outcome in there or not there


@every
@few
@given(st.data())
def test_growth_can_be_drawn_and_comes_to_an_end_whatever_is_found(name: str, data: st.DataObject) -> None:
    nodes = data.draw(graphs(name))
    wiring = _with_ids(STRATEGIES[name].wire(nodes), "0")
    asked = [(one.key, wiring.roles[one.key]) for one in wiring.added if one.kind == "check"]
    for number in range(1, 60):
        if not asked:
            return
        key, role = asked.pop(0)
        nodes = as_grown(nodes, wiring, role)
        growth: Growth = STRATEGIES[name].grow(nodes, Verdict(node=key, role=role, said=data.draw(verdicts())))
        assert set(growth.skipped) <= set(nodes.unstarted)
        assert growth.why or growth.failed
        if growth.failed is not None:
            return
        validate(name, growth.wiring, nodes, [key], whole=False)
        wiring = _with_ids(growth.wiring, str(number))
        asked += [(one.key, wiring.roles[one.key]) for one in wiring.added if one.kind == "check"]
    raise AssertionError(f"{name} grows without an end")


def _with_ids(wiring: Wiring, before: str) -> Wiring:
    """Return a wiring whose keys are ids of their own."""
    made = {one.key for one in wiring.added}

    def key(node: str) -> str:
        return f"{before}/{node}" if node in made else node

    return copy_with(
        wiring,
        after={key(node): [key(one) for one in others] for node, others in wiring.after.items()},
        sees={key(node): [key(one) for one in others] for node, others in wiring.sees.items()},
        roles={key(node): role for node, role in wiring.roles.items()},
        added=[copy_with(one, key=key(one.key)) for one in wiring.added],
    )


@every
def test_settings_that_are_right_are_taken(name: str) -> None:
    for example in EXAMPLES.get(name, []):
        check_settings(name, example, NAMES)


@every
def test_an_unknown_setting_is_refused_with_what_there_is(name: str) -> None:
    with pytest.raises(Refused, match="no setting 'zigzag'"):
        check_settings(name, {"zigzag": 1}, NAMES)


@every
def test_one_that_is_not_sparse_gives_every_member_a_node_and_a_sparse_one_does_not_always(name: str) -> None:
    members = {f"t{place}": member for place, member in enumerate(NAMES)}

    def dropped(settings: dict[str, Any]) -> list[str]:
        nodes = Nodes(unstarted=[*members], members=members, cast=NAMES, settings=settings)
        return STRATEGIES[name].wire(nodes).dropped

    assert is_sparse(name) == any(dropped(settings) for settings in (*EXAMPLES.get(name, []), {}))


def test_a_strategy_that_is_not_there_or_does_not_say_may_have_left_members_out() -> None:
    assert is_sparse("a_strategy_of_a_package_that_was_removed")


@every
def test_it_says_what_it_does_in_one_line(name: str) -> None:
    about = STRATEGIES[name].about

    assert about
    assert "\n" not in about
    assert len(about) <= 50  # beside its name in 80 columns


@every
def test_its_docstring_draws_its_graph(name: str) -> None:
    module = importlib.import_module(type(STRATEGIES[name]).__module__)

    assert "─" in (module.__doc__ or "")


@pytest.mark.parametrize(
    ("after", "fault"),
    [
        ({"t1": ["t7"], "t2": []}, "waits for what is not there"),
        ({"t1": ["t0", "t0"], "t2": []}, "waits for what is not there"),
        ({"t1": ["t2"], "t2": ["t1"]}, "wait for each other"),
        ({"t1": []}, "t2 has no place"),
        ({"t0": [], "t1": [], "t2": []}, "which has begun"),
    ],
)
def test_a_wiring_that_cannot_be_is_refused_with_its_first_fault(after: dict[str, list[str]], fault: str) -> None:
    nodes = Nodes(done=["t0"], unstarted=["t1", "t2"])

    with pytest.raises(Refused, match=fault):
        validate("drawn", Wiring(after=after), nodes)


def test_work_that_a_member_has_done_is_not_done_again_though_its_next_turn_is_being_stopped() -> None:
    members = {"draft": "ada", "again": "ada"}
    layout = Layout(Nodes(done=["draft"], running=["again"], stopping=frozenset({"again"}), members=members))

    assert layout.work("ada") == "draft"
