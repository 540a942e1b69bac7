"""Fold: agents started anew, and supervisors that had to do so too often."""

from engine.core.events import AgentCheckAsked, AgentsRestarted, SupervisorFailed, SupervisorMended
from engine.core.fold.ending import ask_to_stop
from engine.core.fold.handlers import Handlers
from engine.core.fold.slots import tell
from engine.core.state import State


def _agents_restarted(state: State, event: AgentsRestarted) -> None:
    supervisor = state.supervisors[event.supervisor_id]
    if event.period_s is not None:
        since = event.at_ms - round(event.period_s * 1000)
        supervisor.restarts_ms = [at_ms for at_ms in supervisor.restarts_ms if at_ms > since] + [event.at_ms]
    for agent_id in event.agent_ids:
        agent = state.agents[agent_id]
        agent.restarts += 1
        for task_id in (*agent.running, *agent.parked):
            ask_to_stop(state.tasks[task_id], "crash")


def _supervisor_failed(state: State, event: SupervisorFailed) -> None:
    supervisor = state.supervisors[event.supervisor_id]
    supervisor.restarts_ms = []
    if supervisor.parent_id is None:
        supervisor.error = event.error
        tell(state, supervisor)
    for task_id in event.groups:
        state.tasks[task_id].error = event.error


def _supervisor_mended(state: State, event: SupervisorMended) -> None:
    state.supervisors[event.supervisor_id].error = None
    tell(state, state.supervisors[event.supervisor_id])


def _agent_check_asked(state: State, event: AgentCheckAsked) -> None:
    """Change nothing: what is found is said by `AgentMended` or `AgentBroke`."""


HANDLERS: Handlers = {
    AgentsRestarted: _agents_restarted,
    SupervisorFailed: _supervisor_failed,
    SupervisorMended: _supervisor_mended,
    AgentCheckAsked: _agent_check_asked,
}
