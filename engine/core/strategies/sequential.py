"""One after the other: the output of each is the text of the next.

    request ─▶ a ─▶ b ─▶ c ─▶ output

Switched to in the middle of a run, what has not started is chained after everything that is done or at work.
"""

from collections.abc import Sequence

from engine.core.specs.check import Takes
from engine.core.strategies.settings import check_schema
from engine.core.strategies.wiring import Growth, Nodes, Settings, Verdict, Wiring


class Sequential:
    """Chain the nodes in the order of the plan."""

    name = "sequential"
    about = "one by one; each gets the output before"
    is_sparse = False

    def check(self, settings: Settings, members: Sequence[str]) -> None:
        """There is nothing to set."""
        check_schema(self.name, settings, {}, members)

    def wire(self, nodes: Nodes) -> Wiring:
        """Return a chain; its first node takes the request, or the outputs so far."""
        after: dict[str, list[str]] = {}
        takes: dict[str, Takes] = {}
        used = set(nodes.used)
        before = [*(node for node in nodes.ends if node not in used), *nodes.running]
        for node in nodes.unstarted:
            after[node] = list(before)
            takes[node] = "request" if not before else "previous" if len(before) == 1 else "context"
            before = [node]
        last = nodes.unstarted[-1:] or nodes.running[-1:] or nodes.done[-1:]
        return Wiring(after=after, takes=takes, outcome=last[0] if last else None)

    def grow(self, nodes: Nodes, verdict: Verdict) -> Growth:
        """Return no growth: this strategy has no checks."""
        return Growth()
