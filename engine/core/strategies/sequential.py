"""One after the other: the output of each is the text of the next.

    request ─▶ a ─▶ b ─▶ c ─▶ output

Switched to in the middle of a run, what has not started is chained after everything that is done or at work.
"""

from engine.core.strategies.wiring import Nodes, Wiring


class Sequential:
    """Chain the nodes in the order of the plan."""

    name = "sequential"

    def wire(self, nodes: Nodes) -> Wiring:
        """Return a chain; its first link takes the request, or what came before it."""
        wiring = Wiring()
        before = [*(node for node in nodes.ends if node not in nodes.used), *nodes.running]
        for node in nodes.unstarted:
            wiring.after[node] = list(before)
            wiring.takes[node] = "request" if not before else "previous" if len(before) == 1 else "context"
            before = [node]
        last = nodes.unstarted[-1:] or nodes.running[-1:] or nodes.done[-1:]
        return Wiring(after=wiring.after, takes=wiring.takes, outcome=last[0] if last else None)
