"""Names of members with their role, where a bare name could be taken for another member."""

from engine.core.state import Agent, State


def name_with_role(state: State, agent: Agent) -> str:
    """Return the name of an agent; of the lead of a supervisor with its role, because both often have one name."""
    supervisor = state.supervisors.get(agent.supervisor_id)
    leads = supervisor is not None and supervisor.options.lead == agent.name
    return f"{agent.name} (lead)" if leads else agent.name
