"""A layered layout: whatever the edges, every node has one place, and none overlap."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dashboard.views.drawing.graph_layout import arrange_layers, assign_rows, is_dummy

NODES = tuple("abcdefgh")
EDGES = st.lists(st.tuples(st.sampled_from(NODES), st.sampled_from(NODES)), max_size=14, unique=True)


@given(EDGES)
def test_every_node_stands_in_one_layer_and_edges_go_to_the_right(edges: list[tuple[str, str]]) -> None:
    found = arrange_layers(NODES, tuple(edges))
    place = {node: at for at, layer in enumerate(found.layers) for node in layer}

    assert sorted(node for node in place if not is_dummy(node)) == sorted(NODES)
    for edge, path in found.paths.items():
        assert all(place[target] - place[source] == 1 for source, target in path)
        assert not path or (path[0][0], path[-1][1]) == edge


@given(EDGES, st.integers(1, 6), st.integers(1, 60))
@example([("a", "b"), *(("a", to) for to in "cdef"), *(("b", to) for to in "cde")], 3, 11)
def test_no_two_boxes_of_a_layer_overlap(edges: list[tuple[str, str]], height: int, room: int) -> None:
    found = arrange_layers(NODES, tuple(edges))
    heights = dict.fromkeys(NODES, height)

    top = assign_rows(found, heights, room, gap=0)

    for layer in found.layers:
        end = 0
        for node in layer:
            assert top[node] >= end
            end = top[node] + heights.get(node, 1)


def test_members_of_one_lead_stand_together_so_that_edges_do_not_cross() -> None:
    edges = (("a", "x"), ("b", "y"), ("a", "z"), ("b", "w"))

    found = arrange_layers(("a", "b", "w", "x", "y", "z"), edges)

    assert found.layers == (("a", "b"), ("x", "z", "w", "y"))


def test_an_edge_over_several_layers_passes_between_the_nodes() -> None:
    found = arrange_layers(("a", "b", "c"), (("a", "b"), ("b", "c"), ("a", "c")))

    assert [len(layer) for layer in found.layers] == [1, 2, 1]
    assert len(found.paths["a", "c"]) == 2


def test_a_lead_stands_at_the_middle_of_its_members() -> None:
    found = arrange_layers(("lead", "a", "b", "c"), (("lead", "a"), ("lead", "b"), ("lead", "c")))

    top = assign_rows(found, {}, 5, gap=1)

    assert top["lead"] == top["b"]


@pytest.mark.parametrize("opened", ["b", "c", "d"])
def test_the_first_layer_keeps_its_order_whichever_node_of_it_leads_to_others(opened: str) -> None:
    teams = ["a", "b", "c", "d", "e"]
    nodes = [one for team in teams for one in ((team, "lead", "w1", "w2") if team == opened else (team,))]
    edges = [(team, "join") for team in teams if team != opened]
    edges += [(opened, "lead"), ("lead", "w1"), ("lead", "w2"), ("w1", "join"), ("w2", "join")]

    assert list(arrange_layers((*nodes, "join"), tuple(edges)).layers[0]) == teams
