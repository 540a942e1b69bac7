"""A graph that the settings draw: nodes, edges and conditions.

    nodes:                                                      draft ─┬▶ facts ─┬▶ edit ─▶ output
      - {name: draft, agent: writer}                                   └▶ style?─┘
      - {name: facts, agent: checker, after: [draft]}
      - {name: style, agent: stylist, after: [draft], when: {contains: TODO}}
      - {name: edit, agent: editor, after: [facts, style]}
    output: edit

A node is the work of an `agent` or a `team`; `takes` is `request`, `previous` or `context`; an `optional` node may
fail. A node whose guard does not hold is left out, and so is what comes after nothing else; the rest goes on.
"""

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from engine.core.errors import Refused
from engine.core.records.records import JsonValue
from engine.core.specs.check import Check, Takes
from engine.core.specs.guard import check_guard, checks_status, describe_guard
from engine.core.strategies.layout import Layout
from engine.core.strategies.settings import check_schema, check_unique, flag, member, one_of, strings, text
from engine.core.strategies.wiring import Growth, Nodes, Settings, Verdict, Wiring

MAX_NODES = 1_000
_KEYS = ("name", "agent", "team", "after", "when", "optional", "takes")
_TAKES: tuple[Takes, ...] = ("request", "previous", "context")


class DrawnGraph:
    """Wire the members as a person drew it."""

    name = "graph"
    about = "nodes and edges as the settings draw them"
    is_sparse = True

    def check(self, settings: Settings, members: Sequence[str]) -> None:
        """`nodes` (name, agent or team, after, when, optional, takes) and `output` (a name)."""
        check_schema(self.name, settings, {"nodes": _nodes, "output": text}, members)
        descriptions = drawn_nodes(settings)
        if not descriptions:
            raise Refused("graph needs its nodes drawn; give the setting nodes, each with a name and an agent")
        names = [str(node["name"]) for node in descriptions]
        output = settings.get("output")
        if output is not None and output not in names:
            raise Refused(f"setting output of graph: no node {output!r}; there are {', '.join(names[:12])}")
        ends = _ends(descriptions)
        if output is None and len(ends) > 1:
            raise Refused(f"graph ends in {', '.join(ends[:5])}; say which of them is the output")

    def wire(self, nodes: Nodes) -> Wiring:
        """Return the drawn graph; nodes that exist already keep their place."""
        layout = Layout(nodes, nodes.settings)
        descriptions = drawn_nodes(nodes.settings)
        by_name = {str(node["name"]): node for node in descriptions}
        handled = {
            name for node in descriptions if checks_status(node.get("when")) for name in strings(node.get("after", []))
        }
        ids: dict[str, str] = {}
        # In topological order: `_node` looks up the ids of the nodes that it comes after.
        for name in sort_nodes(descriptions):
            ids[name] = _node(layout, by_name[name], ids, handled)
        layout.wiring.tolerated.extend(
            ids[name] for name in by_name if name in handled or by_name[name].get("optional")
        )
        output = nodes.settings.get("output") or next(iter(_ends(descriptions)), None)
        return layout.finished(ids.get(str(output)))

    def grow(self, nodes: Nodes, verdict: Verdict) -> Growth:
        """Skip the node if its guard does not hold."""
        name = verdict.role.partition(":")[2]
        reason = str(verdict.said.get("said") or "")
        if verdict.said.get("holds"):
            return Growth(why=f"{name} goes on: {reason}")
        skipped = [node for node in nodes.unstarted if nodes.roles.get(node) == f"node:{name}"]
        return Growth(skipped=skipped, why=f"{name} is left out: its guard does not hold")


def _node(layout: Layout, description: Mapping[str, JsonValue], ids: Mapping[str, str], handled: set[str]) -> str:
    name, worker = str(description["name"]), str(description.get("agent") or description.get("team"))
    predecessors = strings(description.get("after", []))
    after = [ids[predecessor] for predecessor in predecessors]
    takes: Takes = "request" if not after else "previous" if len(after) == 1 else "context"
    for allowed in _TAKES:
        takes = allowed if description.get("takes") == allowed else takes
    guard = description.get("when")
    if guard is None and handled.intersection(predecessors):
        guard = {"status": "done"}  # its failure is another node's way to go on, and not this one's
    before = after
    if guard is not None and not layout.has_begun(worker):
        check = Check(what="guards", args={"guards": [guard], "all": True})
        title = f"{describe_guard(guard)}?"
        before = [layout.check(check, after, sees=after, title=title, role=f"when:{name}"), *after]
    return layout.work(worker, before, takes=takes, sees=after or None, role=f"node:{name}", title=name)


def drawn_nodes(settings: Settings) -> list[Mapping[str, JsonValue]]:
    """Return the nodes that the settings draw."""
    nodes = settings.get("nodes")
    return [node for node in nodes if isinstance(node, dict)] if isinstance(nodes, list) else []


def sort_nodes(descriptions: Sequence[Mapping[str, JsonValue]]) -> list[str]:
    """Return the names in topological order; nodes of the same depth in the order in which they are drawn.

    Raises:
        Refused: If nodes wait for each other; the message names one cycle, each node before the one it comes after.
    """
    waits = {str(node["name"]): strings(node.get("after", [])) for node in descriptions}
    place = {name: at for at, name in enumerate(waits)}
    sorter = TopologicalSorter(waits)
    try:
        sorter.prepare()
    except CycleError as error:
        cycle: list[str] = error.args[1]
        raise Refused(f"setting nodes of graph: {' → '.join(reversed(cycle))} wait for each other") from None
    order: list[str] = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready(), key=place.__getitem__)
        order += ready
        sorter.done(*ready)
    return order


def _ends(descriptions: Sequence[Mapping[str, JsonValue]]) -> list[str]:
    waited = {name for node in descriptions for name in strings(node.get("after", []))}
    return [str(node["name"]) for node in descriptions if node["name"] not in waited]


def _nodes(where: str, value: JsonValue, members: Sequence[str]) -> None:
    if not isinstance(value, list) or not value or len(value) > MAX_NODES:
        raise Refused(f"{where} is a list of 1 to {MAX_NODES:,} nodes")
    for number, node in enumerate(value, 1):
        _check_node(f"{where}, node {number}", node, members)
    names = [str(node["name"]) for node in value if isinstance(node, dict)]
    check_unique(where, names)
    for node in value:
        if isinstance(node, dict):
            for name in strings(node.get("after", [])):
                if name not in names:
                    raise Refused(f"{where}: {node['name']} comes after {name!r}, which is not there")
    sort_nodes(drawn_nodes({"nodes": value}))


def _check_node(where: str, node: JsonValue, members: Sequence[str]) -> None:
    if not isinstance(node, dict) or not isinstance(node.get("name"), str) or not node["name"]:
        raise Refused(f"{where} has a name and an agent or a team")
    where = f"{where} ({node['name']!s:.40})"
    unknown_keys = [key for key in node if key not in _KEYS]
    if unknown_keys:
        raise Refused(f"{where}: no key {unknown_keys[0]!r}; there are {', '.join(_KEYS)}")
    if ("agent" in node) == ("team" in node):
        raise Refused(f"{where}: say one of agent and team")
    member(where, node.get("agent", node.get("team")), members)
    if "when" in node:
        check_guard(where, node["when"])
        if node["when"] == "else":
            raise Refused(f"{where}: else belongs to the branches of conditional; say a guard")
    if "optional" in node:
        flag(where, node["optional"], members)
    if "takes" in node:
        one_of(*_TAKES)(where, node["takes"], members)
