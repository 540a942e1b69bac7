"""One leads: it gets the whole request, and asks the others by name or by capability while it works.

    request ─▶ lead ─▶ output
                │ ▲
                ▼ │  as it asks
              a  b  c

Without a lead the one member that matches the request best gets it. Switched to in the middle of a run, what has not
started is dropped, and the lead gets the request with all outputs so far; it begins when what is at work has ended.
The output of a lead that is done, or at work, already is that of the graph.
"""

from collections.abc import Sequence

from engine.core.strategies.layout import Layout
from engine.core.strategies.settings import check_schema, member
from engine.core.strategies.wiring import Growth, Nodes, Settings, Verdict, Wiring


class Delegate:
    """Give everything to one, who asks the others."""

    name = "delegate"
    about = "one leads and asks the others"
    is_sparse = True

    def check(self, settings: Settings, members: Sequence[str]) -> None:
        """`lead`: the leading member, if the supervisor names none."""
        check_schema(self.name, settings, {"lead": member}, members)

    def wire(self, nodes: Nodes) -> Wiring:
        """Return the node of the lead."""
        lead = nodes.lead or nodes.settings.get("lead") or next(iter(nodes.cast), None)
        layout = Layout(nodes, nodes.settings)
        if not isinstance(lead, str):
            return layout.finished(None)
        return layout.finished(layout.work(lead, role="lead"))

    def grow(self, nodes: Nodes, verdict: Verdict) -> Growth:
        """Return no growth: the lead decides, by delegating."""
        return Growth()
