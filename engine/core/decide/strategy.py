"""A coordination strategy changes while it is at work: done stays done, the rest is rewired."""

from typing import Literal

from engine.core.commands import SwitchStrategy
from engine.core.context import Context
from engine.core.decide.applied import Applied
from engine.core.decide.find import find_supervisor
from engine.core.decide.mint import Mint
from engine.core.decide.plan import aggregator_of, join_plan, named_join, node_plan, with_takes
from engine.core.errors import Refused
from engine.core.events import Event, GroupChange, NodePlan, StrategySwitched
from engine.core.fact import changed
from engine.core.fold.ending import lets_pass
from engine.core.spec import AGGREGATIONS, Aggregation
from engine.core.state import State, Supervisor, Task, TaskStatus
from engine.core.strategies import strategy_named
from engine.core.strategies.wiring import Nodes


def switch_strategy(state: State, command: SwitchStrategy, ctx: Context) -> Applied:
    """Validate the whole change, then say it as one event."""
    event = switched(state, command, ctx.now_ms)
    name = state.supervisors[event.supervisor_id].name
    kept = sum(len(change.kept) for change in event.groups)
    planned = sum(len(change.after) for change in event.groups)
    events: list[Event] = [event]
    return Applied(
        events=events,
        summary=f"switched {name} from {event.previous} to {event.mode}",
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
    )
    return switched(state, command, state.at_ms)


def switched(state: State, command: SwitchStrategy, at_ms: int) -> StrategySwitched:
    """Return what a switch does to a supervisor and to its graphs in progress."""
    current = find_supervisor(state, command.supervisor)
    if command.aggregation is not None and command.aggregation not in AGGREGATIONS:
        raise Refused(f"no aggregation {command.aggregation!r}; there are {', '.join(AGGREGATIONS)}")
    wanted = changed(
        current,
        mode=strategy_named(command.mode or current.mode).name,
        aggregation=command.aggregation or current.aggregation,
        aggregator=command.aggregator or current.aggregator,
    )
    aggregator_of(state, wanted)  # refuses a synthesis that nobody can make
    mint = Mint(state)
    groups = [
        _rewired(state, wanted, task, mint, preserve=command.preserve_agent_states)
        for task in (state.tasks.values() if command.scope == "open" else ())
        if task.kind == "group" and task.worker_id == current.id and task.status is TaskStatus.RUNNING
        and not task.cancelling and not state.runs[task.run_id].cancelling
    ]  # fmt: skip
    return StrategySwitched(
        at_ms=at_ms,
        supervisor_id=current.id,
        mode=wanted.mode,
        previous=current.mode,
        aggregation=wanted.aggregation,
        aggregator=wanted.aggregator,
        scope=command.scope,
        groups=groups,
    )


def _rewired(state: State, wanted: Supervisor, group: Task, mint: Mint, *, preserve: bool) -> GroupChange:
    nodes = [state.tasks[task_id] for task_id in group.children]
    if any(node.kind == "join" and node.attempt is not None for node in nodes):
        # All work is done and is being joined: there is nothing left to rewire.
        kept = [node.id for node in nodes if not node.ended]
        return GroupChange(
            task_id=group.id, run_id=group.run_id, mode=wanted.mode, kept=kept, outcome_id=group.outcome_id
        )
    work = [node for node in nodes if node.kind != "join"]
    done = [node.id for node in work if node.ended and lets_pass(node) and node.output is not None]
    running = [node.id for node in work if _at_work(node)]
    begun = set(running)
    unstarted = [node.id for node in work if not node.ended and node.id not in begun]
    removed = [node.id for node in nodes if node.kind == "join" and not node.ended]
    aggregator_id = aggregator_of(state, wanted)
    added: list[NodePlan] = []
    aggregator = _place_of_aggregator(state, aggregator_id, unstarted)
    if aggregator_id is not None and aggregator is None:
        plan = node_plan(state, mint("t"), aggregator_id)
        added.append(plan)
        aggregator = plan.task_id
        unstarted.append(plan.task_id)
    wiring = strategy_named(wanted.mode).wire(
        Nodes(
            done=done,
            ends=_ends(state, done),
            used=[before for task_id in running for before in state.tasks[task_id].after],
            running=running,
            unstarted=unstarted,
            aggregation=wanted.aggregation,
            aggregator=aggregator,
        )
    )
    if wiring.join:
        plan = join_plan(mint("t"), wanted)
        wiring = named_join(wiring, plan.task_id)
        added.append(plan)
    return GroupChange(
        task_id=group.id,
        run_id=group.run_id,
        mode=wanted.mode,
        kept=[*done, *(running if preserve else ())],
        cancelled=[] if preserve else [task_id for task_id in running if state.tasks[task_id].attempt is not None],
        added=[_edged(plan, wiring.after, wiring.takes) for plan in added],
        removed=removed,
        after={task_id: after for task_id, after in wiring.after.items() if task_id in state.tasks},
        takes={task_id: takes for task_id, takes in wiring.takes.items() if task_id in state.tasks},
        outcome_id=wiring.outcome,
    )


def _ends(state: State, done: list[str]) -> list[str]:
    """Return the nodes that no other of `done` came after; of a chain, its last link."""
    passed = {before for task_id in done for before in state.tasks[task_id].after}
    return [task_id for task_id in done if task_id not in passed]


def _edged(
    plan: NodePlan, after: dict[str, list[str]], takes: dict[str, Literal["request", "previous", "context"]]
) -> NodePlan:
    plan.after.extend(after.get(plan.task_id, ()))
    return with_takes(plan, takes.get(plan.task_id, "request"))


def _at_work(node: Task) -> bool:
    """A task that backs off or was interrupted has begun: it keeps its place."""
    return not node.ended and (node.attempts > 0 or node.status is not TaskStatus.WAITING)


def _place_of_aggregator(state: State, aggregator_id: str | None, unstarted: list[str]) -> str | None:
    if aggregator_id is None:
        return None
    return next((task_id for task_id in unstarted if state.tasks[task_id].worker_id == aggregator_id), None)
