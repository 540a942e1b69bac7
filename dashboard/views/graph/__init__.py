"""Graphs: the network of a team and the execution graph of a run, drawn in layers from the left to the right.

`model` says what a graph is made of, `run` and `team` make one of the state, `drawing` makes lines of it.
"""

from dashboard.views.graph.drawing import Drawing, draw_graph, graph_lines
from dashboard.views.graph.model import Graph
from dashboard.views.graph.subject import graph_of

__all__ = ["Drawing", "Graph", "draw_graph", "graph_lines", "graph_of"]
