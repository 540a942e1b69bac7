"""The table of the network, with narrow gaps."""

from dashboard.views.network import GAP
from dashboard.widgets.table import Table


class Tree(Table):
    """A table with one cell between its columns."""

    GAP = GAP
    DEFAULT_CSS = """
    Tree { height: 1fr; }
    """
