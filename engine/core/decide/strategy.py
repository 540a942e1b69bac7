"""A coordination strategy changes while it is at work: done stays done, the rest is rewired."""

from pydantic import JsonValue

from engine.core.commands import SwitchStrategy
from engine.core.context import Context
from engine.core.decide.applied import Applied
from engine.core.decide.casting import SYNTHESIS, aggregator_of, cast_for, lead_of, members_in, wants_text
from engine.core.decide.drawing import drawn, wired
from engine.core.decide.find import find_supervisor, member_name
from engine.core.decide.mint import Mint
from engine.core.decide.plan import groups_in
from engine.core.errors import Refused, UnknownWork
from engine.core.events import Event, GroupChange, NodePlan, StrategySwitched
from engine.core.fact import changed, fact
from engine.core.fold.ending import lets_pass
from engine.core.spec import AGGREGATIONS, Aggregation
from engine.core.state import State, Supervisor, Task, TaskStatus
from engine.core.strategies import STRATEGIES, check_settings, settings_for, strategy_named
from engine.core.strategies.wiring import Nodes, Wiring

SPARSE = ("delegate", "map", "graph")
"""Strategies that give no node to members without a place; those get one when another is switched to."""


def switch_strategy(state: State, command: SwitchStrategy, ctx: Context) -> Applied:
    """Validate the whole change, then say it as one event."""
    event = switched(state, command, ctx.now_ms)
    name = state.supervisors[event.supervisor_id].name
    kept = sum(len(change.kept) for change in event.groups)
    planned = sum(len(change.after) for change in event.groups)
    events: list[Event] = [event]
    where = f" in {event.run_id}" if event.run_id is not None else ""
    return Applied(
        events=events,
        summary=f"switched {name} from {event.previous} to {event.mode}{where}",
        result={"supervisor_id": event.supervisor_id, "mode": event.mode, "kept": kept, "replanned": planned},
    )


def preview(
    state: State,
    supervisor_id: str,
    mode: str,
    aggregation: Aggregation | None = None,
    aggregator: str | None = None,
    *,
    preserve_agent_states: bool = True,
    settings: dict[str, JsonValue] | None = None,
    lead: str | None = None,
) -> StrategySwitched:
    """Return the event that a switch would be now, for a dry run.

    Raises:
        Refused: If it would be refused.
    """
    command = SwitchStrategy(
        supervisor=supervisor_id,
        mode=mode,
        aggregation=aggregation,
        aggregator=aggregator,
        preserve_agent_states=preserve_agent_states,
        settings=settings,
        lead=lead,
    )
    return switched(state, command, state.at_ms)


def switched(state: State, command: SwitchStrategy, at_ms: int) -> StrategySwitched:
    """Return what a switch does to a supervisor and to its graphs in progress."""
    current = find_supervisor(state, command.supervisor)
    wanted = _wanted(state, current, command)
    mint = Mint(state)
    groups = [
        _rewired(state, wanted, task, mint, preserve=command.preserve_agent_states, at_ms=at_ms)
        for task in _groups(state, current, command)
    ]
    return StrategySwitched(
        at_ms=at_ms,
        supervisor_id=current.id,
        mode=wanted.mode,
        previous=current.mode,
        aggregation=wanted.aggregation,
        aggregator=wanted.aggregator,
        scope=command.scope,
        groups=groups,
        settings=dict(wanted.options.settings),
        lead=wanted.options.lead,
        run_id=command.run if command.scope == "run" else None,
    )


def _wanted(state: State, current: Supervisor, command: SwitchStrategy) -> Supervisor:
    """Return the supervisor as it is to be.

    Raises:
        Refused: If it cannot be so.
    """
    if command.aggregation is not None and command.aggregation not in AGGREGATIONS:
        raise Refused(f"no aggregation {command.aggregation!r}; there are {', '.join(AGGREGATIONS)}")
    mode = strategy_named(command.mode or current.mode).name
    settings = _settings(current, mode) if command.settings is None else dict(command.settings)
    check_settings(mode, settings, [member_name(state, one) for one in members_in(state, current)] if settings else ())
    lead = command.lead or current.options.lead
    wanted = changed(
        current,
        mode=mode,
        aggregation=command.aggregation or current.aggregation,
        aggregator=command.aggregator or current.aggregator,
        options=changed(current.options, settings=settings, lead=lead),
    )
    lead = lead or _text(settings_for(mode, settings, mode).get("lead"))
    if lead is not None and (mode == "delegate" or command.lead is not None):
        lead_of(state, wanted, lead)
    if mode == "delegate" and lead is None:
        raise Refused(f"supervisor {current.name!r} has no lead to delegate; name one of its agents as lead")
    aggregator_of(state, wanted, settings=settings_for(mode, settings, mode))  # refuses one that nobody can make
    return wanted


def _settings(current: Supervisor, mode: str) -> dict[str, JsonValue]:
    """Return what stays set where nothing is said: all of it in the same strategy, else what is for others by name."""
    kept = current.options.settings.items()
    return {
        key: value for key, value in kept if mode == current.mode or (key in STRATEGIES and isinstance(value, dict))
    }


def _text(value: JsonValue) -> str | None:
    return value if isinstance(value, str) else None


def _groups(state: State, supervisor: Supervisor, command: SwitchStrategy) -> list[Task]:
    """Return the graphs in progress that are to be rewired."""
    if command.scope == "new":
        return []
    if command.scope == "run" and command.run not in state.runs:
        raise UnknownWork(command.run or "")
    found = [
        task
        for task in state.tasks.values()
        if task.kind == "group" and task.worker_id == supervisor.id and task.status is TaskStatus.RUNNING
        and not task.cancelling and not state.runs[task.run_id].cancelling
        and (command.scope == "open" or task.run_id == command.run)
    ]  # fmt: skip
    if command.scope == "run" and not found:
        raise Refused(f"run {command.run} has no graph of {supervisor.name} in progress")
    return found


@fact
class _Parts:
    """The nodes of a graph by what a switch does with them."""

    done: list[str]
    running: list[str]
    """They go on, or are stopped, as the operator chose; those adopted among them."""
    unstarted: list[str]
    removed: list[str]
    adopted: list[str]
    leads: list[str]
    """Nodes at work that led, and lead no more."""


def _rewired(state: State, wanted: Supervisor, group: Task, mint: Mint, *, preserve: bool, at_ms: int) -> GroupChange:
    nodes = [state.tasks[task_id] for task_id in group.children]
    outcome = state.tasks.get(group.outcome_id or "")
    if outcome is not None and outcome.kind == "join" and outcome.attempt is not None and group.open == 1:
        # All work is done and is being joined: there is nothing left to rewire.
        return GroupChange(
            task_id=group.id, run_id=group.run_id, mode=wanted.mode, kept=[outcome.id], outcome_id=outcome.id
        )
    parts = _parts(state, group, nodes, leads=wanted.mode == "delegate")
    settings = settings_for(wanted.mode, wanted.options.settings, wanted.mode)
    agents, supervisors = state.agents, state.supervisors
    names = {one: agents[one].name if one in agents else supervisors[one].name for one in wanted.members}
    there = [*nodes, *(state.tasks[one] for one in parts.adopted)]
    fresh = {f"+m{place}": one for place, one in enumerate(_without_a_node(state, wanted, group, there))}
    aggregator = _aggregator(state, wanted, parts.unstarted, fresh, settings)
    members = _whose(state, _every(parts), names)
    members |= {key: names[one] for key, one in fresh.items()}
    begun = set(parts.running)
    ends = _ends(state, parts.done)
    view = Nodes(
        done=parts.done,
        ends=ends,
        used=[before for task_id in parts.running for before in state.tasks[task_id].after],
        running=parts.running,
        unstarted=[*parts.unstarted, *fresh],
        aggregation=wanted.aggregation,
        aggregator=aggregator,
        members=members,
        cast=list(dict.fromkeys(name for key, name in members.items() if name and key not in parts.leads)),
        groups=groups_in(state, wanted),
        settings=settings,
        lead=wanted.options.lead,
        stopping=frozenset(parts.running if not preserve else parts.leads),
    )
    wiring = wired(wanted.mode, view)
    graph = drawn(state, wanted, wiring, fresh, mint, at_ms=at_ms)
    if graph.queues:
        raise Refused(f"the strategy {wanted.mode} asks for anybody who is able before it has looked at anything")
    stopping = {*parts.leads, *(() if preserve else begun)}
    cancelled = [
        task_id for task_id in parts.running if task_id in stopping and state.tasks[task_id].attempt is not None
    ]
    tasks = state.tasks  # what has an item of its own to work on keeps to it
    placed = {node: graph.all(after) for node, after in wiring.after.items() if node in tasks}
    return GroupChange(
        task_id=group.id,
        run_id=group.run_id,
        mode=wanted.mode,
        kept=[*parts.done, *(one for one in parts.running if one not in cancelled)],
        cancelled=cancelled,
        added=graph.nodes,
        removed=[*parts.removed, *(one for one in wiring.dropped if one in state.tasks)],
        after=placed,
        takes={
            node: "own" if tasks[node].takes == "own" else how for node, how in wiring.takes.items() if node in tasks
        },
        outcome_id=_outcome(group, wiring, parts, graph.nodes, graph.of(wiring.outcome) if wiring.outcome else None),
        sees={node: graph.all(sees) for node, sees in wiring.sees.items() if node in state.tasks},
        roles={node: role for node, role in wiring.roles.items() if node in state.tasks},
        needs={node: need for node, need in wiring.needs.items() if node in state.tasks},
        tolerated=[node for node in wiring.tolerated if node in state.tasks],
        settings=dict(wiring.settings),
        adopted=parts.adopted,
    )


def _parts(state: State, group: Task, nodes: list[Task], *, leads: bool) -> _Parts:
    """Sort the nodes of a graph.

    Args:
        state: The team.
        group: Whose graph it is.
        nodes: Its nodes.
        leads: Whoever leads may go on leading.
    """
    work = [node for node in nodes if node.kind not in ("join", "check")]
    at_work = [node for node in work if _at_work(node)]
    leading = [node for node in at_work if group.mode == "delegate" and node.role == "lead" and not leads]
    asked = [state.tasks[child] for lead in leading for child in lead.children]
    adopted = [child.id for child in asked if _at_work(child)]
    begun = {node.id for node in at_work}
    return _Parts(
        done=[
            node.id
            for node in work
            if node.ended and lets_pass(node) and (node.output is not None or node.status is TaskStatus.DONE)
        ],
        running=[*(node.id for node in at_work), *adopted],
        unstarted=[node.id for node in work if not node.ended and node.id not in begun],
        removed=[
            *(node.id for node in nodes if node.kind in ("join", "check") and not node.ended),
            *(child.id for child in asked if not child.ended and child.id not in set(adopted)),
        ],
        adopted=adopted,
        leads=[node.id for node in leading],
    )


def _every(parts: _Parts) -> list[str]:
    return [*parts.done, *parts.running, *parts.unstarted]


def _at_work(node: Task) -> bool:
    """A task that backs off or was interrupted has begun: it keeps its place."""
    return not node.ended and (node.attempts > 0 or node.status is not TaskStatus.WAITING)


def _whose(state: State, nodes: list[str], names: dict[str, str]) -> dict[str, str]:
    """Return whose each node is; one that works on an item of its own is nobody's place in another graph."""
    tasks = [state.tasks[task_id] for task_id in nodes]
    return {
        task.id: "" if task.takes == "own" or task.call_key else names.get(task.worker_id or task.agent_id or "", "")
        for task in tasks
    }


def _worker(task: Task) -> str | None:
    """Return whose work a task is; of one that anybody able may take, whoever took it."""
    return task.worker_id or task.agent_id


def _without_a_node(state: State, wanted: Supervisor, group: Task, nodes: list[Task]) -> list[str]:
    """Return members that had no place in the strategy before, and take part in the new one."""
    if group.mode not in SPARSE or wanted.mode == "delegate":
        return []
    category = state.runs[group.run_id].category
    if wants_text(wanted, category) and not isinstance(group.input, str):
        return []
    try:
        text = group.input if isinstance(group.input, str) else ""
        cast = cast_for(state, changed(wanted, options=changed(wanted.options, strategies={})), text, category)
    except Refused:
        return []
    there = {_worker(node) for node in nodes}
    return [one for one in (*cast.members, cast.aggregator) if one is not None and one not in there]


def _aggregator(
    state: State, wanted: Supervisor, unstarted: list[str], fresh: dict[str, str], settings: dict[str, JsonValue]
) -> str | None:
    """Return the node of whoever makes a synthesis, with one that is added where there is none."""
    if wanted.mode not in ("parallel", SYNTHESIS):
        return None
    members = set(wanted.members) if wanted.mode == SYNTHESIS else set()
    able = [worker for worker in (state.tasks[one].worker_id for one in unstarted) if worker in members]
    aggregator_id = aggregator_of(state, wanted, settings=settings, able=[*able, *fresh.values()] or None)
    if aggregator_id is None:
        return None
    node = next((one for one in unstarted if state.tasks[one].worker_id == aggregator_id), None)
    node = node or next((key for key, one in fresh.items() if one == aggregator_id), None)
    if node is None:
        node = "+aggregator"
        fresh[node] = aggregator_id
    return node


def _ends(state: State, done: list[str]) -> list[str]:
    """Return the nodes that no other of `done` came after; of a chain, its last link."""
    passed: set[str] = set()
    for task_id in done:
        for before in state.tasks[task_id].after:
            passed.add(before)
            if state.tasks[before].kind == "check":
                passed.update(state.tasks[before].after)
    return [task_id for task_id in done if task_id not in passed]


def _outcome(group: Task, wiring: Wiring, parts: _Parts, added: list[NodePlan], outcome: str | None) -> str | None:
    """Return the node whose output is the graph's: the same as before where nothing is left to do."""
    if not wiring.after and not parts.running and not added and group.outcome_id in parts.done:
        return group.outcome_id
    return outcome
