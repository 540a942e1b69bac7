"""All at once, then joined: every member gets the request.

    request ─┬▶ a ─┐
             ├▶ b ─┼▶ join ─▶ output
             └▶ c ─┘

Switched to in the middle of a run, what has not started becomes ready with the request and all outputs so far. The
join is built-in work, or the agent named `aggregator` where the aggregation is a synthesis.
"""

from engine.core.strategies.wiring import JOIN, Nodes, Wiring


class Parallel:
    """Let every node start, and join them at the end."""

    name = "parallel"

    def wire(self, nodes: Nodes) -> Wiring:
        """Return a fan; a single node needs no join."""
        fan = [node for node in nodes.unstarted if node != nodes.aggregator]
        after = {node: list(nodes.ends) for node in fan}
        takes: dict[str, str] = dict.fromkeys(fan, "context" if nodes.done else "request")
        everything = [*nodes.done, *nodes.running, *fan]
        outcome = everything[-1] if everything else None
        join = nodes.aggregator is None and len(everything) > 1
        if join or nodes.aggregator is not None:
            outcome = nodes.aggregator or JOIN
            after[outcome] = everything
            takes[outcome] = "context" if everything else "request"
        return Wiring(after=after, takes=takes, join=join, outcome=outcome)  # type: ignore[arg-type]
