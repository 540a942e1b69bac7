"""Find specs by name, and the agents that are able to do something; what a target names: `core/queries/targets`."""

from collections.abc import Sequence

from engine.core.candidate import names_it, suits
from engine.core.discovery import nearest
from engine.core.errors import UnknownSpec
from engine.core.events import Event, QueueMade
from engine.core.hierarchy import above_of
from engine.core.queries.placement import able_agents, capability_of
from engine.core.queries.queues import able_queue
from engine.core.queries.suiting import candidate_from, candidate_of
from engine.core.queries.takers import is_of_few, is_one_of_few
from engine.core.spec import AgentSpec
from engine.core.state import Agent, Queue, State


def member_name(state: State, member_id: str) -> str:
    """Return the name of an agent or a supervisor."""
    agent = state.agents.get(member_id)
    return agent.name if agent is not None else state.supervisors[member_id].name


def find_spec(state: State, name: str) -> AgentSpec:
    """Return the newest spec of a name in the registry.

    Raises:
        UnknownSpec: If there is none.
    """
    if name not in state.registry:
        raise UnknownSpec(name, nearest(name, state.registry))
    return state.specs[state.registry[name]]


def able_queues_for(
    state: State, supervisor_id: str, spec: AgentSpec, name: str, *, but: Agent | None = None
) -> list[str]:
    """Return the queues by capability of a supervisor that an agent of `spec` takes tasks from, once `but` is gone."""
    candidate = candidate_from(spec, "", name)
    found: list[str] = []
    for key, queue in state.queues.items():
        if is_of_few(key):
            agents = (state.agents[one] for one in queue.agents)
            stays = any((one.name, one.supervisor_id) == (name, supervisor_id) for one in agents)
            if stays or is_one_of_few(state, queue, supervisor_id, name):
                found.append(key)
            continue
        if not _is_near(state, queue, supervisor_id):
            continue
        capability = capability_of(queue)
        if not suits(candidate, capability):
            continue
        others = (
            candidate_of(state, state.agents[agent_id])
            for agent_id in queue.agents
            if but is None or agent_id != but.id
        )
        if names_it(candidate, capability) or not any(names_it(other, capability) for other in others):
            found.append(key)
    return found


def _is_near(state: State, queue: Queue, supervisor_id: str) -> bool:
    """Return whether agents of a supervisor may serve a queue by capability: of its own, or of teams as near as it."""
    if not queue.key.startswith("able:"):
        return False
    _, _, depth = queue.key.split(":", 2)[1].partition("+")
    above = [one.id for one in above_of(state, state.supervisors[supervisor_id])]
    return queue.supervisor_id in above and above.index(queue.supervisor_id) == int(depth or 0)


def left_behind(state: State, agent: Agent, served: Sequence[str]) -> list[Event]:
    """Where an agent stops to serve a capability that nobody else serves, let those take over that suit it less.

    Args:
        state: The state before it stops.
        agent: Who stops.
        served: The queues by capability that it goes on to serve.
    """
    supervisor = state.supervisors[agent.supervisor_id]
    prefix = able_queue(supervisor.id, "")
    events: list[Event] = []
    for key in agent.queues:
        if not key.startswith(prefix) or key in served or state.queues[key].agents != [agent.id]:
            continue
        capability = key[len(prefix) :]
        able = able_agents(state, supervisor, capability, but=agent)
        if able:
            events.append(QueueMade(key=key, supervisor_id=supervisor.id, capability=capability, agent_ids=able))
    return events
