"""Find specs by name, and the agents that are able to do something; what a target names: `core/queries/targets`."""

from collections.abc import Iterator, Sequence

from engine.core.candidate import Candidate, names_it, suits
from engine.core.discovery import nearest
from engine.core.errors import NoAgentMatches, UnknownSpec
from engine.core.events import Event, QueueMade
from engine.core.fact import fact
from engine.core.fold.queues import able_queue, own_queue
from engine.core.spec import AgentSpec
from engine.core.state import Agent, State, Supervisor


@fact
class Place:
    """Where delegated work goes."""

    kind: str
    """`agent` or `group`."""
    queue: str | None
    worker_id: str | None
    supervisor_id: str
    made: QueueMade | None = None
    """The queue, where it did not exist yet."""


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


def candidate_of(state: State, agent: Agent) -> Candidate:
    """Return what the choice of agents looks at."""
    return candidate_from(
        state.spec_of(agent),
        agent.id,
        agent.name,
        done=agent.done,
        failed=agent.failed,
        load=len(agent.running) + len(agent.parked),
        age=agent.created_seq,
    )


def candidate_from(
    spec: AgentSpec, agent_id: str, name: str, *, done: int = 0, failed: int = 0, load: int = 0, age: int = 0
) -> Candidate:
    """Return what the choice of agents looks at, for a spec that may have no agent yet."""
    return Candidate(
        id=agent_id,
        name=name,
        specialties=tuple(spec.specialties),
        description=spec.description,
        tools=tuple(str(tool) for tool in spec.tools),
        category=spec.category,
        done=done,
        failed=failed,
        load=load,
        age=age,
    )


def able_queues_for(
    state: State, supervisor_id: str, spec: AgentSpec, name: str, *, but: Agent | None = None
) -> list[str]:
    """Return the queues by capability of a supervisor that an agent of `spec` takes tasks from, once `but` is gone."""
    prefix = able_queue(supervisor_id, "")
    candidate = candidate_from(spec, "", name)
    found: list[str] = []
    for key, queue in state.queues.items():
        capability = key[len(prefix) :]
        if not key.startswith(prefix) or not suits(candidate, capability):
            continue
        others = (
            candidate_of(state, state.agents[agent_id])
            for agent_id in queue.agents
            if but is None or agent_id != but.id
        )
        if names_it(candidate, capability) or not any(names_it(other, capability) for other in others):
            found.append(key)
    return found


def place_for(state: State, asker: Agent, target: str, at_ms: int) -> Place:
    """Return where work for `target`, the name of a member or a capability, goes.

    The asker's own supervisor is searched first, then what is under it, then the same one level up, to the root. Who
    has the capability as a specialty goes before those that merely suit it; the asker itself is asked only by name.

    Raises:
        NoAgentMatches: If nobody has that name or that capability.
    """
    for supervisor in _nearest_first(state, asker.supervisor_id):
        known = state.queues.get(able_queue(supervisor.id, target))
        if known is not None and any(_may_be_asked(state, agent_id, asker) for agent_id in known.agents):
            return Place(kind="agent", queue=known.key, worker_id=None, supervisor_id=supervisor.id)
        found = _named(state, supervisor, target)
        if found is not None:
            return found
    for supervisor in _nearest_first(state, asker.supervisor_id):
        able = able_agents(state, supervisor, target, but=asker)
        if able:
            key = able_queue(supervisor.id, target)
            made = QueueMade(at_ms=at_ms, key=key, supervisor_id=supervisor.id, capability=target, agent_ids=able)
            return Place(kind="agent", queue=key, worker_id=None, supervisor_id=supervisor.id, made=made)
    names = (agent.name for agent in state.agents.values())
    skills = (skill for agent in state.agents.values() for skill in state.spec_of(agent).specialties)
    raise NoAgentMatches(target, nearest(target, [*skills, *names]))


def _may_be_asked(state: State, agent_id: str, asker: Agent) -> bool:
    agent = state.agents[agent_id]
    return agent_id != asker.id and agent.removing is None and not _is_done_for(agent)


def _is_done_for(agent: Agent) -> bool:
    """Return whether an agent has spent its budget, and nobody is asked about more."""
    return agent.exhausted is not None and not agent.held


def _named(state: State, supervisor: Supervisor, name: str) -> Place | None:
    for member_id in supervisor.members:
        agent = state.agents.get(member_id)
        if agent is not None and agent.name == name and agent.removing is None:
            return Place(kind="agent", queue=own_queue(agent.id), worker_id=agent.id, supervisor_id=supervisor.id)
        if agent is not None:
            continue
        below = state.supervisors[member_id]
        if below.name == name and gets_work_from(below, supervisor):
            return Place(kind="group", queue=None, worker_id=member_id, supervisor_id=member_id)
    return None


def able_agents(state: State, supervisor: Supervisor, capability: str, *, but: Agent) -> list[str]:
    """Return who under `supervisor` is able to do something: who names it as a specialty, else who merely suits it."""
    agents = (state.agents[member_id] for member_id in supervisor.members if member_id in state.agents)
    able = [
        candidate
        for candidate in (
            candidate_of(state, agent) for agent in agents if agent.removing is None and not _is_done_for(agent)
        )
        if candidate.id != but.id and suits(candidate, capability)
    ]
    named = [candidate.id for candidate in able if names_it(candidate, capability)]
    return named or [candidate.id for candidate in able]


def left_behind(state: State, agent: Agent, served: Sequence[str], at_ms: int) -> list[Event]:
    """Where an agent stops to serve a capability that nobody else serves, let those take over that suit it less.

    Args:
        state: The state before it stops.
        agent: Who stops.
        served: The queues by capability that it goes on to serve.
        at_ms: The time.
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
            events.append(
                QueueMade(at_ms=at_ms, key=key, supervisor_id=supervisor.id, capability=capability, agent_ids=able)
            )
    return events


def _nearest_first(state: State, supervisor_id: str) -> Iterator[Supervisor]:
    seen: set[str] = set()
    above: str | None = supervisor_id
    while above is not None:
        for below in _subtree(state, above):
            if below.id not in seen:
                seen.add(below.id)
                yield below
        above = state.supervisors[above].parent_id


def _subtree(state: State, supervisor_id: str) -> Iterator[Supervisor]:
    supervisor = state.supervisors[supervisor_id]
    yield supervisor
    for member_id in supervisor.members:
        below = state.supervisors.get(member_id)
        if below is not None and gets_work_from(below, supervisor):
            yield from _subtree(state, member_id)


def gets_work_from(below: Supervisor, above: Supervisor) -> bool:
    """Return True while `below` may be given work by the one above it: what leaves gets nothing new from who stays."""
    return below.leaving is None or above.leaving is not None
