"""Graphs: the network of a team and the execution graph of a run, drawn in layers from left to right.

`model` defines graphs, `run` and `team` build them from the state, `drawing` turns them into lines.
"""

from dashboard.views.graph.drawing import Drawing, draw_graph, graph_lines
from dashboard.views.graph.model import Graph
from dashboard.views.graph.subject import graph_of

__all__ = ["Drawing", "Graph", "draw_graph", "graph_lines", "graph_of"]
