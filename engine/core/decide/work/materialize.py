"""Turns the wiring of a strategy into nodes with ids: their members, their queues, and the outputs that they see."""

from collections.abc import Callable, Mapping

from msgspec import field

from engine.core.decisions.outcomes import Mint
from engine.core.discovery.nearest import nearest
from engine.core.errors import Refused, did_you_mean
from engine.core.events import NodePlan, QueueMade
from engine.core.policies.failure_chains import chain_of_agent
from engine.core.queries.targets import member_name
from engine.core.queries.team.participants import members_in
from engine.core.queries.work.placement import TaskPlace, place_for
from engine.core.queries.work.queues import NAMED_MEMBERS_PREFIX, able_queue, shared_queue, takers
from engine.core.records.records import copy_with, fact
from engine.core.records.values import StoredValue
from engine.core.specs.failure_policies import is_optional
from engine.core.state import State, Supervisor
from engine.core.strategies import strategy_named
from engine.core.strategies.validation import validate
from engine.core.strategies.wiring import Growth, Made, Nodes, Verdict, Wiring

ItemOf = Callable[[int], StoredValue]


@fact
class GraphPlan:
    """The nodes of a wiring, with ids."""

    nodes: list[NodePlan]
    ids: dict[str, str]
    """Ids by the keys of the wiring."""
    queues: list[QueueMade] = field(default_factory=list)

    def id_of(self, key: str) -> str:
        """Return the id of a key; ids map to themselves."""
        return self.ids.get(key, key)

    def ids_of(self, keys: list[str]) -> list[str]:
        """Return the ids of keys."""
        ids = self.ids
        return keys if ids.keys().isdisjoint(keys) else [ids.get(key, key) for key in keys]


def wire(name: str, nodes: Nodes) -> Wiring:
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


def grow(name: str, nodes: Nodes, verdict: Verdict) -> Growth:
    """Return the validated growth of a graph after a verdict; raises Refused as `wire`."""
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


def materialize(
    state: State,
    supervisor: Supervisor,
    wiring: Wiring,
    member_ids: Mapping[str, str],
    mint: Mint,
    *,
    item_of: ItemOf | None = None,
    former_names: Mapping[str, str] | None = None,
) -> GraphPlan:
    """Return the nodes that a wiring adds.

    Args:
        supervisor: Whose graph it is.
        wiring: A validated wiring.
        member_ids: Members of unstarted nodes without an id, by the keys of the nodes.
        mint: Source of new ids.
        item_of: Returns an item of the checked list by its number.
        former_names: Ids of renamed members, by the names that the wiring may still use.

    Raises:
        Refused: If a member is named that does not exist.
    """
    places = _Places(state, supervisor, former_names or {})
    dropped = set(wiring.dropped)
    plans = {key: node_plan(state, mint("t"), member_id) for key, member_id in member_ids.items() if key not in dropped}
    items: dict[str, StoredValue] = {}
    for node in wiring.added:
        plans[node.key] = _plan_node(state, supervisor, node, mint("t"), places)
        if item_of is not None and node.item is not None:
            items[node.key] = item_of(node.item)
    result = GraphPlan(nodes=[], ids={key: plan.task_id for key, plan in plans.items()}, queues=places.new_queues)
    tolerated = set(wiring.tolerated)
    for key, plan in plans.items():
        result.nodes.append(
            copy_with(
                plan,
                after=result.ids_of(wiring.after.get(key, [])),
                takes=wiring.takes.get(key, plan.takes),
                role=wiring.roles.get(key, ""),
                sees=result.ids_of(wiring.sees[key]) if key in wiring.sees else None,
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
        team = state.supervisors[member_id]
        return NodePlan(task_id=task_id, kind="group", title=team.name, worker_id=team.id, supervisor_id=team.id)
    return NodePlan(
        task_id=task_id,
        kind="agent",
        title=agent.name,
        worker_id=agent.id,
        supervisor_id=agent.supervisor_id,
        optional=is_optional(chain_of_agent(state, agent)),
    )


def _plan_node(state: State, supervisor: Supervisor, node: Made, task_id: str, places: "_Places") -> NodePlan:
    if node.kind != "work":
        return NodePlan(
            task_id=task_id,
            kind=node.kind,
            title=node.title or node.kind,
            worker_id=None,
            supervisor_id=supervisor.id,
            join=node.join,
            check=node.check,
        )
    if node.member is None:
        return places.plan_shared_node(task_id, node)
    plan = node_plan(state, task_id, places.member(node.member))
    return copy_with(plan, title=node.title) if node.title else plan


class _Places:
    """Places for nodes that a strategy requests by name, by capability, or from several named members."""

    def __init__(self, state: State, supervisor: Supervisor, former_names: Mapping[str, str]) -> None:
        self._state = state
        self._supervisor = supervisor
        self._former_names = former_names
        self._ids: dict[str, str] | None = None
        self._queues: dict[tuple[str, ...], str] = {}
        self._places: dict[str, TaskPlace] = {}
        self.new_queues: list[QueueMade] = []

    @property
    def _members(self) -> dict[str, str]:
        """Ids by name; built on the first request by name."""
        if self._ids is None:
            state = self._state
            member_ids = members_in(state, self._supervisor)
            self._ids = {member_name(state, member_id): member_id for member_id in member_ids}
            former_names = self._former_names.items()
            self._ids |= {name: member_id for name, member_id in former_names if member_id in member_ids}
        return self._ids

    def member(self, name: str) -> str:
        """Return the id of a member."""
        if name not in self._members:
            hint = did_you_mean(nearest(name, self._members, 1), "add it first")
            raise Refused(f"supervisor {self._supervisor.name!r} has no member {name!r}; {hint}")
        return self._members[name]

    def plan_shared_node(self, task_id: str, node: Made) -> NodePlan:
        """Return a node that the first free of several members takes."""
        if node.able is not None:
            place = self._place_for(node.able)
            if place.worker_id is not None:
                return copy_with(node_plan(self._state, task_id, place.worker_id), title=node.title)
            queue, supervisor_id = place.queue, place.supervisor_id
        elif len(node.anyone) == 1:
            return copy_with(node_plan(self._state, task_id, self.member(node.anyone[0])), title=node.title)
        else:
            queue, supervisor_id = self._queue_of(node.anyone), self._supervisor.id
        return NodePlan(
            task_id=task_id, kind="agent", title=node.title, worker_id=None, supervisor_id=supervisor_id, queue=queue
        )

    def _place_for(self, target: str) -> TaskPlace:
        """Return the place for a name or capability, searched from the supervisor outwards."""
        if target in self._former_names and self._former_names[target] in self._members.values():
            target = member_name(self._state, self._former_names[target])
        if target not in self._places:
            self._places[target] = place_for(self._state, self._supervisor, target, asker=None)
            new_queue = self._places[target].queue_event
            if new_queue is not None:
                self.new_queues.append(new_queue)
        return self._places[target]

    def _queue_of(self, names: tuple[str, ...]) -> str:
        """Return the key of the queue shared by several named members; agents serve it on behalf of their teams."""
        if names not in self._queues:
            members = [self.member(name) for name in names]
            current_names = ", ".join(member_name(self._state, member_id) for member_id in members)
            capability = f"{NAMED_MEMBERS_PREFIX}{current_names}"
            has_teams = any(member_id in self._state.supervisors for member_id in members)
            team_key = shared_queue(self._supervisor.id, 0, capability)
            key = self._queues[names] = team_key if has_teams else able_queue(self._supervisor.id, capability)
            serving = self._state.queues[key].agents if key in self._state.queues else []
            able_ids = (agent_id for member in members for agent_id in takers(self._state, member))
            agents = [agent_id for agent_id in able_ids if agent_id not in serving]
            if agents:
                self.new_queues.append(
                    QueueMade(key=key, supervisor_id=self._supervisor.id, capability=capability, agent_ids=agents)
                )
        return self._queues[names]
