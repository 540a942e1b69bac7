"""The network of a team as a graph: supervisors, their members, and the flow of work."""

from collections.abc import Mapping

from dashboard.views.graph.model import Edge, Graph, Node
from dashboard.views.graph.nodes import Share, Sight, began_ms, idle_node, member_node, supervisor_node
from engine.core.queries.team.tree import agents_of
from engine.core.state import Agent, State, Supervisor

MIN_FOLDED = 2
"""Minimum resting members of a supervisor that are folded into one box."""
MAX_LAYERS = 3
"""Maximum layers of agents in a usual team, whose members delegate to each other."""


def hand_overs(state: State) -> dict[tuple[str, str], int]:
    """Return the time of the last hand-over in open runs, by the ids of giver and receiver."""
    tasks, agents = state.tasks, state.agents
    last_ms: dict[tuple[str, str], int] = {}
    for task in tasks.values():
        began = began_ms(task)
        if began is None:
            continue
        worker = task.agent_id if task.agent_id in agents else task.worker_id
        if worker is None:
            continue
        asker_id = task.asker_id
        asker = tasks.get(asker_id) if asker_id is not None else None
        source = task.supervisor_id if asker is None else asker.agent_id or asker.supervisor_id
        # The group of a supervisor inside that of another one.
        if asker is None and worker == source and task.parent_id in tasks:
            source = tasks[task.parent_id].supervisor_id
        if source != worker and last_ms.get((source, worker), -1) < began:
            last_ms[source, worker] = began
    return last_ms


def is_crowded(sight: Sight, below: str | None, lines: int) -> bool:
    """Return whether too many agents are at work to fit into `lines`.

    A check before any box is made: boxes of a thousand agents take longer than everything else on the screen.
    """
    state = sight.state
    agents = state.agents.values() if below is None else agents_of(state, below)
    return sum(not sight.is_at_rest(agent) for agent in agents) > MAX_LAYERS * max(1, lines)


def team_graph(
    sight: Sight,
    flows: Mapping[tuple[str, str], int],
    *,
    below: str | None = None,
    opened: str | None = None,
    folded: bool = False,
) -> Graph:
    """Return the network of the team, or of what is below a supervisor.

    Args:
        flows: Time of the last hand-over by the ids of giver and receiver.
        below: The supervisor to begin with; by default all roots.
        opened: A supervisor whose members are shown although `folded`.
        folded: Whether supervisors are drawn without their members, because there are too many.
    """
    state = sight.state
    nodes: dict[str, Node] = {}
    edges: dict[tuple[str, str], int | None] = {}
    names: list[str] = []
    begin = [state.supervisors[below]] if below in state.supervisors else state.roots

    def add(supervisor: Supervisor) -> None:
        nodes[supervisor.id] = supervisor_node(sight, supervisor)
        shut = folded and opened != supervisor.id
        members = set() if shut else {member_id for member_id in supervisor.members if member_id in state.agents}
        resting = {member_id for member_id in members if sight.is_at_rest(state.agents[member_id])}
        fold = resting if len(resting) >= MIN_FOLDED and not sight.idle else set()
        for member in supervisor.members:
            if (lower := state.supervisors.get(member)) is not None:
                edges[supervisor.id, member] = flows.get((supervisor.id, member), _long_ago_ms(lower))
                add(lower)
            elif member in members and member not in fold:
                agent = state.agents[member]
                nodes[member] = member_node(sight, agent, Share())
        if fold:
            node = idle_node(supervisor.id, len(fold), opens=supervisor.id)
            nodes[node.id] = node
            last = (flows.get((supervisor.id, member_id), _long_ago_ms(state.agents[member_id])) for member_id in fold)
            edges[supervisor.id, node.id] = max((at for at in last if at is not None), default=None)
            names.extend(state.agents[member_id].name for member_id in supervisor.members if member_id in fold)

    for root in begin:
        add(root)
    edges |= _agent_edges(state, nodes, flows)
    return Graph(
        title=f"TEAM {', '.join(supervisor.name for supervisor in begin)}",
        nodes=tuple(nodes.values()),
        edges=tuple(Edge(*ends, at_ms) for ends, at_ms in edges.items()),
        folded=tuple(names),
        empty=("no team here yet", "start one with:  quarterdeck up TEAM   or look at:  quarterdeck demo"),
    )


def _agent_edges(
    state: State, nodes: Mapping[str, Node], flows: Mapping[tuple[str, str], int]
) -> dict[tuple[str, str], int | None]:
    """Return the edges to agents: from agents that delegate to them, else from their supervisor."""
    place = {key: at for at, key in enumerate(nodes)}
    edges: dict[tuple[str, str], int | None] = {}
    led = set[str]()
    for (source, target), at_ms in flows.items():
        both_ways = (target, source) in flows and place.get(source, 0) > place.get(target, 0)
        if source in state.agents and target in state.agents and source in nodes and target in nodes and not both_ways:
            edges[source, target] = at_ms
            led.add(target)
    for key in nodes:
        agent = state.agents.get(key)
        if agent is not None and key not in led:
            edges[agent.supervisor_id, key] = flows.get((agent.supervisor_id, key), _long_ago_ms(agent))
    return edges


def _long_ago_ms(member: Agent | Supervisor) -> int | None:
    """Return a time long ago for a member that has worked, because the time of its last hand-over is unknown."""
    return 0 if member.begun else None
