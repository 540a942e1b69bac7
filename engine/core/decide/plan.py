"""Who takes part in a request, and the graph that is made of them."""

from typing import Literal

from engine.core.context import Context
from engine.core.decide.find import candidate_of, gets_work_from, member_name
from engine.core.decide.mint import Mint
from engine.core.discovery import choose, nearest
from engine.core.errors import NoAgentMatches, Refused
from engine.core.events import Event, GroupEnded, GroupPlanned, NodePlan, PlanAsked
from engine.core.fact import changed, fact
from engine.core.policies.chain import chain_of_agent, is_optional
from engine.core.prompts import PlanGroup
from engine.core.state import State, Supervisor, Task, TaskStatus
from engine.core.strategies import strategy_named
from engine.core.strategies.wiring import JOIN, Nodes, Wiring


@fact
class Cast:
    """Who takes part, in order, and why."""

    members: list[str]
    aggregator: str | None
    explanation: str


def plan_group(state: State, prompt: PlanGroup, ctx: Context) -> list[Event]:
    """Turn a group into a graph, once it waits for nothing."""
    group = state.tasks.get(prompt.task_id)
    if group is None or group.status is not TaskStatus.WAITING or group.blockers:
        return []
    supervisor = state.supervisors.get(group.worker_id or "")
    if supervisor is None:
        return [_failed(group, "its supervisor was removed", ctx)]
    text = prompt.text
    if text is None and supervisor.auto_discover:
        if not isinstance(group.input, str):
            return [PlanAsked(at_ms=ctx.now_ms, run_id=group.run_id, task_id=group.id)]
        text = group.input
    try:
        cast = cast_for(state, supervisor, text or "")
    except Refused as refusal:
        return [_failed(group, refusal.reason, ctx)]
    nodes, outcome = nodes_for(state, supervisor, cast, Mint(state))
    return [
        GroupPlanned(
            at_ms=ctx.now_ms,
            run_id=group.run_id,
            task_id=group.id,
            mode=supervisor.mode,
            nodes=nodes,
            outcome_id=outcome,
            explanation=cast.explanation,
        )
    ]


def _failed(group: Task, error: str, ctx: Context) -> Event:
    return GroupEnded(
        at_ms=ctx.now_ms,
        run_id=group.run_id,
        task_id=group.id,
        status=TaskStatus.FAILED,
        output=None,
        error=error,
    )


def cast_for(state: State, supervisor: Supervisor, text: str) -> Cast:
    """Return who takes part in a request to `supervisor`.

    Raises:
        NoAgentMatches: If agents are to be discovered and nobody matches.
        Refused: If nobody is there at all, or a synthesis has no aggregator.
    """
    aggregator = aggregator_of(state, supervisor)
    able = [
        member_id
        for member_id in supervisor.members
        if (
            state.agents[member_id].removing is None
            if member_id in state.agents
            else gets_work_from(state.supervisors[member_id], supervisor)
        )
    ]
    why = "all members in declared order"
    if supervisor.participants is not None:
        by_name = {member_name(state, member_id): member_id for member_id in able}
        able = [by_name[name] for name in supervisor.participants if name in by_name]
        why = "the participants that are declared"
    if supervisor.auto_discover:
        able, why = _discovered(state, supervisor, able, text)
    if supervisor.mode == "parallel" and aggregator is not None:
        able = [member_id for member_id in able if member_id != aggregator]
    if not able:
        raise Refused(f"supervisor {supervisor.name!r} has nobody to work on it; add an agent first")
    return Cast(members=able, aggregator=aggregator, explanation=why)


def aggregator_of(state: State, supervisor: Supervisor) -> str | None:
    """Return the id of the agent that makes a synthesis, or None where results are joined without one.

    Raises:
        Refused: If the aggregation is a synthesis and its agent is not there.
    """
    if supervisor.aggregation != "synthesis" or supervisor.mode != "parallel":
        return None
    for member_id in supervisor.members:
        agent = state.agents.get(member_id)
        if agent is not None and agent.name == supervisor.aggregator and agent.removing is None:
            return agent.id
    near = nearest(supervisor.aggregator or "", (a.name for a in state.agents.values()))
    raise Refused(
        f"supervisor {supervisor.name!r} makes a synthesis but has no agent {supervisor.aggregator!r} to make it; "
        f"name one of its agents as aggregator" + (f", such as {near[0]}" if near else "")
    )


def _discovered(state: State, supervisor: Supervisor, able: list[str], text: str) -> tuple[list[str], str]:
    agents = [state.agents[member_id] for member_id in able if member_id in state.agents]
    choice = choose(text, [candidate_of(state, agent) for agent in agents], limit=supervisor.max_matches)
    if choice.matches:
        return [match.id for match in choice.matches], choice.explanation
    for agent in agents:
        if agent.name == supervisor.default_agent:
            return [agent.id], f"nobody matches; {agent.name} is the default agent"
    raise NoAgentMatches(text[:60], choice.nearest)


def nodes_for(state: State, supervisor: Supervisor, cast: Cast, mint: Mint) -> tuple[list[NodePlan], str | None]:
    """Return the nodes of a new graph and the one whose output is the graph's."""
    members = [*cast.members, *([cast.aggregator] if cast.aggregator is not None else [])]
    ids = {mint("t"): member_id for member_id in members}
    unstarted = list(ids)
    aggregator = unstarted[-1] if cast.aggregator is not None else None
    wiring = strategy_named(supervisor.mode).wire(
        Nodes(unstarted=unstarted, aggregation=supervisor.aggregation, aggregator=aggregator)
    )
    plans = [node_plan(state, task_id, member_id) for task_id, member_id in ids.items()]
    if wiring.join:
        join_id = mint("t")
        plans.append(join_plan(join_id, supervisor))
        wiring = named_join(wiring, join_id)
    for plan in plans:
        plan.after.extend(wiring.after.get(plan.task_id, ()))
    placed = [with_takes(plan, wiring.takes.get(plan.task_id, "request")) for plan in plans]
    return placed, wiring.outcome


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


def join_plan(task_id: str, supervisor: Supervisor) -> NodePlan:
    """Return the built-in node that joins results, without its edges."""
    how = supervisor.aggregation if supervisor.aggregation != "synthesis" else "concat"
    return NodePlan(
        task_id=task_id,
        kind="join",
        title=f"join ({how})",
        worker_id=None,
        supervisor_id=supervisor.id,
        join=how,
    )


def named_join(wiring: Wiring, join_id: str) -> Wiring:
    """Return the wiring with the join's id in place of `JOIN`."""

    def named(node: str | None) -> str | None:
        return join_id if node == JOIN else node

    return Wiring(
        after={named(node) or "": after for node, after in wiring.after.items()},
        takes={named(node) or "": takes for node, takes in wiring.takes.items()},
        join=True,
        outcome=named(wiring.outcome),
    )


def with_takes(plan: NodePlan, takes: Literal["request", "previous", "context"]) -> NodePlan:
    """Return the plan with what it takes as its text."""
    return changed(plan, takes=takes)
