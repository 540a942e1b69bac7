"""All at once, then joined: every member gets the request.

    request ─┬▶ a ─┐
             ├▶ b ─┼▶ join ─▶ output
             └▶ c ─┘

With `need: 2` the join begins as soon as two are done, with these two in the order of the plan. The rest is stopped
where it is, and one that fails matters only when too few are left: then the graph fails at once. The aggregation
`first` needs one. Switched to in the middle of a run, what has not started becomes ready with the request and all
outputs so far. The join is built-in work, or the agent named `aggregator` where the aggregation is a synthesis.
"""

from collections.abc import Sequence

from engine.core.errors import Refused
from engine.core.records.values import pluralize
from engine.core.specs.check import Takes
from engine.core.strategies.settings import check_schema, whole_number
from engine.core.strategies.wiring import JOIN, Growth, Made, Nodes, Settings, Verdict, Wiring

NEED = {"need": whole_number(1, 10_000)}


class Parallel:
    """Let every node start, and join them at the end."""

    name = "parallel"
    about = "all get the request at once; then joined"
    is_sparse = False

    def check(self, settings: Settings, members: Sequence[str]) -> None:
        """`need`: how many answers are enough."""
        check_schema(self.name, settings, NEED, members)
        check_need(self.name, settings, members)

    def wire(self, nodes: Nodes) -> Wiring:
        """Return a fan; a single node needs no join."""
        need = nodes.settings.get("need", 1 if nodes.aggregation == "first" else None)
        fan = [node for node in nodes.unstarted if node != nodes.aggregator]
        dropped: list[str] = []
        if isinstance(need, int) and len(nodes.done) >= need:
            fan, dropped = [], fan
        after = {node: list(nodes.ends) for node in fan}
        takes: dict[str, Takes] = dict.fromkeys(fan, "context" if nodes.done else "request")
        everything = [*nodes.done, *nodes.running, *fan]
        outcome = everything[-1] if everything else None
        added: list[Made] = []
        needs: dict[str, int] = {}
        if nodes.aggregator is None and len(everything) > 1:
            joining = nodes.aggregation if nodes.aggregation != "synthesis" else "concat"
            need_note = f", {need} of {len(everything)}" if nodes.settings.get("need") else ""
            added.append(Made(key=JOIN, kind="join", join=joining, title=f"join ({joining}{need_note})"))
        if added or nodes.aggregator is not None:
            outcome = nodes.aggregator or JOIN
            after[outcome] = everything
            takes[outcome] = "context" if everything else "request"
            if isinstance(need, int):
                needs[outcome] = min(need, len(everything))
        return Wiring(
            after=after,
            takes=takes,
            needs=needs,
            tolerated=[*nodes.running, *fan] if needs else [],
            added=added,
            dropped=dropped,
            settings=dict(nodes.settings),
            outcome=outcome,
        )

    def grow(self, nodes: Nodes, verdict: Verdict) -> Growth:
        """Return no growth: this strategy has no checks."""
        return Growth()


def check_need(name: str, settings: Settings, members: Sequence[str]) -> None:
    """Refuse a `need` above the number of members."""
    need = settings.get("need")
    if isinstance(need, int) and members and need > len(members):
        raise Refused(f"setting need of {name} is {need}, but the team has {pluralize(len(members), 'member')}")
