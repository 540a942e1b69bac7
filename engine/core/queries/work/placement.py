"""Placement of delegated work: the search for an agent or queue, the queues that an agent serves, and stand-ins.

Rings around the asker's supervisor are searched, nearest first; in each, a name comes before a capability. The first
ring with an able agent takes the work, otherwise the first with a suitable one. See docs/semantics/execution.md.
"""

from collections.abc import Callable, Collection, Iterator, Sequence

from engine.core.discovery.candidate import names_capability, suits
from engine.core.discovery.nearest import nearest
from engine.core.errors import NoAgentMatches
from engine.core.events import Event, QueueMade
from engine.core.queries.team.able import has_able_agent, is_able, why_team_is_not_able
from engine.core.queries.team.fits import Fit, candidate_from, candidate_of, fit_of
from engine.core.queries.team.tree import Ring, agents_in, lineage_of, rings, teams_in
from engine.core.queries.work import queues
from engine.core.records.records import copy_with, fact
from engine.core.specs.spec import AgentSpec
from engine.core.state import Agent, Queue, State, Supervisor, Task


@fact
class TaskPlace:
    """The place of a task: a queue, or a member."""

    kind: str
    """`agent` or `group`."""
    queue: str | None
    worker_id: str | None
    supervisor_id: str
    queue_event: QueueMade | None = None
    """The event that makes the queue, or adds agents to it, if necessary."""
    waits: bool = False
    """No agent is able now; the task waits until one is."""


def place_for(
    state: State, home: Supervisor, target: str, *, asker: Agent | None, holders: Collection[str] = ()
) -> TaskPlace:
    """Return the place for work for `target`, the name of a member or a capability.

    Args:
        home: The supervisor at which the search begins.
        target: A name, a capability, the capability of a queue for several named members, or an agent's id after `@`.
        asker: The delegating agent, which is found by its name only; None for a graph of `home`.
        holders: Supervisors that have the work already (`holders_of`); they are searched even if they are leaving.

    Raises:
        NoAgentMatches: If no member has that name or capability.
    """
    agent = state.agents.get(target[1:]) if target.startswith("@") else None
    if agent is not None and agent.removing is None:
        reach = (team.id for ring in rings(state, home, holders=holders) for team in ring.supervisors)
        if agent.supervisor_id in reach:
            return copy_with(_place_of_agent(agent), waits=not is_able(state, agent))
    fallback: TaskPlace | None = None
    for ring in rings(state, home, holders=holders):
        # A place without an able agent is only the fallback: a farther ring with an able agent wins.
        for must_be_able in (True, False) if fallback is None else (True,):
            place = _place_in_ring(state, ring, asker, target, holders, must_be_able=must_be_able)
            if place is not None and must_be_able:
                return place
            fallback = fallback or place
    if fallback is not None:
        return copy_with(fallback, waits=True)
    within_reach = [
        agent
        for ring in rings(state, home, holders=holders)
        for supervisor in ring.supervisors
        for agent in agents_in(state, supervisor)
    ]
    names = {agent.name for agent in within_reach}
    skills = {skill for agent in within_reach for skill in state.spec_of(agent).specialties}
    raise NoAgentMatches(target, nearest(target, sorted((skills | names) - {target})))


def can_be_placed(state: State, task: Task) -> bool:
    """Return True if an agent serves the task's capability queue, or another place exists for the task."""
    queue = state.queues.get(task.queue or "")
    if queue is None or any(state.agents[agent_id].removing is None for agent_id in queue.agents):
        return queue is not None
    try:
        place_for(
            state, home_of(state, task), queues.target_in(state, queue), asker=None, holders=holders_of(state, task)
        )
    except NoAgentMatches:
        return False
    return True


def _place_in_ring(
    state: State, ring: Ring, asker: Agent | None, target: str, holders: Collection[str], *, must_be_able: bool
) -> TaskPlace | None:
    names = queues.member_names_in(target)
    named = [
        member_id
        for team in ring.supervisors
        for member_id in _members_named(state, team, names, holders, must_be_able=must_be_able)
    ]
    if named:
        return _place_by_name(state, ring, target, named if must_be_able else named[:1])
    if len(names) > 1:
        return None
    teams: dict[str, list[str]] = {}
    for supervisor in ring.supervisors:
        agents = able_agents(state, supervisor, target, excluded=asker)
        if agents and (not must_be_able or any(is_able(state, state.agents[agent_id]) for agent_id in agents)):
            teams[supervisor.id] = agents
    if len(teams) > 1:
        teams = _with_specialty(state, teams, target)
    if not teams:
        return None
    first, *others = teams
    owner = ring.anchor_id if others else first
    key = queues.shared_queue(owner, ring.depth, target) if others else queues.able_queue(first, target)
    return _shared_place(state, key, owner, [agent_id for agents in teams.values() for agent_id in agents])


def _with_specialty(state: State, agents_by_team: dict[str, list[str]], target: str) -> dict[str, list[str]]:
    """Return the teams with agents that have the capability as a specialty, if there are any; else all."""
    specialized = {
        team: agents
        for team, agents in agents_by_team.items()
        if any(fit_of(state, state.agents[agent_id], target) is not Fit.CLAIM for agent_id in agents)
    }
    return specialized or agents_by_team


def _members_named(
    state: State, supervisor: Supervisor, names: Sequence[str], holders: Collection[str], *, must_be_able: bool
) -> Iterator[str]:
    # Hot: a lead that delegates to fifty members in one turn calls this for each. One pass, without nested generators.
    agents, has_teams = state.agents, False
    for member_id in supervisor.members:
        agent = agents.get(member_id)
        if agent is None:
            has_teams = True
        elif agent.name in names and agent.removing is None and (is_able(state, agent) or not must_be_able):
            yield agent.id
    for team in teams_in(state, supervisor, holders) if has_teams else ():
        if team.name in names and (not must_be_able or _is_team_able(state, team)):
            yield team.id


def _place_by_name(state: State, ring: Ring, target: str, named: list[str]) -> TaskPlace:
    """Return the place of the only member with a name, or the queue shared by several equally near ones."""
    agent = state.agents.get(named[0])
    if len(named) > 1 or target.startswith(queues.NAMED_MEMBERS_PREFIX):
        agents = [agent_id for member_id in named for agent_id in queues.takers(state, member_id)]
        capability = queues.NAMED_MEMBERS_PREFIX + target.removeprefix(queues.NAMED_MEMBERS_PREFIX)
        key = queues.shared_queue(ring.anchor_id, ring.depth, capability)
        return _shared_place(state, key, ring.anchor_id, agents)
    if agent is None:
        return TaskPlace(kind="group", queue=None, worker_id=named[0], supervisor_id=named[0])
    return _place_of_agent(agent)


def _place_of_agent(agent: Agent) -> TaskPlace:
    return TaskPlace(
        kind="agent", queue=queues.own_queue(agent.id), worker_id=agent.id, supervisor_id=agent.supervisor_id
    )


def _shared_place(state: State, key: str, owner_id: str, agents: list[str]) -> TaskPlace:
    """Return a capability queue as a place, with the event that adds agents that it does not have yet."""
    queue_agents = state.queues[key].agents if key in state.queues else []
    queue_event = None
    if any(agent_id not in queue_agents for agent_id in agents):
        queue_event = QueueMade(key=key, supervisor_id=owner_id, capability=queues.capability_of(key), agent_ids=agents)
    return TaskPlace(kind="agent", queue=key, worker_id=None, supervisor_id=owner_id, queue_event=queue_event)


def _is_team_able(state: State, team: Supervisor) -> bool:
    return why_team_is_not_able(state, team) is None and has_able_agent(state, team)


def able_agents(state: State, supervisor: Supervisor, capability: str, *, excluded: Agent | None) -> list[str]:
    """Return the agents of a supervisor with the best match of a capability for which one of them is able, if any."""
    queue = state.queues.get(queues.able_queue(supervisor.id, capability))
    # The agents of an existing queue are used as long as one of them is able; comparing words again would be slow.
    if queue is not None and any(_can_be_asked(state, agent_id, excluded) for agent_id in queue.agents):
        return queue.agents
    fits: dict[Fit, list[Agent]] = {}
    for agent in agents_in(state, supervisor):
        fit = fit_of(state, agent, capability) if agent is not excluded and agent.removing is None else None
        if fit is not None:
            # A name that equals the capability counts like a specialty here; names were handled before.
            fits.setdefault(max(fit, Fit.SPECIALTY), []).append(agent)
    if not fits:
        return []
    able_fits = [fit for fit, agents in fits.items() if any(is_able(state, agent) for agent in agents)]
    return [agent.id for agent in fits[min(able_fits or fits)]]


def _can_be_asked(state: State, agent_id: str, asker: Agent | None) -> bool:
    return (asker is None or agent_id != asker.id) and is_able(state, state.agents[agent_id])


def able_queues_for(
    state: State, supervisor_id: str, spec: AgentSpec, name: str, *, excluded: Agent | None = None
) -> list[str]:
    """Return the capability queues that an agent of `spec` under a supervisor serves, once agent `excluded` is gone."""
    candidate = candidate_from(spec, "", name)
    keys: list[str] = []
    for key, queue in state.queues.items():
        if queues.is_for_named_members(key):
            agents = (state.agents[agent_id] for agent_id in queue.agents)
            has_namesake = any((agent.name, agent.supervisor_id) == (name, supervisor_id) for agent in agents)
            if has_namesake or queues.is_named_member(state, queue, supervisor_id, name):
                keys.append(key)
            continue
        if not _is_near(state, queue, supervisor_id):
            continue
        capability = queues.capability_of(key)
        if not suits(candidate, capability):
            continue
        others = (
            candidate_of(state, state.agents[agent_id])
            for agent_id in queue.agents
            if excluded is None or agent_id != excluded.id
        )
        # An agent that matches a capability only by its description is left out while another has it as a specialty.
        if names_capability(candidate, capability) or not any(names_capability(other, capability) for other in others):
            keys.append(key)
    return keys


def _is_near(state: State, queue: Queue, supervisor_id: str) -> bool:
    """Return whether a capability queue is of a supervisor itself, or shared by the teams at its level."""
    if not queue.key.startswith("able:"):
        return False
    _, depth = queues.split_owner(queue.key)
    ancestor_ids = [ancestor.id for ancestor in lineage_of(state, state.supervisors[supervisor_id])]
    return queue.supervisor_id in ancestor_ids and ancestor_ids.index(queue.supervisor_id) == (depth or 0)


def queue_takeovers(state: State, agent: Agent, served: Sequence[str]) -> list[Event]:
    """Return the events by which agents with a weaker match take over queues of `agent` that it serves no more."""
    supervisor = state.supervisors[agent.supervisor_id]
    prefix = queues.able_queue(supervisor.id, "")
    events: list[Event] = []
    for key in agent.queues:
        if not key.startswith(prefix) or key in served or state.queues[key].agents != [agent.id]:
            continue
        capability = key[len(prefix) :]
        able = able_agents(state, supervisor, capability, excluded=agent)
        if able:
            events.append(QueueMade(key=key, supervisor_id=supervisor.id, capability=capability, agent_ids=able))
    return events


def stand_ins(state: State, task: Task, *, include_unable: bool = False) -> Iterator[Agent]:
    """Yield the agents that can take over a task, best first.

    They have the capability of the task, or share a specialty with the agent that it was for; they are able, have not
    failed on the task, and have not delegated it. The nearest come first (`rings`), then those that are not paused,
    then those with the least work.

    Args:
        task: The task; its agent may be leaving.
        include_unable: If no agent is able, yield those that may become able.
    """
    is_none_able = True
    for agent in _possible_stand_ins(state, task):
        if is_able(state, agent):
            is_none_able = False
            yield agent
    if include_unable and is_none_able:
        yield from (agent for agent in _possible_stand_ins(state, task) if agent.removing is None)


def _possible_stand_ins(state: State, task: Task) -> Iterator[Agent]:
    can_do = _suitability_test(state, task)
    barred = {*task.failed_on, task.agent_id, task.worker_id, asker_of(state, task)}
    for ring in rings(state, home_of(state, task), holders=holders_of(state, task)):
        candidates = [
            agent
            for supervisor in ring.supervisors
            for agent in agents_in(state, supervisor)
            if agent.id not in barred and can_do(agent)
        ]
        yield from sorted(candidates, key=lambda agent: (agent.paused or agent.away, _load(state, agent)))


def holders_of(state: State, task: Task) -> frozenset[str]:
    """Return the supervisors whose teams hold a task, and those above them; empty while no supervisor is leaving."""
    if not any(member_id in state.supervisors for member_id in state.leaving):
        return frozenset()
    queue = state.queues.get(task.queue or "")
    agent_ids = {task.agent_id, *(queue.agents if queue is not None else ())}
    supervisor_ids = {
        task.supervisor_id,
        *(state.agents[agent_id].supervisor_id for agent_id in agent_ids if agent_id in state.agents),
    }
    return frozenset(
        supervisor.id
        for supervisor_id in supervisor_ids
        for supervisor in lineage_of(state, state.supervisors[supervisor_id])
    )


def asker_of(state: State, task: Task) -> str | None:
    """Return the id of the agent that delegated a task; None for a planned node."""
    asker = state.tasks.get(task.asker_id or "")
    return None if asker is None else asker.agent_id


def home_of(state: State, task: Task) -> Supervisor:
    """Return the supervisor at which the search for a task begins: that of its asker, or the one that planned it."""
    asker = state.agents.get(asker_of(state, task) or "")
    parent = state.tasks.get(task.parent_id or "")
    planner = None if parent is None else parent.worker_id
    home = state.supervisors.get(planner or "") if asker is None else state.supervisors[asker.supervisor_id]
    return home or state.supervisors[task.supervisor_id]


def _suitability_test(state: State, task: Task) -> Callable[[Agent], bool]:
    """Return a predicate for agents that can do a task: by its capability, or a specialty shared with its agent."""
    home = task.came_from or task.queue or ""
    queue_agent_ids: list[str] = []
    if home.startswith("able:"):
        queue, capability = state.queues.get(home), queues.capability_of(home)
        queue_agent_ids = list(queue.agents) if queue is not None else []
        if not queues.is_for_named_members(home) or any(
            state.agents[agent_id].removing is None for agent_id in queue_agent_ids
        ):
            ids = frozenset(queue_agent_ids)
            return lambda agent: agent.id in ids or fit_of(state, agent, capability) is not None
    earlier_agents = (
        state.agents.get(agent_id or "")
        for agent_id in (*task.failed_on, task.agent_id, task.worker_id, *queue_agent_ids)
    )
    first = next((agent for agent in earlier_agents if agent is not None), None)
    specialties = frozenset() if first is None else _specialties(state, first)
    return lambda agent: not specialties.isdisjoint(_specialties(state, agent))


def _specialties(state: State, agent: Agent) -> frozenset[str]:
    return frozenset(word.casefold() for word in state.spec_of(agent).specialties)


def _load(state: State, agent: Agent) -> int:
    queue = state.queues.get(f"agent:{agent.id}")
    return len(agent.running) + len(agent.parked) + (queue.ready if queue is not None else 0)
