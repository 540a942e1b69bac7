"""An agent crashed: it and others are started anew; where that happens too often, their supervisor fails upwards."""

from engine.core.context import Context
from engine.core.decide.find import member_name
from engine.core.decide.progress import stop
from engine.core.events import AgentsRestarted, Event, SupervisorFailed
from engine.core.inheritance import inherited
from engine.core.policies.records import Restart
from engine.core.policies.rules import affected, is_too_often
from engine.core.prompts import MemberCrashed
from engine.core.state import State, Supervisor, Task, TaskStatus


def member_crashed(state: State, prompt: MemberCrashed, ctx: Context) -> list[Event]:
    """Start anew who has to be, or let the supervisor fail that did so too often."""
    supervisor = _above(state, prompt.member_id)
    if supervisor is None:
        return []
    policy: Restart | None = inherited(state, supervisor, "restart", None)
    because = f"{member_name(state, prompt.member_id)} crashed: {prompt.because}"
    if policy is not None and is_too_often(policy, supervisor.restarts_ms, ctx.now_ms):
        return _failed(state, supervisor, policy, because)
    rule = policy or Restart()
    members = affected(rule, supervisor.members, prompt.member_id)
    return [
        AgentsRestarted(
            supervisor_id=supervisor.id,
            agent_ids=[agent_id for member in members for agent_id in _agents_of(state, member)],
            strategy=rule.strategy,
            because=because,
            period_s=None if policy is None else policy.period_s,
        )
    ]


def _above(state: State, member_id: str) -> Supervisor | None:
    agent = state.agents.get(member_id)
    if agent is not None:
        return state.supervisors[agent.supervisor_id]
    member = state.supervisors.get(member_id)
    return state.supervisors.get(member.parent_id or "") if member is not None else None


def _agents_of(state: State, member_id: str) -> list[str]:
    """Return an agent itself, or every agent of a supervisor and of those below it."""
    if member_id in state.agents:
        return [member_id]
    return [agent_id for member in state.supervisors[member_id].members for agent_id in _agents_of(state, member)]


def _failed(state: State, supervisor: Supervisor, policy: Restart, because: str) -> list[Event]:
    times = policy.intensity + 1
    count = f"{times} restart{'' if times == 1 else 's'} in {policy.period_s:g} s"
    error = f"supervisor {supervisor.name} failed: {count}"
    below = {one.id for one in _with_below(state, supervisor)}
    groups = [
        task
        for task in state.tasks.values()
        if task.kind == "group" and task.worker_id in below and task.status is TaskStatus.RUNNING
    ]
    event = SupervisorFailed(
        supervisor_id=supervisor.id, error=error, because=because, groups=[group.id for group in groups]
    )
    failing = {group.id for group in groups}
    outermost = [group for group in groups if not _is_inside(state, group, failing)]
    children = [state.tasks[task_id] for group in outermost for task_id in group.children]
    stops = [stop(state, child, error) for child in children if not child.ended and not child.cancelling]
    return [event, *stops]


def _with_below(state: State, supervisor: Supervisor) -> list[Supervisor]:
    found = [supervisor]
    for one in found:
        found += [state.supervisors[member] for member in one.members if member in state.supervisors]
    return found


def _is_inside(state: State, task: Task, failing: set[str]) -> bool:
    """Return True for a group that is a part of another that fails."""
    above = task.parent_id
    while above is not None:
        if above in failing:
            return True
        above = state.tasks[above].parent_id
    return False
