"""One task for each item of a list, taken by free members, then joined.

    request ─▶ split ─┬▶ item 1 ─┐
                      ├▶ item 2 ─┼▶ join ─▶ output
                      └▶ …       ┘

The list is what the member `over` makes of the request, where it is set; else the request itself where it is one, else
what the first member makes of it. `to` is who does the items: a member, or a capability that any member may have; else
every other member, agents and teams, as they become free. `join` is how the results become one: `list` (the results in
order), or an aggregation. With `optional` an item that fails is left out.
"""

from collections.abc import Sequence

from engine.core.records.values import pluralize
from engine.core.specs.check import Check, Joining
from engine.core.specs.spec import AGGREGATIONS
from engine.core.strategies.layout import Layout
from engine.core.strategies.settings import check_schema, flag, member, one_of, strings, text
from engine.core.strategies.wiring import Growth, Nodes, Settings, Verdict, Wiring

MAX_ITEMS = 10_000
JOINS = tuple(joining for joining in ("list", *AGGREGATIONS) if joining != "synthesis")
_ITEMS = Check(what="items", args={"most": MAX_ITEMS})


class Map:
    """Make a task of each item, and join the results."""

    name = "map"
    about = "a task for each item of a list; then joined"
    is_sparse = True

    def check(self, settings: Settings, members: Sequence[str]) -> None:
        """`over` (the splitter), `to` (a member or a capability), `join`, `optional`."""
        schema = {"over": member, "to": text, "join": one_of(*JOINS), "optional": flag}
        check_schema(self.name, settings, schema, members)

    def wire(self, nodes: Nodes) -> Wiring:
        """Return the check for a list in the request, or in the splitter's output."""
        excluded = nodes.stopping.union(nodes.asked, nodes.used)
        over = nodes.settings.get("over")
        splitter = str(over or next(iter(nodes.cast), ""))
        to = nodes.settings.get("to")
        able = dict.fromkeys([*nodes.cast, *(nodes.members[node] for node in nodes.asked if nodes.members[node])])
        workers = [name for name in able if name != splitter or (to is None and len(nodes.cast) == 1)]
        settings = {"join": "list", "optional": False, **nodes.settings}
        settings |= {"splitter": splitter, "workers": list(workers), "aggregation": nodes.aggregation}
        layout = Layout(nodes, settings)
        if over or layout.has_begun(splitter):
            before = [layout.work(splitter, role="splitter")]
            check_node = _split(layout, before[0]) if over else _look(layout, [])
        else:
            before = [node for node in (*nodes.running, *nodes.ends) if node not in excluded]
            check_node = _look(layout, before)
        return layout.finished(before[-1] if before else check_node)

    def grow(self, nodes: Nodes, verdict: Verdict) -> Growth:
        """Return a task per item and the join; or the splitter, if the request is not a list."""
        settings, details = nodes.settings, verdict.said
        count = details.get("items")
        layout = Layout(nodes, settings, anew=True)
        if not isinstance(count, int) or isinstance(count, bool):
            splitter = _splitter(nodes)
            if verdict.role != "look" or not splitter:
                return Growth(failed=f"what {splitter} made is not a list", why="not a list")
            begun = next((node for node, role in nodes.roles.items() if role == "splitter"), None)
            sees = [done_node for done_node in nodes.done if nodes.roles.get(done_node, "") != "look"]
            node = begun or layout.work(splitter, [verdict.node], takes="context", sees=sees, role="splitter")
            _split(layout, node)
            return Growth(wiring=layout.finished(node), why=f"the request is not a list: {splitter} splits it")
        if count > MAX_ITEMS:
            return Growth(failed=f"{count:,} items are more than {MAX_ITEMS:,}", why="too many items")
        joining: Joining = "list"
        for allowed in JOINS:
            if settings["join"] == allowed:
                joining = allowed  # type: ignore[assignment]
        workers = nodes.left(_workers(nodes))
        if count and not workers and "to" not in settings:
            missing = nodes.gone(_workers(nodes))
            return Growth(failed=f"no member is left to do the items of map: {missing}", why="no member is left")
        items = [_item(layout, nodes, verdict, number, workers) for number in range(count)]
        if settings["optional"] or joining == "first":
            layout.wiring.tolerated.extend(items)
        joined = layout.join(joining, [verdict.node, *items], sees=items, role="join")
        if joining == "first" and items:
            layout.wiring.needs[joined] = 1
        return Growth(wiring=layout.finished(joined), why=pluralize(count, "item"))


def _look(layout: Layout, after: Sequence[str]) -> str:
    """Place the check whether the request is a list."""
    return layout.check(_ITEMS, after, sees=[], title="a list?", role="look")


def _split(layout: Layout, splitter: str) -> str:
    """Place the check of the list that the node of the splitter made."""
    return layout.check(_ITEMS, [splitter], sees=[splitter], title="split", role="split")


def _splitter(nodes: Nodes) -> str:
    """Return the member that makes the list: named by the settings, or the first remaining member."""
    splitter = str(nodes.settings["splitter"])
    return splitter if splitter in nodes.cast or "over" in nodes.settings else next(iter(nodes.cast), "")


def _workers(nodes: Nodes) -> list[str]:
    """Return the members that were to do the items when the graph was planned."""
    return strings(nodes.settings["workers"]) or [str(nodes.settings["splitter"])]


def _item(layout: Layout, nodes: Nodes, verdict: Verdict, number: int, workers: Sequence[str]) -> str:
    to = nodes.settings.get("to")
    titles = verdict.said.get("titles")
    title = str(titles[number]) if isinstance(titles, list) and number < len(titles) else f"item {number + 1}"
    if isinstance(to, str):
        return layout.own(item=number, able=to, anyone=(), after=[verdict.node], title=title)
    return layout.own(item=number, able=None, anyone=workers, after=[verdict.node], title=title)
