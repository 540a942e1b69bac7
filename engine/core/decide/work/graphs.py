"""Plans the graph of a group, and extends it after a check."""

from collections.abc import Iterable

from engine.core.decide.teams.team import find_failed_supervisor
from engine.core.decide.work.materialize import GraphPlan, grow, materialize, wire
from engine.core.decisions.decision_context import DecisionContext
from engine.core.decisions.outcomes import Mint
from engine.core.errors import NoAgentMatches, Refused
from engine.core.events import Event, GroupEnded, GroupGrown, GroupPlanned, PlanAsked
from engine.core.followups import GrowGroup, PlanGroup
from engine.core.queries.targets import member_name
from engine.core.queries.team.discovery import near_misses, search_faults, words_to_find
from engine.core.queries.team.participants import Cast, cast_for, members_in, names_in, wants_text
from engine.core.queries.team.tree import is_cancelled
from engine.core.queries.work.conversation import members_of_earlier_runs
from engine.core.queries.work.inputs import input_of
from engine.core.queries.work.retries import lets_pass
from engine.core.records.values import StoredValue, TextRef
from engine.core.state import State, Supervisor, Task, TaskStatus
from engine.core.strategies.wiring import Growth, Nodes, Verdict, Wiring


def plan_group(state: State, followup: PlanGroup, ctx: DecisionContext, mint: Mint | None = None) -> list[Event]:
    """Plan a group once nothing blocks it; groups planned in one decision share `mint`."""
    group = state.tasks.get(followup.task_id)
    if group is None or group.kind != "group" or group.status is not TaskStatus.WAITING:
        return []
    if group.blockers or state.runs[group.run_id].after:
        return []
    supervisor = state.supervisors.get(group.worker_id or "")
    if supervisor is None:
        return [_failure_event(group, "its supervisor was removed")]
    failed_supervisor = find_failed_supervisor(state, supervisor)
    if failed_supervisor is not None:
        return [_failure_event(group, failed_supervisor.error or "")]
    if group.search == "begun" or group.escalation_id is not None:
        return []  # agents are looked for, or a person decides on them
    category = state.runs[group.run_id].category
    text = followup.text
    # Only some strategies read the request, which may have to be loaded from the journal first.
    if text is None and wants_text(supervisor, category):
        request = input_of(state, group)
        if not isinstance(request, str):
            return [PlanAsked(task_id=group.id)]
        text = request
    if group.search is None and (sought := words_to_find(state, supervisor, text or "", category)):
        # A search may spend; `RunResumed` starts it.
        return [] if state.runs[group.run_id].paused else [PlanAsked(task_id=group.id, words=sought)]
    try:
        before = members_of_earlier_runs(state, state.runs[group.run_id], group)
        cast = cast_for(state, supervisor, text or "", category, before=before)
        wiring, graph = plan_graph(state, supervisor, cast, mint)
    except NoAgentMatches as refusal:
        near = refusal.near or near_misses(supervisor, group.id)
        reasons = [NoAgentMatches(refusal.capability, near).reason, *search_faults(supervisor, group.id)]
        return [_failure_event(group, "; ".join(reasons))]
    except Refused as refusal:
        return [_failure_event(group, refusal.reason)]
    event = GroupPlanned(
        task_id=group.id,
        mode=cast.mode,
        nodes=graph.nodes,
        outcome_id=graph.id_of(wiring.outcome) if wiring.outcome is not None else None,
        explanation=cast.explanation,
        settings=dict(wiring.settings),
        category=cast.category if group.parent_id is None else None,
    )
    return [*graph.queues, event]


def _failure_event(group: Task, error: str) -> Event:
    return GroupEnded(task_id=group.id, status=TaskStatus.FAILED, output=None, error=error)


def plan_graph(state: State, supervisor: Supervisor, cast: Cast, mint: Mint | None = None) -> tuple[Wiring, GraphPlan]:
    """Return a new graph for the participants; raises Refused if the strategy cannot make one."""
    members = [*cast.members, *([cast.aggregator] if cast.aggregator is not None else [])]
    member_ids = {f"+m{index}": member_id for index, member_id in enumerate(members)}
    names = {key: member_name(state, member_id) for key, member_id in member_ids.items()}
    nodes = Nodes(
        unstarted=list(member_ids),
        aggregation=supervisor.aggregation,
        aggregator=list(member_ids)[-1] if cast.aggregator is not None else None,
        members=names,
        cast=list(names.values()),
        groups=groups_in(state, supervisor),
        settings=cast.settings,
        lead=supervisor.options.lead,
    )
    wiring = wire(cast.mode, nodes)
    return wiring, materialize(state, supervisor, wiring, member_ids, mint or Mint(state))


def groups_in(state: State, supervisor: Supervisor) -> frozenset[str]:
    """Return the names of the members that are supervisors."""
    return frozenset(
        state.supervisors[member_id].name for member_id in supervisor.members if member_id in state.supervisors
    )


def grow_group(state: State, followup: GrowGroup, ctx: DecisionContext) -> list[Event]:
    """Let the strategy extend a graph after a verdict, unless the graph is being cancelled."""
    check = state.tasks.get(followup.check_id)
    if check is None or not check.role or check.parent_id is None or is_cancelled(state, check):
        return []
    group = state.tasks[check.parent_id]
    supervisor = state.supervisors.get(group.worker_id or "")
    if group.status is not TaskStatus.RUNNING or supervisor is None or group.mode is None:
        return []
    nodes = _nodes(state, group, supervisor)
    verdict = followup.verdict if isinstance(followup.verdict, dict) else {}
    growth = Growth()
    graph = GraphPlan(nodes=[], ids={})
    try:
        growth = grow(group.mode, nodes, Verdict(node=check.id, role=check.role, said=verdict))
        graph = materialize(
            state,
            supervisor,
            growth.wiring,
            {},
            Mint(state),
            item_of=lambda number: _item(state, check, followup, number),
            former_names=group.called,
        )
    except Refused as refusal:
        growth = Growth(failed=f"{group.mode} cannot go on: {refusal.reason}")
        graph = GraphPlan(nodes=[], ids={})
    wiring = growth.wiring
    skipped = nodes.unstarted if growth.failed is not None else _with_dependents(state, growth.skipped)
    event = GroupGrown(
        task_id=group.id,
        check_id=check.id,
        added=graph.nodes if growth.failed is None else [],
        after={node: graph.ids_of(after) for node, after in wiring.after.items() if node in state.tasks},
        sees={node: graph.ids_of(sees) for node, sees in wiring.sees.items() if node in state.tasks},
        roles={node: role for node, role in wiring.roles.items() if node in state.tasks},
        skipped=list(skipped),
        outcome_id=graph.id_of(wiring.outcome) if wiring.outcome is not None else None,
        failed=growth.failed,
        why=growth.why or growth.failed or "it goes on",
    )
    return [*graph.queues, event] if growth.failed is None else [event]


def _nodes(state: State, group: Task, supervisor: Supervisor) -> Nodes:
    """Return a graph in the form that its strategy sees, including built-in nodes."""
    tasks = [state.tasks[task_id] for task_id in group.children]
    names = names_in(state, supervisor, group)
    waiting = [task.id for task in tasks if task.status is TaskStatus.WAITING and not task.attempts]
    fresh = set(waiting)
    return Nodes(
        done=[task.id for task in tasks if task.ended and lets_pass(task)],
        running=[task.id for task in tasks if not task.ended and task.id not in fresh],
        unstarted=waiting,
        aggregation=supervisor.aggregation,
        members={task.id: names.get(task.worker_id or "", "") for task in tasks},
        cast=[names[member_id] for member_id in members_in(state, supervisor) if member_id in names],
        groups=frozenset(
            names[member_id]
            for member_id in supervisor.members
            if member_id in state.supervisors and member_id in names
        ),
        settings=group.settings,
        lead=supervisor.options.lead,
        roles={task.id: task.role for task in tasks if task.role},
        after={task.id: task.after for task in tasks},
    )


def _item(state: State, check: Task, followup: GrowGroup, number: int) -> StoredValue:
    """Return a reference to an item of the list, in the output that was checked or in the verdict.

    By reference: copying the items into the event would store the list twice.
    """
    verdict = followup.verdict if isinstance(followup.verdict, dict) else {}
    if "list" in verdict:
        return TextRef(seq=followup.seq, path=f"output.list.{number}")
    source = state.tasks[check.sees[0]].output if check.sees else state.tasks[check.parent_id or ""].input
    if not isinstance(source, TextRef):
        raise Refused("the value to split is not a list")
    return TextRef(seq=source.seq, path=f"{source.path}.{number}")


def _with_dependents(state: State, skipped: Iterable[str]) -> list[str]:
    """Return the skipped nodes, with the dependents that have no other predecessor."""
    dropped_ids = list(dict.fromkeys(skipped))
    dropped_set = set(dropped_ids)
    for task_id in dropped_ids:  # the list grows while it is read
        for following_id in state.tasks[task_id].before:
            following = state.tasks[following_id]
            if following.ended or following_id in dropped_set:
                continue
            if all(
                before_id in dropped_set or state.tasks[before_id].passed_by or _is_check(state, before_id)
                for before_id in following.after
            ):
                dropped_set.add(following_id)
                dropped_ids.append(following_id)
    return dropped_ids


def _is_check(state: State, task_id: str) -> bool:
    """Return whether a task is a finished check, whose verdict no dependent can use as input."""
    return state.tasks[task_id].kind == "check" and state.tasks[task_id].ended
