"""Builds a wiring by the names of members: reuse a member's begun node, else place its unstarted one, else add one.

Invariant: done and running nodes never get edges. At the end, unused nodes are dropped if unstarted; the outputs of the
others become context of the nodes that begin first.
"""

from collections.abc import Iterable, Sequence

from engine.core.records.records import copy_with
from engine.core.specs.check import Check, Joining, Takes
from engine.core.strategies.wiring import Made, Nodes, Settings, Wiring


class Layout:
    """Collects a wiring over the nodes of a graph.

    Args:
        settings: Stored with the graph, defaults filled in.
        anew: Add a node for all work instead of reusing existing ones; used by `grow`.
    """

    def __init__(self, nodes: Nodes, settings: Settings | None = None, *, anew: bool = False) -> None:
        self.nodes = nodes
        self.wiring = Wiring(settings=dict(settings or {}))
        self._added_count = 0
        self._anew = anew
        self._waiting: dict[str, list[str]] = {}
        self._begun_nodes: dict[str, str] = {}
        self._placed: set[str] = set()
        if not anew:
            for node in nodes.unstarted:
                self._waiting.setdefault(nodes.members.get(node, ""), []).append(node)
            for node in (*nodes.done, *nodes.running):
                member = nodes.members.get(node, "")
                # What a member has done counts, also where a later turn of it is being stopped.
                is_stopped_turn = node in nodes.stopping and member in self._begun_nodes
                if node not in nodes.asked and not is_stopped_turn:
                    self._begun_nodes[member] = node

    def work(
        self,
        member: str,
        after: Iterable[str] = (),
        *,
        takes: Takes = "request",
        sees: Sequence[str] | None = None,
        role: str = "",
        title: str = "",
    ) -> str:
        """Return the node of a member, placed after `after` unless it has begun.

        A node that is being stopped has no result: its output is context, and its work is done again.
        """
        # Popped, because a member may stand in the plan twice: its begun node fills the first place only.
        begun = self._begun_nodes.pop(member, None) if member else None
        if begun is not None and begun not in self.nodes.stopping:
            self._placed.add(begun)
            if role:
                self.wiring.roles[begun] = role
            return begun
        waiting = self._waiting.get(member)
        node = waiting.pop(0) if waiting else self._new(Made(key=self._key(), member=member, title=title))
        return self._edges(node, after, takes, sees, role)

    def has_begun(self, member: str) -> bool:
        """Return True when a node of the member has begun and is not placed yet."""
        return member in self._begun_nodes and self._begun_nodes[member] not in self.nodes.stopping

    def is_open(self, node: str) -> bool:
        """Return True when no begun node came after `node`, so that the next node can build on its output."""
        nodes = self.nodes
        return node in self.wiring.after or node in nodes.running or (node in nodes.ends and node not in nodes.used)

    def chain(self, members: Iterable[str]) -> list[str]:
        """Place members one after the other; return the last nodes: several if several had begun already."""
        before: list[str] = []
        for member in members:
            takes: Takes = "request" if not before else "previous" if len(before) == 1 else "context"
            node = self.work(member, before, takes=takes)
            if node in self.wiring.after:
                before = [node]
            elif self.is_open(node):
                before = [*before, node]
        return before

    def own(self, *, item: int, able: str | None, anyone: Sequence[str], after: Iterable[str], title: str) -> str:
        """Return a new node for one item of a list."""
        node = Made(key=self._key(), able=able, anyone=tuple(anyone), title=title, item=item)
        return self._edges(self._new(node), after, "own", None, "item")

    def check(self, what: Check, after: Iterable[str], *, sees: Sequence[str], title: str, role: str) -> str:
        """Return a new check of the outputs of `sees`, or of the request if that is empty."""
        node = Made(key=self._key(), kind="check", check=what, title=title)
        return self._edges(self._new(node), after, "context", sees, role)

    def join(self, how: Joining, after: Sequence[str], *, sees: Sequence[str], role: str = "") -> str:
        """Return a new node that joins the outputs of `sees`."""
        node = Made(key=self._key(), kind="join", join=how, title=f"join ({how})")
        return self._edges(self._new(node), after, "context", sees, role)

    def finished(self, outcome: str | None) -> Wiring:
        """Return the wiring; unused nodes are dropped, or become context of the nodes that begin first."""
        wiring, nodes = self.wiring, self.nodes
        wiring.dropped.extend(node for waiting in self._waiting.values() for node in waiting)
        if not self._anew:
            self._pass_on_unused()
        if outcome is None and not self._anew:
            outcome = next(iter((*nodes.running[-1:], *nodes.done[-1:])), None)
        return copy_with(wiring, outcome=outcome)

    def _pass_on_unused(self) -> None:
        """Give the outputs of begun nodes that were not placed to the nodes that begin first."""
        wiring, nodes = self.wiring, self.nodes
        extra = [node for node in nodes.ends if node not in self._placed and node not in nodes.used]
        extra += [node for node in nodes.running if node not in self._placed]
        for node in self._first_to_begin() if extra else ():
            wiring.takes[node] = "context"
            for lists in (wiring.after, wiring.sees):
                if node in lists:
                    lists[node].extend(source for source in extra if source not in lists[node])

    def _first_to_begin(self) -> list[str]:
        """Return the work nodes whose predecessors have all begun, looking through checks."""
        after = self.wiring.after
        kinds = {added.key: added.kind for added in self.wiring.added}

        def is_first(node: str) -> bool:
            return all(
                predecessor not in after or (kinds.get(predecessor) == "check" and is_first(predecessor))
                for predecessor in after[node]
            )

        works = [node for node in after if kinds.get(node, "work") == "work" and self.wiring.takes[node] != "own"]
        return [node for node in works if is_first(node)]

    def _edges(self, node: str, after: Iterable[str], takes: Takes, sees: Sequence[str] | None, role: str) -> str:
        self._placed.add(node)
        wiring = self.wiring
        wiring.after[node] = list(dict.fromkeys(after))
        wiring.takes[node] = takes
        if sees is not None:
            wiring.sees[node] = list(dict.fromkeys(sees))
        if role:
            wiring.roles[node] = role
        return node

    def _new(self, node: Made) -> str:
        self.wiring.added.append(node)
        return node.key

    def _key(self) -> str:
        self._added_count += 1
        return f"+{self._added_count}"
