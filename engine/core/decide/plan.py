"""The graph that a request becomes: who takes part, wired by the strategy."""

from engine.core.context import Context
from engine.core.decide.casting import Cast, cast_for, wants_text
from engine.core.decide.drawing import Drawn, drawn, wired
from engine.core.decide.find import member_name
from engine.core.decide.mending import failed_above
from engine.core.decide.mint import Mint
from engine.core.errors import Refused
from engine.core.events import Event, GroupEnded, GroupPlanned, PlanAsked
from engine.core.prompts import PlanGroup
from engine.core.queries.inputs import input_of
from engine.core.state import State, Supervisor, Task, TaskStatus
from engine.core.strategies.wiring import Nodes, Wiring


def plan_group(state: State, prompt: PlanGroup, ctx: Context, mint: Mint | None = None) -> list[Event]:
    """Turn a group into a graph, once it waits for nothing; groups that are planned at once share a `mint`."""
    group = state.tasks.get(prompt.task_id)
    if group is None or group.kind != "group" or group.status is not TaskStatus.WAITING:
        return []
    if group.blockers or _waits(state, group):
        return []
    supervisor = state.supervisors.get(group.worker_id or "")
    if supervisor is None:
        return [_failed(group, "its supervisor was removed")]
    broken = failed_above(state, supervisor)
    if broken is not None:
        return [_failed(group, broken.error or "")]
    category = state.runs[group.run_id].category
    text = prompt.text
    if text is None and wants_text(supervisor, category):
        given = input_of(state, group)
        if not isinstance(given, str):
            return [PlanAsked(task_id=group.id)]
        text = given
    try:
        cast = cast_for(state, supervisor, text or "", category)
        wiring, graph = planned(state, supervisor, cast, mint)
    except Refused as refusal:
        return [_failed(group, refusal.reason)]
    event = GroupPlanned(
        task_id=group.id,
        mode=cast.mode,
        nodes=graph.nodes,
        outcome_id=graph.of(wiring.outcome) if wiring.outcome is not None else None,
        explanation=cast.explanation,
        settings=dict(wiring.settings),
        category=cast.category if group.parent_id is None else None,
    )
    return [*graph.queues, event]


def _waits(state: State, group: Task) -> bool:
    """Return True while the run of a group waits for others."""
    return bool(state.runs[group.run_id].after)


def _failed(group: Task, error: str) -> Event:
    return GroupEnded(task_id=group.id, status=TaskStatus.FAILED, output=None, error=error)


def planned(state: State, supervisor: Supervisor, cast: Cast, mint: Mint | None = None) -> tuple[Wiring, Drawn]:
    """Return a new graph for those that take part.

    Raises:
        Refused: If the strategy cannot make one.
    """
    members = [*cast.members, *([cast.aggregator] if cast.aggregator is not None else [])]
    wanted = {f"+m{place}": member_id for place, member_id in enumerate(members)}
    names = {key: member_name(state, member_id) for key, member_id in wanted.items()}
    nodes = Nodes(
        unstarted=list(wanted),
        aggregation=supervisor.aggregation,
        aggregator=list(wanted)[-1] if cast.aggregator is not None else None,
        members=names,
        cast=list(names.values()),
        groups=groups_in(state, supervisor),
        settings=cast.settings,
        lead=supervisor.options.lead,
    )
    wiring = wired(cast.mode, nodes)
    return wiring, drawn(state, supervisor, wiring, wanted, mint or Mint(state))


def groups_in(state: State, supervisor: Supervisor) -> frozenset[str]:
    """Return the names of the members that are supervisors."""
    return frozenset(state.supervisors[one].name for one in supervisor.members if one in state.supervisors)
