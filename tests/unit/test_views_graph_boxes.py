"""What a box of a graph says in little room."""

import re

import pytest

from dashboard.views.graph import draw_graph
from dashboard.views.graph.model import Edge, Graph, Node
from tests.pilot.scene import NOW_MS


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
