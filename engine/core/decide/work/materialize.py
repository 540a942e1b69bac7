"""Turns the wiring of a strategy into nodes with ids: their members, their queues, and the outputs that they see."""

from collections.abc import Callable, Mapping

from msgspec import field

from engine.core.decisions.outcomes import Mint
from engine.core.discovery.nearest import nearest
from engine.core.errors import Refused
from engine.core.events import NodePlan, QueueMade
from engine.core.policies.rules import chain_of_agent
from engine.core.queries.targets import member_name
from engine.core.queries.team.participants import members_in
from engine.core.queries.work.placement import Place, place_for
from engine.core.queries.work.queues import FEW, able_queue, shared_queue, takers
from engine.core.records.records import changed, fact
from engine.core.records.values import StoredValue
from engine.core.specs.failure_policies import is_optional
from engine.core.state import State, Supervisor
from engine.core.strategies import strategy_named
from engine.core.strategies.validation import validate
from engine.core.strategies.wiring import Growth, Made, Nodes, Verdict, Wiring

ItemOf = Callable[[int], StoredValue]


@fact
class Drawn:
    """The nodes of a wiring, with ids."""

    nodes: list[NodePlan]
    ids: dict[str, str]
    """Ids by the keys of the wiring."""
    queues: list[QueueMade] = field(default_factory=list)

    def of(self, key: str) -> str:
        """Return the id of a key; ids map to themselves."""
        return self.ids.get(key, key)

    def all(self, keys: list[str]) -> list[str]:
        """Return the ids of keys."""
        ids = self.ids
        return keys if ids.keys().isdisjoint(keys) else [ids.get(key, key) for key in keys]


def wired(name: str, nodes: Nodes) -> Wiring:
    """Return the validated wiring of a strategy for `nodes`.

    Raises:
        Refused: If the wiring is invalid, or the strategy raises: it may come from another package.
    """
    try:
        wiring = strategy_named(name).wire(nodes)
    except Refused:
        raise
    except Exception as error:
        raise Refused(f"the strategy {name} failed: {type(error).__name__}: {error}") from error
    validate(name, wiring, nodes)
    return wiring


def grown(name: str, nodes: Nodes, verdict: Verdict) -> Growth:
    """Return the validated growth of a graph after a verdict.

    Raises:
        Refused: If the growth is invalid, or the strategy raises.
    """
    try:
        growth = strategy_named(name).grow(nodes, verdict)
    except Refused:
        raise
    except Exception as error:
        raise Refused(f"the strategy {name} failed: {type(error).__name__}: {error}") from error
    validate(name, growth.wiring, nodes, [verdict.node], whole=False)
    if not set(growth.skipped) <= set(nodes.unstarted):
        raise Refused(f"the strategy {name} leaves out work that has begun")
    return growth


def drawn(
    state: State,
    supervisor: Supervisor,
    wiring: Wiring,
    wanted: Mapping[str, str],
    mint: Mint,
    *,
    item_of: ItemOf | None = None,
    called: Mapping[str, str] | None = None,
) -> Drawn:
    """Return the nodes that a wiring adds.

    Args:
        supervisor: Whose graph it is.
        wiring: A validated wiring.
        wanted: Members of unstarted nodes without an id, by the keys of the nodes.
        mint: Source of new ids.
        item_of: Returns an item of the checked list by its number.
        called: Ids of renamed members, by the former names that the wiring may still use.

    Raises:
        Refused: If a member is named that does not exist.
    """
    places = _Places(state, supervisor, called or {})
    dropped = set(wiring.dropped)
    plans = {key: node_plan(state, mint("t"), one) for key, one in wanted.items() if key not in dropped}
    items: dict[str, StoredValue] = {}
    for made in wiring.added:
        plans[made.key] = _made(state, supervisor, made, mint("t"), places)
        if item_of is not None and made.item is not None:
            items[made.key] = item_of(made.item)
    result = Drawn(nodes=[], ids={key: plan.task_id for key, plan in plans.items()}, queues=places.made)
    tolerated = set(wiring.tolerated)
    for key, plan in plans.items():
        result.nodes.append(
            changed(
                plan,
                after=result.all(wiring.after.get(key, [])),
                takes=wiring.takes.get(key, plan.takes),
                role=wiring.roles.get(key, ""),
                sees=result.all(wiring.sees[key]) if key in wiring.sees else None,
                need=wiring.needs.get(key),
                tolerated=key in tolerated,
                input=items.get(key),
            )
        )
    return result


def node_plan(state: State, task_id: str, member_id: str) -> NodePlan:
    """Return the node of one member, without its edges."""
    agent = state.agents.get(member_id)
    if agent is None:
        below = state.supervisors[member_id]
        return NodePlan(task_id=task_id, kind="group", title=below.name, worker_id=below.id, supervisor_id=below.id)
    return NodePlan(
        task_id=task_id,
        kind="agent",
        title=agent.name,
        worker_id=agent.id,
        supervisor_id=agent.supervisor_id,
        optional=is_optional(chain_of_agent(state, agent)),
    )


def _made(state: State, supervisor: Supervisor, made: Made, task_id: str, places: "_Places") -> NodePlan:
    if made.kind != "work":
        return NodePlan(
            task_id=task_id,
            kind=made.kind,
            title=made.title or made.kind,
            worker_id=None,
            supervisor_id=supervisor.id,
            join=made.join,
            check=made.check,
        )
    if made.member is None:
        return places.anybody(task_id, made)
    plan = node_plan(state, task_id, places.member(made.member))
    return changed(plan, title=made.title) if made.title else plan


class _Places:
    """Places for nodes that a strategy requests by name, by capability, or from several named members."""

    def __init__(self, state: State, supervisor: Supervisor, called: Mapping[str, str]) -> None:
        self._state = state
        self._supervisor = supervisor
        self._called = called
        self._known: dict[str, str] | None = None
        self._queues: dict[tuple[str, ...], str] = {}
        self._places: dict[str, Place] = {}
        self.made: list[QueueMade] = []

    @property
    def _members(self) -> dict[str, str]:
        """Ids by name; built on the first request by name."""
        if self._known is None:
            state = self._state
            there = members_in(state, self._supervisor)
            self._known = {member_name(state, one): one for one in there}
            self._known |= {name: one for name, one in self._called.items() if one in there}
        return self._known

    def member(self, name: str) -> str:
        """Return the id of a member."""
        if name not in self._members:
            near = nearest(name, self._members)
            hint = f"did you mean {near[0]}?" if near else "add it first"
            raise Refused(f"supervisor {self._supervisor.name!r} has no member {name!r}; {hint}")
        return self._members[name]

    def anybody(self, task_id: str, made: Made) -> NodePlan:
        """Return a node that the first free of several members takes."""
        if made.able is not None:
            place = self._placed(made.able)
            if place.worker_id is not None:
                return changed(node_plan(self._state, task_id, place.worker_id), title=made.title)
            queue, supervisor_id = place.queue, place.supervisor_id
        elif len(made.anyone) == 1:
            return changed(node_plan(self._state, task_id, self.member(made.anyone[0])), title=made.title)
        else:
            queue, supervisor_id = self._queue_of(made.anyone), self._supervisor.id
        return NodePlan(
            task_id=task_id,
            kind="agent",
            title=made.title,
            worker_id=None,
            supervisor_id=supervisor_id,
            queue=queue,
        )

    def _placed(self, target: str) -> Place:
        """Return the place for a name or capability, searched from the supervisor outwards."""
        if target in self._called and self._called[target] in self._members.values():
            target = member_name(self._state, self._called[target])
        if target not in self._places:
            self._places[target] = place_for(self._state, self._supervisor, target, asker=None)
            made = self._places[target].made
            if made is not None:
                self.made.append(made)
        return self._places[target]

    def _queue_of(self, names: tuple[str, ...]) -> str:
        """Return the queue shared by several named members; agents serve it on behalf of their teams."""
        if names not in self._queues:
            members = [self.member(name) for name in names]
            capability = f"{FEW}{', '.join(member_name(self._state, one) for one in members)}"
            has_teams = any(one in self._state.supervisors for one in members)
            of_teams = shared_queue(self._supervisor.id, 0, capability)
            key = self._queues[names] = of_teams if has_teams else able_queue(self._supervisor.id, capability)
            known = self._state.queues[key].agents if key in self._state.queues else []
            agents = [one for member in members for one in takers(self._state, member) if one not in known]
            if agents:
                self.made.append(
                    QueueMade(key=key, supervisor_id=self._supervisor.id, capability=capability, agent_ids=agents)
                )
        return self._queues[names]
