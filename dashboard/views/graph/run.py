"""The execution graph of a run: planned tasks in their order, and the workers of tasks that delegate."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from dashboard.views.facts.agent import MIN_SHOWN_MS
from dashboard.views.graph.model import Edge, Graph, Node
from dashboard.views.graph.nodes import (
    IDLE_PREFIX,
    Share,
    Sight,
    began_ms,
    idle_node,
    member_node,
    supervisor_node,
    work_node,
)
from engine.core.queries.team.tree import lineage_of, supervisors_from
from engine.core.queries.work.plans import plans_of
from engine.core.state import Run, State, Task, TaskStatus

MIN_FOLDED = 2
"""Minimum resting workers of a lead that are folded into one box."""
MAX_WORKERS = 100
"""Maximum workers of a lead that are drawn; more are merged into their supervisors."""


@dataclass(slots=True)
class _Flow:
    """Hand-overs along an edge."""

    at_ms: int | None = None
    per_s: int = 0

    def add(self, at_ms: int | None, now_ms: int) -> None:
        if at_ms is not None:
            self.at_ms = at_ms if self.at_ms is None else max(self.at_ms, at_ms)
            self.per_s += now_ms - at_ms < 1_000


@dataclass(slots=True)
class _GraphBuilder:
    """A graph under construction."""

    sight: Sight
    opened: Collection[str] | None
    """Groups that are drawn with their nodes while others are folded; None if nothing is folded."""
    nodes: dict[str, Node] = field(default_factory=dict)
    flows: dict[tuple[str, str], _Flow] = field(default_factory=dict)
    shares: dict[str, Share] = field(default_factory=dict)
    """By node of a member with delegated work."""

    def flow(self, source: str, target: str) -> _Flow:
        flow = self.flows.get((source, target))
        if flow is None:
            flow = self.flows[source, target] = _Flow()
        return flow

    def share(self, node_id: str) -> Share:
        share = self.shares.get(node_id)
        if share is None:
            share = self.shares[node_id] = Share()
        return share


def run_graph(sight: Sight, run: Run, *, opened: str | None = None, folded: bool = False) -> Graph:
    """Return the execution graph of an open run.

    Args:
        opened: A node whose group, and all groups around it, are drawn with their nodes although `folded`.
        folded: Whether groups are drawn without their nodes, because there are too many.
    """
    state = sight.state
    building = _GraphBuilder(sight, {task.id for task in _graphs_containing(state, run, opened)} if folded else None)
    root = state.tasks.get(run.root_id)
    if root is not None:
        _add_graph(building, root.children)
    names = _fold_resting(building)
    drawn_names = {node.name for node in building.nodes.values()}
    names += [
        agent.name
        for agent in state.agents.values()
        if agent.name not in drawn_names
        and agent.name not in names
        and sight.is_at_rest(agent)
        and any(supervisor.id == run.supervisor_id for supervisor in supervisors_from(state, agent.supervisor_id))
    ]
    return Graph(
        title=f"RUN {run.id} {run.title}",
        is_run=True,
        nodes=tuple(building.nodes.values()),
        edges=tuple(Edge(*ends, flow.at_ms, flow.per_s) for ends, flow in building.flows.items()),
        folded=tuple(names),
        empty=("its graph is not planned yet", ""),
    )


def _graphs_containing(state: State, run: Run, node_id: str | None) -> Iterator[Task]:
    """Yield the groups of a run that contain a node, the innermost first; a group contains itself."""
    key = (node_id or "").removeprefix(IDLE_PREFIX).removeprefix("at:")
    agent = state.agents.get(key)
    task = state.tasks.get(key)
    if task is None:
        whose = key if agent is None else agent.supervisor_id
        task = next((task for task in state.tasks.values() if task.worker_id == whose and task.run_id == run.id), None)
    if task is not None:
        yield from (ancestor for ancestor in lineage_of(state, task) if ancestor.kind == "group")


def _add_graph(building: _GraphBuilder, task_ids: Iterable[str]) -> tuple[list[str], list[str]]:
    """Add the nodes of a graph or of a plan; return its entry and exit nodes."""
    state, now_ms = building.sight.state, building.sight.now_ms
    children = [state.tasks[task_id] for task_id in task_ids if task_id in state.tasks]
    ends: dict[str, tuple[str, list[str]]] = {}
    for task in children:
        building.nodes[task.id] = work_node(building.sight, task)
        ends[task.id] = (task.id, [task.id])
        if task.kind == "group" and _is_unfolded(building, task):
            ends[task.id] = (task.id, _add_led_nodes(building, task, task.children) or [task.id])
        elif task.kind == "agent" and task.children and _is_unfolded(building, task):
            planned = dict.fromkeys(task_id for plan in plans_of(state, task) for task_id in plan)
            workers = _add_workers(
                building, task.id, [child_id for child_id in task.children if child_id not in planned]
            )
            ends[task.id] = (task.id, [*workers, *_add_led_nodes(building, task, planned)] or [task.id])
    followed = set[str]()
    for task in children:
        for before_id in task.after:
            if before_id in ends:
                followed.add(before_id)
                for exit_ in ends[before_id][1]:
                    building.flow(exit_, task.id).add(_hand_over_ms(state.tasks[before_id], task), now_ms)
    entries = [task.id for task in children if not any(before_id in ends for before_id in task.after)]
    exits = [exit_ for task in children if task.id not in followed for exit_ in ends[task.id][1]]
    return entries, exits


def _add_led_nodes(building: _GraphBuilder, lead: Task, task_ids: Iterable[str]) -> list[str]:
    """Add the nodes below a group or a lead's plan, with edges to its entry nodes; return its exit nodes."""
    entries, exits = _add_graph(building, task_ids)
    for entry in entries:
        building.flow(lead.id, entry).add(began_ms(building.sight.state.tasks[entry]), building.sight.now_ms)
    return exits


def _is_unfolded(building: _GraphBuilder, task: Task) -> bool:
    """Return whether a node is drawn with its children: while it runs, or if resting nodes are shown."""
    if not task.children:
        return False
    if building.opened is not None and task.kind == "group" and task.id not in building.opened:
        return False
    began = task.begun_ms if task.kind == "group" else task.started_ms
    return building.sight.idle or (not task.ended and (began is not None or task.open < len(task.children)))


def _hand_over_ms(before: Task, task: Task) -> int | None:
    """Return when one task handed over to the next."""
    began = began_ms(task)
    if began is not None:
        return max(began, before.ended_ms or 0)
    return before.ended_ms if before.status is TaskStatus.DONE else None


def _add_workers(building: _GraphBuilder, lead: str, children: Iterable[str]) -> list[str]:
    """Add each worker of delegated tasks once, also when several agents delegated to it; return the workers' nodes."""
    state, sight = building.sight.state, building.sight
    shared: dict[str, int] = {}
    node_ids: dict[str, None] = {}
    works: dict[str, tuple[str, Share, _Flow]] = {}
    tasks, agents, supervisors, now_ms = state.tasks, state.agents, state.supervisors, sight.now_ms
    for child_id in children:
        task = tasks.get(child_id)
        if task is None:
            continue
        worker = task.agent_id or task.worker_id
        if worker is None or (worker not in agents and worker not in supervisors):
            if task.queue is not None and not task.ended:
                shared[task.queue] = shared.get(task.queue, 0) + 1
            continue
        work = works.get(worker)  # cached, because a lead has thousands of tasks and few workers
        if work is None:
            node_id = f"at:{worker}"
            if node_id == lead:
                continue
            work = works[worker] = (node_id, building.share(node_id), building.flow(lead, node_id))
            node_ids[node_id] = None
        node_id, share, flow = work
        _count(share, task)
        flow.add(began_ms(task), now_ms)
        if task.children and (sight.idle or not task.ended):
            _add_workers(building, node_id, task.children)
    for key, waiting in shared.items():
        queue = state.queues.get(key)
        for agent_id in queue.agents if queue is not None else ():
            node_id = f"at:{agent_id}"
            share = building.share(node_id)
            share.task_count, share.waiting = share.task_count + waiting, share.waiting + waiting
            if node_id not in node_ids:
                building.flow(lead, node_id)
                node_ids[node_id] = None
    if len(node_ids) > MAX_WORKERS:
        node_ids = _merge_into_teams(building, lead, node_ids, shared)
    for node_id in node_ids:
        _add_member(building, node_id)
    return list(node_ids)


def _merge_into_teams(
    building: _GraphBuilder, lead: str, node_ids: Iterable[str], shared: Mapping[str, int]
) -> dict[str, None]:
    """Merge agents into their supervisors; return the remaining node ids."""
    agents, queues = building.sight.state.agents, building.sight.state.queues
    leads = {source for source, _ in building.flows}
    waits: dict[str, int] = {}
    for key, waiting in shared.items():
        for agent_id in queues[key].agents if key in queues else ():
            waits[agent_id] = waits.get(agent_id, 0) + waiting
    out: dict[str, None] = {}
    for node_id in node_ids:
        agent = agents.get(node_id.removeprefix("at:"))
        if agent is None or node_id in building.nodes or node_id in leads:
            out[node_id] = None
            continue
        share, flow = building.shares.pop(node_id), building.flows.pop((lead, node_id))
        team_id = f"at:{agent.supervisor_id}"
        whole, edge = building.share(team_id), building.flow(lead, team_id)
        whole.task_count += share.task_count - waits.get(agent.id, 0)  # tasks of shared queues are added once, below
        whole.ended_count, whole.failed = whole.ended_count + share.ended_count, whole.failed + share.failed
        edge.at_ms = max((at for at in (edge.at_ms, flow.at_ms) if at is not None), default=None)
        edge.per_s += flow.per_s
        out[team_id] = None
    for key, waiting in shared.items():
        team_id = f"at:{queues[key].supervisor_id}" if key in queues else ""
        if team_id in out:
            building.shares[team_id].task_count += waiting
    return out


def _count(share: Share, task: Task) -> None:
    share.task_count, share.last_id = share.task_count + 1, task.id
    if task.ended:
        share.ended_count += 1
        share.failed += task.status is TaskStatus.FAILED
    elif task.status is TaskStatus.RUNNING:
        share.title = task.title
    else:
        share.waiting += 1


def _add_member(building: _GraphBuilder, node_id: str) -> None:
    state, member_id = building.sight.state, node_id.removeprefix("at:")
    share = building.shares.get(node_id, Share())
    agent = state.agents.get(member_id)
    if agent is not None:
        building.nodes[node_id] = member_node(building.sight, agent, share, an_id=node_id)
    elif (supervisor := state.supervisors.get(member_id)) is not None:
        node = supervisor_node(building.sight, supervisor)
        building.nodes[node_id] = node._replace(id=node_id, figure=f"{share.ended_count:,}/{share.task_count:,}")


def _fold_resting(building: _GraphBuilder) -> list[str]:
    """Fold a lead's resting workers into one box; return their names."""
    sight, state = building.sight, building.sight.state
    if sight.idle:
        return []
    resting: dict[str, list[str]] = {}
    leads: dict[str, list[str]] = {}
    after = {source for source, _ in building.flows}
    for (source, target), flow in building.flows.items():
        leads.setdefault(target, []).append(source)
        agent = state.agents.get(target.removeprefix("at:")) if target.startswith("at:") else None
        lately = flow.at_ms is not None and sight.now_ms - flow.at_ms < MIN_SHOWN_MS
        if agent is not None and sight.is_at_rest(agent) and not building.shares[target].waiting and not lately:
            resting.setdefault(source, []).append(target)
    names: list[str] = []
    places: dict[str, Node] = {}
    for lead, targets in resting.items():
        alone = [node_id for node_id in targets if len(leads[node_id]) == 1]
        if len(alone) < MIN_FOLDED:
            continue
        fold = idle_node(lead, len(alone), opens=building.nodes[lead].about)
        places[alone[0]] = fold
        building.flow(lead, fold.id).add(
            max((building.flows[lead, node_id].at_ms or 0) for node_id in alone), sight.now_ms
        )
        for node_id in alone:
            names.append(building.nodes[node_id].name)
            if node_id != alone[0]:
                building.nodes.pop(node_id)
            building.flows.pop((lead, node_id))
            for beyond in [ends for ends in building.flows if ends[0] == node_id] if node_id in after else ():
                building.flow(fold.id, beyond[1]).add(building.flows.pop(beyond).at_ms, sight.now_ms)
    # A folded node takes the place of its first worker, because the layout depends on the order of nodes.
    building.nodes = {(node := places.get(key, old_node)).id: node for key, old_node in building.nodes.items()}
    return names
