"""What a box of a graph says in little room."""

import re

import pytest

from dashboard.views.graph import draw_graph, graph_of
from dashboard.views.graph.model import Edge, Graph, Node
from dashboard.views.graph.nodes import Sight
from dashboard.views.measures.digest import make_digest
from tests.pilot.scene import NOW_MS
from tests.pilot.talking import talking
from tests.story import attempt


@pytest.mark.parametrize("width", [96, 104, 112, 120, 140, 170])
@pytest.mark.parametrize("height", [3, 4, 6, 12])
@pytest.mark.parametrize("figure", ["205/860", "205/1,204", "3 of 1,204"])
def test_a_figure_is_never_cut_and_a_name_is_before_it(width: int, height: int, figure: str) -> None:
    nodes = tuple(
        Node(f"n{place}", f"look-at-every-file-{place}", "●", "busy", figure=figure, share=0.24) for place in range(8)
    )
    edges = tuple(Edge(f"n{place}", f"n{place + 1}") for place in range(7))
    found = draw_graph(
        Graph("", nodes=nodes, edges=edges), width=width, height=height, now_ms=NOW_MS, size=min(height, 4)
    )
    drawn = "\n".join("".join(span.text for span in line.spans) for line in found.lines)
    told = sum(drawn.count(one) for one in {figure, figure.replace(" of ", "/"), "24%"})

    assert not re.search(r"[\d,/]…", drawn.replace("file-", ""))
    assert told == 8 or not found.fits or height == 3  # in a border it leaves its room to the meter


def test_the_graph_of_a_small_run_keeps_finished_members_with_their_last_words_tokens_and_cost() -> None:
    work, live = talking()
    work.succeed(attempt(work, "scout"), "Three sources: tides.org, sea.net and moon.info")
    work.succeed(attempt(work, "writer"), "Two pages")
    work.now_ms += 60_000
    sight = Sight(state=work.state, counts=make_digest(work.state), now_ms=work.now_ms, live=live)

    assert len(graph_of(sight, "").nodes) == 3
    graph = graph_of(sight, "", lines=30)
    assert [node.name for node in graph.nodes] == ["chief (lead)", "scout", "seeker", "writer"]
    found = draw_graph(graph, width=118, height=30, now_ms=work.now_ms)
    drawn = "\n".join("".join(span.text for span in line.spans) for line in found.lines)
    assert found.fits
    for text in ("Three sources: tides.org, sea.net and", "⚙ search", "843 tok  $0.0011", "Two pages"):
        assert text in drawn
