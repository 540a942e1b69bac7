"""Rewires a graph in progress: finished nodes stay, running ones continue or stop, unstarted ones are planned again."""

from engine.core.decide.work.graphs import groups_in
from engine.core.decide.work.materialize import GraphPlan, materialize, wire
from engine.core.decisions.outcomes import Mint
from engine.core.errors import Refused
from engine.core.events import GroupChange
from engine.core.queries.targets import member_with
from engine.core.queries.team.participants import SYNTHESIS, aggregator_of, cast_for, wants_text
from engine.core.queries.work.conversation import members_of_earlier_runs
from engine.core.queries.work.plans import plans_of
from engine.core.queries.work.retries import lets_pass
from engine.core.records.records import JsonValue, copy_with, fact
from engine.core.state import State, Supervisor, Task, TaskStatus
from engine.core.strategies import is_sparse, settings_for
from engine.core.strategies.wiring import Nodes, Wiring


@fact
class _Parts:
    """The nodes of a graph by what a switch does with them."""

    done: list[str]
    running: list[str]
    """They continue or are stopped, as the operator chose; a lead comes last, after its delegations."""
    stopping: list[str]
    unstarted: list[str]
    removed: list[str]
    adopted: list[str]
    """Delegations that become nodes: done and running ones."""
    waiting: list[str]
    """Delegations that have not begun and stay with a lead that continues."""


def rewire(state: State, supervisor: Supervisor, group: Task, mint: Mint, *, preserve: bool) -> GroupChange:
    """Return the change that rewires a graph for `supervisor` as it will be; `preserve` lets running nodes go on."""
    nodes = [state.tasks[task_id] for task_id in group.children]
    outcome = state.tasks.get(group.outcome_id or "")
    if outcome is not None and outcome.kind == "join" and outcome.attempt is not None and group.open == 1:
        # All work is done and is being joined: there is nothing left to rewire.
        return GroupChange(
            task_id=group.id, run_id=group.run_id, mode=supervisor.mode, kept=[outcome.id], outcome_id=outcome.id
        )
    parts = _parts(state, group, nodes, leads=supervisor.mode == "delegate", preserve=preserve)
    parts = _withdraw_repeated_turns(state, group, supervisor.mode, parts)
    new_members = _find_new_members(state, supervisor, group, nodes, parts)
    fresh = {f"+m{index}": member_id for index, member_id in enumerate(new_members)}
    view = _view(state, supervisor, parts, fresh)
    wiring = wire(supervisor.mode, view)
    graph = materialize(state, supervisor, wiring, fresh, mint)
    if graph.queues:
        raise Refused(f"the strategy {supervisor.mode} needs results that this run does not have yet")
    _check_work_left(state, group, parts, wiring)
    tasks = state.tasks
    join = {} if wiring.after or graph.nodes or wiring.roles else _find_join(state, group, parts)
    return GroupChange(
        task_id=group.id,
        run_id=group.run_id,
        mode=supervisor.mode,
        kept=[
            *parts.done,
            *(task_id for task_id in parts.running if task_id not in parts.stopping),
            *parts.waiting,
            *join,
        ],
        cancelled=parts.stopping,
        added=graph.nodes,
        removed=[node for node in (*parts.removed, *wiring.dropped) if node in tasks and node not in join],
        after={node: graph.ids_of(after) for node, after in wiring.after.items() if node in tasks} | join,
        # Nodes with an item of their own, and delegations, keep their input.
        takes={
            node: task.takes if task.takes == "own" or task.call_key is not None else takes
            for node, takes in wiring.takes.items()
            if (task := tasks.get(node)) is not None
        },
        outcome_id=next(iter(join), None) or _outcome(state, group, wiring, parts, graph),
        sees={node: graph.ids_of(sees) for node, sees in wiring.sees.items() if node in tasks},
        roles={node: role for node, role in wiring.roles.items() if node in tasks},
        needs={node: need for node, need in wiring.needs.items() if node in tasks},
        tolerated=[node for node in wiring.tolerated if node in tasks],
        settings=dict(wiring.settings),
        adopted=parts.adopted,
    )


def _check_work_left(state: State, group: Task, parts: _Parts, wiring: Wiring) -> None:
    """Refuse a switch that stops all remaining work of a graph in which nothing is done."""
    stopping = set(parts.stopping)
    if parts.done or not stopping or set(parts.running) - stopping:
        return
    if any(state.tasks[child].status is TaskStatus.FAILED for child in group.children):
        return  # the graph fails anyway
    built_in = {added.key for added in wiring.added if added.kind != "work"}
    for node, after in wiring.after.items():
        sources = set(wiring.sees.get(node, after))
        if node not in built_in or not sources or not sources <= stopping:
            return
    titles = ", ".join(state.tasks[task_id].title for task_id in parts.stopping)
    raise Refused(
        f"all that is left of {group.run_id} is {titles}, which would be stopped; "
        "let what is at work go on, or cancel the run"
    )


def _view(state: State, supervisor: Supervisor, parts: _Parts, fresh: dict[str, str]) -> Nodes:
    """Return a graph in progress as its strategy sees it; `fresh` has the members that get a node, by its key."""
    settings = settings_for(supervisor.mode, supervisor.options.settings, supervisor.mode)
    aggregator = _aggregator(state, supervisor, parts, fresh, settings)  # before `fresh` is read: it may add to it
    tasks, adopted = state.tasks, set(parts.adopted)
    names = {member_id: member_with(state, member_id).name for member_id in supervisor.members}
    members: dict[str, str] = {}
    delegated_ids: set[str] = set()
    for task_id in (*parts.done, *parts.running, *parts.unstarted):
        task = tasks[task_id]
        # A node that works on an item of a list has no place in another graph.
        members[task_id] = "" if task.takes == "own" and task.call_key is None else names.get(_worker(task) or "", "")
        if task.asked_by is not None or task_id in adopted:
            delegated_ids.add(task_id)
    members |= {key: names[member_id] for key, member_id in fresh.items()}
    return Nodes(
        done=parts.done,
        ends=_ends(state, parts.done),
        used=[before for task_id in parts.running for before in tasks[task_id].after],
        running=parts.running,
        unstarted=[*parts.unstarted, *fresh],
        aggregation=supervisor.aggregation,
        aggregator=aggregator,
        members=members,
        cast=list(dict.fromkeys(name for key, name in members.items() if name and key not in delegated_ids)),
        groups=groups_in(state, supervisor),
        settings=settings,
        lead=supervisor.options.lead,
        stopping=frozenset(parts.stopping),
        asked=frozenset(delegated_ids),
    )


def _parts(state: State, group: Task, nodes: list[Task], *, leads: bool, preserve: bool) -> _Parts:
    """Sort the nodes of a graph; `leads` lets the current lead go on leading, `preserve` running nodes go on."""
    done: list[str] = []
    at_work: list[Task] = []
    leading: list[Task] = []
    unstarted: list[str] = []
    removed: list[str] = []
    for node in nodes:
        if node.kind in ("join", "check"):
            if not node.ended:
                removed.append(node.id)
        elif not node.ended:
            if _has_begun(node):
                at_work.append(node)
            else:
                unstarted.append(node.id)
        elif _is_done(node):
            done.append(node.id)
    if group.mode == "delegate" and not leads:  # only agents: a team as lead has no delegations of its own
        leading = [node for node in at_work if node.kind == "agent" and node.role == "lead"]
        lead_ids = {node.id for node in leading}
        at_work = [*(node for node in at_work if node.id not in lead_ids), *leading]
    stopping = [] if preserve else [node for node in at_work if node.attempt is not None]
    adopted, waiting, dropped = _sort_delegations(state, leading, stopping)
    return _Parts(
        done=[*done, *(node.id for node in adopted if _is_done(node))],
        running=[node.id for node in (*adopted, *at_work) if not node.ended],
        stopping=[node.id for node in stopping],
        unstarted=unstarted,
        removed=[*removed, *(node.id for node in dropped)],
        adopted=[node.id for node in adopted],
        waiting=[node.id for node in waiting],
    )


def _sort_delegations(
    state: State, leading: list[Task], stopping: list[Task]
) -> tuple[list[Task], list[Task], list[Task]]:
    """Return the delegations that become nodes of the graph, those that stay with their asker, and dropped ones.

    Running delegations of a stopped asker are stopped too: they are added to `stopping`.
    """
    adopted: list[Task] = []
    waiting: list[Task] = []
    dropped: list[Task] = []
    stopped_ids = {node.id for node in stopping}
    askers = [*stopping, *(node for node in leading if node.id not in stopped_ids)]
    for asker in askers:  # the list grows while it is read
        bound_ids = _find_bound_tasks(state, asker, is_stopped=asker.id in stopped_ids)
        for child in (state.tasks[child_id] for child_id in asker.children):
            if (_is_done(child) if child.ended else _has_begun(child)) and child.id not in bound_ids:
                adopted.append(child)
            elif child.attempt is None and not child.ended:
                if asker.id not in stopped_ids:
                    waiting.append(child)
                # A team at work is stopped when its asker has ended.
                elif child.kind != "group" or not _has_begun(child):
                    dropped.append(child)
            if child.attempt is not None and asker.id in stopped_ids:
                stopping.append(child)
                stopped_ids.add(child.id)
                askers.append(child)
    return adopted, waiting, dropped


def _find_bound_tasks(state: State, asker: Task, *, is_stopped: bool) -> set[str]:
    """Return the tasks of plans that stay with their asker, because as nodes they would lose edges to the others.

    A plan becomes nodes with its edges once all its tasks have begun, or if the unstarted ones are dropped with a
    stopped asker. A plan with a task that has ended without a result stays: only its asker can handle that.
    """
    task_ids: set[str] = set()
    for plan in plans_of(state, asker):
        tasks = [task for task in map(state.tasks.__getitem__, plan) if task.parent_id == asker.id]
        lacks_result = any(task.ended and not _is_done(task) for task in tasks)
        has_unstarted = any(not task.ended and not _has_begun(task) for task in tasks)
        if lacks_result or (has_unstarted and not is_stopped):
            task_ids.update(task.id for task in tasks)
    return task_ids


def _withdraw_repeated_turns(state: State, group: Task, mode: str, parts: _Parts) -> _Parts:
    """Remove the unstarted turns of members that have begun, or that wait with another node.

    Only the old strategy asks for them. A new one asks each member once; where it asks twice, it adds a node.
    """
    tasks = state.tasks
    turns = dict.fromkeys(task_id for task_id in parts.unstarted if _is_turn(tasks[task_id], group, mode))
    if not turns:
        return parts
    others = {*parts.done, *parts.running, *parts.unstarted}.difference(parts.stopping, turns)
    worker_ids = {_worker(tasks[task_id]) for task_id in others if _is_for_request(tasks[task_id])} - {None}
    repeated: dict[str, None] = {}
    for task_id in turns:
        worker_id = _worker(tasks[task_id])
        if worker_id in worker_ids:
            repeated[task_id] = None
        elif worker_id is not None:
            worker_ids.add(worker_id)
    unstarted = [task_id for task_id in parts.unstarted if task_id not in repeated]
    return copy_with(parts, unstarted=unstarted, removed=[*parts.removed, *repeated])


def _is_turn(task: Task, group: Task, mode: str) -> bool:
    """Return whether an unstarted node is a turn in the old strategy: it has a role there, or is its synthesis.

    With new settings, the same strategy can place its turns again.
    """
    if task.role:
        return mode != group.mode and _is_for_request(task)
    return task.id == group.outcome_id and group.mode in ("parallel", SYNTHESIS)


def _is_for_request(task: Task) -> bool:
    """Return whether a node works on the request, not on an item of a list or a question of a member."""
    return task.takes != "own" and task.asker_id is None


def _is_done(node: Task) -> bool:
    """Return whether a node has ended with a result that others may use."""
    return node.ended and lets_pass(node) and (node.output is not None or node.status is TaskStatus.DONE)


def _has_begun(node: Task) -> bool:
    """Return whether an open task has begun; one that backs off or was interrupted has, and keeps its place."""
    return node.attempts > 0 or node.status is not TaskStatus.WAITING


def _worker(task: Task) -> str | None:
    """Return the member that a task is for; the agent that took it if any able agent may."""
    return task.worker_id or task.agent_id


def _find_new_members(state: State, supervisor: Supervisor, group: Task, nodes: list[Task], parts: _Parts) -> list[str]:
    """Return the members that take part in the new strategy, and had no node in the old one."""
    if not is_sparse(group.mode or "") or supervisor.mode == "delegate":
        return []
    category = state.runs[group.run_id].category
    if wants_text(supervisor, category) and not isinstance(group.input, str):
        return []
    try:
        text = group.input if isinstance(group.input, str) else ""
        # Without strategies by category: the operator has chosen this one.
        single_strategy = copy_with(supervisor, options=copy_with(supervisor.options, strategies={}))
        before = members_of_earlier_runs(state, state.runs[group.run_id], group)
        cast = cast_for(state, single_strategy, text, category, before=before)
    except Refused:
        return []
    # The member of a delegation that is being stopped gets a new node.
    adopted = (state.tasks[task_id] for task_id in parts.adopted if task_id not in parts.stopping)
    worker_ids = {_worker(node) for node in (*nodes, *adopted)}
    members = (*cast.members, cast.aggregator)
    return [member_id for member_id in members if member_id is not None and member_id not in worker_ids]


def _aggregator(
    state: State, supervisor: Supervisor, parts: _Parts, fresh: dict[str, str], settings: dict[str, JsonValue]
) -> str | None:
    """Return the key of the node that makes the synthesis; a missing one is added to `fresh`.

    If no aggregator is named, it is a member with an unstarted node, else one whose node has begun.
    """
    if supervisor.mode not in ("parallel", SYNTHESIS):
        return None
    candidates: list[str] | None = None
    if supervisor.mode == SYNTHESIS:
        unstarted = [*_members_with_nodes(state, supervisor, parts.unstarted), *fresh.values()]
        candidates = unstarted or _members_with_nodes(state, supervisor, [*parts.done, *parts.running]) or None
    aggregator_id = aggregator_of(state, supervisor, settings=settings, member_ids=candidates)
    if aggregator_id is None:
        return None
    node = next((task_id for task_id in parts.unstarted if state.tasks[task_id].worker_id == aggregator_id), None)
    node = node or next((key for key, member_id in fresh.items() if member_id == aggregator_id), None)
    if node is None:
        node = "+aggregator"
        fresh[node] = aggregator_id
    return node


def _members_with_nodes(state: State, supervisor: Supervisor, nodes: list[str]) -> list[str]:
    members = set(supervisor.members)
    workers = (_worker(state.tasks[task_id]) for task_id in nodes)
    return [worker_id for worker_id in workers if worker_id in members]


def _ends(state: State, done: list[str]) -> list[str]:
    """Return the done nodes that are no predecessor of another done node; of a chain, its last one."""
    predecessors: set[str] = set()
    for task_id in done:
        for before in state.tasks[task_id].after:
            predecessors.add(before)
            if state.tasks[before].kind == "check":
                predecessors.update(state.tasks[before].after)
    return [task_id for task_id in done if task_id not in predecessors]


def _find_join(state: State, group: Task, parts: _Parts) -> dict[str, list[str]]:
    """Return the join that makes the outcome, with its inputs that are done or at work; empty if there is none."""
    join = state.tasks.get(group.outcome_id or "")
    if join is None or join.kind != "join" or join.ended or join.attempt is not None:
        return {}
    begun = {*parts.done, *parts.running}
    inputs = [task_id for task_id in (join.after if join.sees is None else join.sees) if task_id in begun]
    return {join.id: inputs} if inputs else {}


def _outcome(state: State, group: Task, wiring: Wiring, parts: _Parts, graph: GraphPlan) -> str | None:
    """Return the node whose output is the graph's; it stays the same if there is nothing left to do.

    If that node was withdrawn, it is the last turn of its member that is done.
    """
    planned = graph.id_of(wiring.outcome) if wiring.outcome else None
    old = state.tasks.get(group.outcome_id or "")
    if old is None or wiring.after or graph.nodes or parts.running:
        return planned
    if old.id in parts.done:
        return old.id
    turns = (state.tasks[task_id] for task_id in reversed(parts.done) if not wiring.roles)
    return next((turn.id for turn in turns if _is_for_request(turn) and _worker(turn) == _worker(old)), planned)
