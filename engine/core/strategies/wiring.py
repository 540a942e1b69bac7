"""What a coordination strategy is: a way to wire the nodes of one graph, and to go on when it has looked at outputs.

A strategy never sees a request. It is given the nodes that are done, that are at work and that have not started, and
says what each of the last waits for. Planning from nothing is the case where all have not started; switching in the
middle of a run is the same function on what is there. Nodes that it wants besides have keys that begin with `+`, which
become ids once the wiring was checked. What depends on outputs is asked by a check, a built-in node whose verdict comes
back to `grow`. See docs/semantics/coordination.md.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

from msgspec import field

from engine.core.check import Check, Joining, Takes
from engine.core.records import JsonValue, fact
from engine.core.spec import Aggregation

JOIN = "+join"
"""The key of the node that joins results."""
Settings: TypeAlias = Mapping[str, JsonValue]


@fact
class Nodes:
    """The nodes of a graph by what became of them, each in the order of the plan."""

    done: list[str] = field(default_factory=list)
    """Ended with an output that others may use."""
    ends: list[str] = field(default_factory=list)
    """Those of them that no other of them followed: a node after these gets the outputs of all."""
    used: list[str] = field(default_factory=list)
    """Those of them that a running node came after, so that its output rests on theirs."""
    running: list[str] = field(default_factory=list)
    stopping: frozenset[str] = frozenset()
    """Those of them that are being stopped; what they have said so far is context."""
    asked: frozenset[str] = frozenset()
    """Done and running ones that were delegations: they answer what a member had asked for, and not the request."""
    unstarted: list[str] = field(default_factory=list)
    aggregation: Aggregation = "concat"
    aggregator: str | None = None
    """The unstarted node of the agent that makes a synthesis, if there is to be one."""
    members: Mapping[str, str] = field(default_factory=dict)
    """Whose each node is, by the name of the member; nothing for a node that any able member may take."""
    cast: Sequence[str] = ()
    """Names of the members that take part, in order."""
    groups: frozenset[str] = frozenset()
    """Those of them that are supervisors."""
    settings: Settings = field(default_factory=dict)
    lead: str | None = None
    roles: Mapping[str, str] = field(default_factory=dict)
    """What the strategy itself has said that nodes are for; only while it grows."""
    after: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """What each node waits for; only while it grows."""

    def left(self, names: Sequence[str]) -> list[str]:
        """Return those of `names` who are still members, only while it grows."""
        return [one for one in names if one in self.cast]

    def gone(self, names: Sequence[str]) -> str:
        """Return in words which of `names` are members no more, and what to do about it; nothing where all are."""
        gone = [one for one in dict.fromkeys(names) if one not in self.cast]
        add, are = ("it", "is no longer a member") if len(gone) == 1 else ("them", "are no longer members")
        return f"{', '.join(gone)} {are}; add {add} and submit the request again" if gone else ""


@fact
class Made:
    """A node that a strategy adds."""

    key: str
    """Stands for its id in the wiring; begins with `+`."""
    kind: Literal["work", "join", "check"] = "work"
    member: str | None = None
    """Whose work it is, by name."""
    able: str | None = None
    """Or the capability that the agent has to have."""
    anyone: tuple[str, ...] = ()
    """Or names of members, of whom the first free one does it."""
    title: str = ""
    """What a person reads; of work, the name of the member where it is empty."""
    join: Joining | None = None
    check: Check | None = None
    item: int | None = None
    """Which item of the list that was looked at is its text."""


@fact
class Wiring:
    """What each unstarted node waits for and takes as its text."""

    after: dict[str, list[str]] = field(default_factory=dict)
    takes: dict[str, Takes] = field(default_factory=dict)
    sees: dict[str, list[str]] = field(default_factory=dict)
    """Whose outputs a node gets, where that is not everything before it."""
    roles: dict[str, str] = field(default_factory=dict)
    """What nodes are for, in the strategy's own words, for `grow` to find them by."""
    needs: dict[str, int] = field(default_factory=dict)
    """How many have to be done of those that a node waits for; the rest are stopped then."""
    tolerated: list[str] = field(default_factory=list)
    """Nodes whose failure does not stop the graph."""
    added: list[Made] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    """Unstarted nodes that have no place."""
    settings: dict[str, JsonValue] = field(default_factory=dict)
    """The settings with what was left open filled in; kept with the graph."""
    outcome: str | None = None
    """The node whose output is the graph's."""


@fact
class Verdict:
    """What a check found."""

    node: str
    role: str
    """Of the check."""
    said: Mapping[str, JsonValue]


@fact
class Growth:
    """How a graph goes on after a check."""

    wiring: Wiring = field(default_factory=Wiring)
    """Nodes that are added, and edges that are drawn anew; an outcome of None stays as it was."""
    skipped: list[str] = field(default_factory=list)
    """Nodes of ways that are not taken; those that come after nothing else follow by themselves."""
    failed: str | None = None
    """Why the graph cannot come to a good end, if so."""
    why: str = ""
    """In words, for a person."""


class Strategy(Protocol):
    """A way to coordinate the members of a supervisor."""

    @property
    def name(self) -> str:
        """What team files and commands call it."""
        ...

    @property
    def about(self) -> str:
        """What it does, in one line for a person."""
        ...

    def check(self, settings: Settings, members: Sequence[str]) -> None:
        """Return when `settings` are right.

        Args:
            settings: What a person wrote.
            members: Names of those who could be named; empty where they are not known yet.

        Raises:
            Refused: If they are not, with the first thing that is wrong.
        """
        ...

    def wire(self, nodes: Nodes) -> Wiring:
        """Return the edges for every unstarted node that has a place."""
        ...

    def grow(self, nodes: Nodes, verdict: Verdict) -> Growth:
        """Return how the graph goes on after one of its checks."""
        ...
