"""The interface of coordination strategies: wire the nodes of one graph, and extend it after a check.

A strategy never sees a request. It gets the done, running and unstarted nodes, and returns the edges of the unstarted
ones. For a new graph all nodes are unstarted; switching the strategy in the middle of a run calls the same function.
Nodes that a strategy adds have keys that begin with `+`, which become ids once the wiring was validated. A decision
that depends on outputs is made by a check, a built-in node whose verdict is passed to `grow`.
See docs/semantics/coordination.md.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

from msgspec import field

from engine.core.records.records import JsonValue, fact
from engine.core.specs.check import Check, Joining, Takes
from engine.core.specs.spec import Aggregation

JOIN = "+join"
"""The key of the node that joins results."""
Settings: TypeAlias = Mapping[str, JsonValue]


@fact
class Nodes:
    """The nodes of a graph by their status, each list in the order of the plan."""

    done: list[str] = field(default_factory=list)
    """Nodes with an output that other nodes may use."""
    ends: list[str] = field(default_factory=list)
    """Done nodes without a done successor: a node after all of these gets every output so far."""
    used: list[str] = field(default_factory=list)
    """Done nodes that a running node came after: its output builds on theirs."""
    running: list[str] = field(default_factory=list)
    stopping: frozenset[str] = frozenset()
    """Running nodes that are being stopped; their output so far is context."""
    asked: frozenset[str] = frozenset()
    """Done and running nodes of delegations: they answer a question of a member, not the request."""
    unstarted: list[str] = field(default_factory=list)
    aggregation: Aggregation = "concat"
    aggregator: str | None = None
    """The unstarted node of the agent that makes the synthesis, if the aggregation is one."""
    members: Mapping[str, str] = field(default_factory=dict)
    """Name of the member that does each node; a node that any able member may take is missing or empty."""
    cast: Sequence[str] = ()
    """Names of the participating members, in order."""
    groups: frozenset[str] = frozenset()
    """Nodes that are the work of a supervisor."""
    settings: Settings = field(default_factory=dict)
    lead: str | None = None
    roles: Mapping[str, str] = field(default_factory=dict)
    """Roles that the strategy gave to nodes before; only for `grow`."""
    after: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """What each node waits for; only for `grow`."""

    def left(self, names: Sequence[str]) -> list[str]:
        """Return those of `names` that are still members; only for `grow`."""
        return [name for name in names if name in self.cast]

    def gone(self, names: Sequence[str]) -> str:
        """Return a message about the `names` that are no longer members; empty if all still are."""
        missing = [name for name in dict.fromkeys(names) if name not in self.cast]
        add, are = ("it", "is no longer a member") if len(missing) == 1 else ("them", "are no longer members")
        return f"{', '.join(missing)} {are}; add {add} and submit the request again" if missing else ""


@fact
class Made:
    """A node that a strategy adds."""

    key: str
    """Stands for the node's id in the wiring; begins with `+`."""
    kind: Literal["work", "join", "check"] = "work"
    member: str | None = None
    """Name of the member that does the work."""
    able: str | None = None
    """Or the capability that the agent must have."""
    anyone: tuple[str, ...] = ()
    """Or names of members: the first free one does it."""
    title: str = ""
    """Shown to people; for work it defaults to the name of the member."""
    join: Joining | None = None
    check: Check | None = None
    item: int | None = None
    """Index of the item of the checked list that becomes the node's text."""


@fact
class Wiring:
    """The edges of every unstarted node, and what it takes as its text."""

    after: dict[str, list[str]] = field(default_factory=dict)
    takes: dict[str, Takes] = field(default_factory=dict)
    sees: dict[str, list[str]] = field(default_factory=dict)
    """Nodes whose outputs a node gets, if not those of all its predecessors."""
    roles: dict[str, str] = field(default_factory=dict)
    """A label per node, private to the strategy, by which `grow` finds it again."""
    needs: dict[str, int] = field(default_factory=dict)
    """How many predecessors of a node must be done; the others are then stopped."""
    tolerated: list[str] = field(default_factory=list)
    """Nodes whose failure does not stop the graph."""
    added: list[Made] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    """Unstarted nodes that the wiring does not use."""
    settings: dict[str, JsonValue] = field(default_factory=dict)
    """The settings with defaults filled in; stored with the graph."""
    outcome: str | None = None
    """The node whose output is the output of the graph."""


@fact
class Verdict:
    """The result of a check."""

    node: str
    role: str
    """Role of the check's node."""
    said: Mapping[str, JsonValue]


@fact
class Growth:
    """How a graph is extended after a check."""

    wiring: Wiring = field(default_factory=Wiring)
    """Added nodes and changed edges; an outcome of None leaves the outcome as it is."""
    skipped: list[str] = field(default_factory=list)
    """Nodes of branches that are not taken; nodes that only come after these are skipped with them."""
    failed: str | None = None
    """Why the graph fails, if it does."""
    why: str = ""
    """The reason, shown to people."""


class Strategy(Protocol):
    """A way to coordinate the members of a supervisor."""

    @property
    def name(self) -> str:
        """Its name in team files and commands."""
        ...

    @property
    def about(self) -> str:
        """What it does, in one line."""
        ...

    @property
    def is_sparse(self) -> bool:
        """True where it may leave members out: who has no node gets one when the run is switched to another strategy.

        A strategy without this attribute counts as sparse.
        """
        return True

    def check(self, settings: Settings, members: Sequence[str]) -> None:
        """Check the settings that a person wrote.

        Args:
            settings: As written.
            members: Names that the settings may refer to; empty while the members are unknown.

        Raises:
            Refused: At the first fault.
        """
        ...

    def wire(self, nodes: Nodes) -> Wiring:
        """Return the edges of every unstarted node that the strategy uses."""
        ...

    def grow(self, nodes: Nodes, verdict: Verdict) -> Growth:
        """Return how the graph is extended after one of its checks."""
        ...
