"""Supervisors and agents: who stands where, who serves which queue, who may start something."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from engine.core.events import (
    AgentAdded,
    AgentBroke,
    AgentMended,
    AgentPaused,
    AgentRemoved,
    AgentRemoving,
    AgentResumed,
    AgentsRestarted,
    AgentSwapped,
    BudgetExhausted,
    BudgetExtended,
    CapabilitiesChanged,
    EngineStarted,
    Event,
    MemberMoved,
    MemberRenamed,
    MembersOrdered,
    PoolResized,
    QueueMade,
    SpecRegistered,
    SpecUnregistered,
    StrategySwitched,
    SupervisorAdded,
    SupervisorChanged,
    SupervisorFailed,
    SupervisorLeaving,
    SupervisorMended,
    SupervisorPaused,
    SupervisorRemoved,
    SupervisorResumed,
    SwapDrained,
    SwapRolledBack,
    ThreadReturned,
)
from engine.core.fact import changed
from engine.core.options import SupervisorOptions
from engine.core.spec import AgentSpec
from engine.core.state import State


@dataclass(slots=True)
class SupervisorEntry:
    """What events say of a supervisor."""

    id: str
    name: str
    parent_id: str | None
    mode: str
    options: SupervisorOptions
    max_parallel: int
    max_agents: int
    members: list[str] = field(default_factory=list)
    paused: bool = False
    error: str | None = None
    leaving: str | None = None
    exhausted: bool = False
    held: bool = False


@dataclass(slots=True)
class AgentEntry:
    """What events say of an agent."""

    id: str
    name: str
    supervisor_id: str
    spec: AgentSpec
    previous: AgentSpec | None = None
    generation: int = 1
    drained: int = 1
    size: int = 1
    paused: bool = False
    removing: Literal["drain", "requeue", "abort"] | None = None
    error: str | None = None
    away: bool = False
    stuck: int = 0
    exhausted: bool = False
    held: bool = False
    restarts: int = 0
    resized_ms: int | None = None
    """When it got another instance last."""

    @property
    def slots(self) -> int:
        """How many attempts it may run at once."""
        return self.size * self.spec.max_concurrency

    @property
    def works(self) -> bool:
        """True while nothing about the agent itself, its circuit aside, keeps it from beginning something."""
        return not (self.paused or self.away or self.error is not None or self.removing is not None or self.exhausted)


class TeamLedger:
    """Every supervisor and agent."""

    def __init__(self) -> None:
        self.supervisors: dict[str, SupervisorEntry] = {}
        self.agents: dict[str, AgentEntry] = {}
        self.served: dict[str, list[str]] = {}
        """Agents that take from each queue by capability."""
        self.registry: dict[str, AgentSpec] = {}
        self.token = 0
        """Of the last engine."""
        self.processes: int | None = None
        """That its computer bears."""

    def take(self, event: Event) -> None:
        """Note what an event means for who is in the team."""
        note = _NOTES.get(type(event))
        if note is not None:
            note(self, event)
        if getattr(event, "stuck", False):
            self.agents[event.agent_id].stuck += 1  # type: ignore[union-attr, index]

    def adopt(self, state: State) -> None:
        """Take whoever an import brought from the state that it was folded into."""
        for one in state.supervisors.values():
            if one.id not in self.supervisors:
                self.supervisors[one.id] = SupervisorEntry(
                    id=one.id, name=one.name, parent_id=one.parent_id, mode=one.mode, options=one.options,
                    max_parallel=one.max_parallel, max_agents=one.max_agents, members=[*one.members],
                    paused=one.paused, error=one.error, leaving=one.leaving, exhausted=one.exhausted is not None,
                    held=one.held,
                )  # fmt: skip
        for agent in state.agents.values():
            if agent.id not in self.agents:
                previous = state.specs.get(agent.previous or "")
                self.agents[agent.id] = AgentEntry(
                    id=agent.id, name=agent.name, supervisor_id=agent.supervisor_id, spec=state.spec_of(agent),
                    previous=previous, generation=agent.generation, drained=agent.drained, size=agent.size,
                    paused=agent.paused, removing=agent.removing, error=agent.error, away=agent.away, stuck=agent.stuck,
                    exhausted=agent.exhausted is not None, held=agent.held, restarts=agent.restarts,
                )  # fmt: skip
        for key, queue in state.queues.items():
            if key.startswith("able:") and key not in self.served:
                self.served[key] = [*queue.agents]
        self.registry = {name: state.specs[key] for name, key in state.registry.items()}

    # Questions

    def up(self, supervisor_id: str | None) -> Iterator[SupervisorEntry]:
        """Yield a supervisor and every one above it."""
        while supervisor_id is not None and supervisor_id in self.supervisors:
            yield self.supervisors[supervisor_id]
            supervisor_id = self.supervisors[supervisor_id].parent_id

    def inherited(self, supervisor_id: str, name: str, otherwise: Any) -> Any:
        """Return an option of the nearest supervisor that has it."""
        values = (getattr(one.options, name) for one in self.up(supervisor_id))
        return next((value for value in values if value not in (None, ())), otherwise)

    def below(self, supervisor_id: str) -> list[str]:
        """Return the ids of a supervisor and of every one below it."""
        return [one for one in self.supervisors if supervisor_id in {above.id for above in self.up(one)}]

    def under(self, supervisor_id: str) -> list[AgentEntry]:
        """Return the agents of a supervisor and of every one below it."""
        below = set(self.below(supervisor_id))
        return [agent for agent in self.agents.values() if agent.supervisor_id in below]

    def queues_of(self, agent_id: str) -> list[str]:
        """Return the queues that an agent takes tasks from."""
        return [f"agent:{agent_id}", *(key for key, agents in self.served.items() if agent_id in agents)]

    def home_of(self, queue: str | None) -> str:
        """Return the supervisor under which a queue stands."""
        owner = (queue or "::").split(":")[1].partition("+")[0]
        return self.agents[owner].supervisor_id if owner in self.agents else owner

    def _serve(self, agent_id: str, keys: list[str]) -> None:
        for key, agents in self.served.items():
            if agent_id in agents and key not in keys:
                agents.remove(agent_id)
        for key in keys:
            agents = self.served.setdefault(key, [])
            if agent_id not in agents:
                agents.append(agent_id)

    def _leave_shared_queues(self, supervisor_id: str) -> None:
        """Agents of a moved team serve no queue of a supervisor that they no longer stand below."""
        for agent in self.under(supervisor_id):
            above = {one.id for one in self.up(agent.supervisor_id)}
            self._serve(agent.id, [key for key in self.queues_of(agent.id)[1:] if self.home_of(key) in above])


# Supervisors


def _supervisor_added(team: TeamLedger, event: SupervisorAdded) -> None:
    team.supervisors[event.supervisor_id] = SupervisorEntry(
        id=event.supervisor_id, name=event.name, parent_id=event.parent_id, mode=event.mode, options=event.options,
        max_parallel=event.max_parallel, max_agents=event.max_agents,
    )  # fmt: skip
    if event.parent_id is not None:
        team.supervisors[event.parent_id].members.append(event.supervisor_id)


def _supervisor_removed(team: TeamLedger, event: SupervisorRemoved) -> None:
    gone = team.supervisors.pop(event.supervisor_id)
    if gone.parent_id is not None:
        team.supervisors[gone.parent_id].members.remove(gone.id)
    gone_keys = (f"able:{gone.id}:", f"able:{gone.id}+")
    team.served = {key: agents for key, agents in team.served.items() if not key.startswith(gone_keys)}


def _supervisor_changed(team: TeamLedger, event: SupervisorChanged) -> None:
    one = team.supervisors[event.supervisor_id]
    one.options, one.max_parallel, one.max_agents = event.options, event.max_parallel, event.max_agents


def _strategy_switched(team: TeamLedger, event: StrategySwitched) -> None:
    if event.scope != "run":
        one = team.supervisors[event.supervisor_id]
        one.mode = event.mode
        one.options = changed(one.options, settings=event.settings, lead=event.lead)


def _supervisor_paused(team: TeamLedger, event: SupervisorPaused | SupervisorResumed) -> None:
    team.supervisors[event.supervisor_id].paused = isinstance(event, SupervisorPaused)


def _supervisor_leaving(team: TeamLedger, event: SupervisorLeaving) -> None:
    team.supervisors[event.supervisor_id].leaving = event.mode


def _supervisor_failed(team: TeamLedger, event: SupervisorFailed) -> None:
    one = team.supervisors[event.supervisor_id]
    one.error = event.error if one.parent_id is None else one.error


def _supervisor_mended(team: TeamLedger, event: SupervisorMended) -> None:
    team.supervisors[event.supervisor_id].error = None


def _member_moved(team: TeamLedger, event: MemberMoved) -> None:
    if event.previous_id is not None:
        team.supervisors[event.previous_id].members.remove(event.member_id)
    team.supervisors[event.parent_id].members.append(event.member_id)
    if event.member_id in team.agents:
        team.agents[event.member_id].supervisor_id = event.parent_id
        team._serve(event.member_id, event.queues)
    else:
        team.supervisors[event.member_id].parent_id = event.parent_id
        team._leave_shared_queues(event.member_id)


def _members_ordered(team: TeamLedger, event: MembersOrdered) -> None:
    team.supervisors[event.supervisor_id].members = [*event.members]


def _member_renamed(team: TeamLedger, event: MemberRenamed) -> None:
    agent = team.agents.get(event.member_id)
    if agent is None:
        team.supervisors[event.member_id].name = event.name
        return
    agent.name = event.name
    if event.spec is not None:
        agent.spec = event.spec
        team.registry[event.spec.name] = event.spec
    team._serve(agent.id, event.queues)


# Agents


def _agent_added(team: TeamLedger, event: AgentAdded) -> None:
    agent = AgentEntry(id=event.agent_id, name=event.name, supervisor_id=event.supervisor_id, spec=event.spec)
    team.agents[agent.id] = agent
    agent.size = _instances(event.spec, 1)
    team.supervisors[agent.supervisor_id].members.append(agent.id)
    team.registry[event.spec.name] = event.spec
    team._serve(agent.id, event.queues)


def _instances(spec: AgentSpec, now: int) -> int:
    return 1 if spec.pool is None else sorted((spec.pool.min, now, spec.pool.max))[1]


def _agent_removed(team: TeamLedger, event: AgentRemoved) -> None:
    gone = team.agents.pop(event.agent_id)
    team.supervisors[gone.supervisor_id].members.remove(gone.id)
    team._serve(gone.id, [])


def _agent_removing(team: TeamLedger, event: AgentRemoving) -> None:
    team.agents[event.agent_id].removing = event.mode


def _agent_swapped(team: TeamLedger, event: AgentSwapped | SwapRolledBack) -> None:
    agent = team.agents[event.agent_id]
    agent.previous, agent.spec, agent.generation = agent.spec, event.spec, event.generation
    agent.error, agent.away = None, False
    agent.size = _instances(event.spec, agent.size)
    team.registry[event.spec.name] = event.spec
    team._serve(agent.id, event.queues)


def _swap_drained(team: TeamLedger, event: SwapDrained) -> None:
    team.agents[event.agent_id].drained = event.generation


def _capabilities_changed(team: TeamLedger, event: CapabilitiesChanged) -> None:
    team.agents[event.agent_id].spec = event.spec
    team._serve(event.agent_id, event.queues)


def _agent_paused(team: TeamLedger, event: AgentPaused | AgentResumed) -> None:
    team.agents[event.agent_id].paused = isinstance(event, AgentPaused)


def _agent_broke(team: TeamLedger, event: AgentBroke) -> None:
    agent = team.agents[event.agent_id]
    if event.away:
        agent.away = True
    else:
        agent.error = event.error


def _agent_mended(team: TeamLedger, event: AgentMended) -> None:
    agent = team.agents[event.agent_id]
    agent.error, agent.away = None, False


def _pool_resized(team: TeamLedger, event: PoolResized) -> None:
    agent = team.agents[event.agent_id]
    if event.size > agent.size:
        agent.resized_ms = event.at_ms
    agent.size = event.size


def _thread_returned(team: TeamLedger, event: ThreadReturned) -> None:
    team.agents[event.agent_id].stuck -= 1


def _restarted(team: TeamLedger, event: AgentsRestarted) -> None:
    for agent_id in event.agent_ids:
        team.agents[agent_id].restarts += 1


def _engine_started(team: TeamLedger, event: EngineStarted) -> None:
    team.token, team.processes = event.token, event.processes
    for agent in team.agents.values():
        agent.stuck = 0
        agent.away = agent.away if event.away is None else agent.id in event.away


def _queue_made(team: TeamLedger, event: QueueMade) -> None:
    agents = team.served.setdefault(event.key, [])
    agents += [one for one in event.agent_ids if one not in agents]


def _exhausted(team: TeamLedger, event: BudgetExhausted) -> None:
    one = team.agents.get(event.subject) or team.supervisors.get(event.subject)
    if one is not None:
        one.exhausted, one.held = True, event.then == "ask"


def _extended(team: TeamLedger, event: BudgetExtended) -> None:
    one = team.agents.get(event.subject) or team.supervisors.get(event.subject)
    if one is not None:
        one.exhausted = one.held = False


def _registered(team: TeamLedger, event: SpecRegistered) -> None:
    team.registry[event.spec.name] = event.spec


def _unregistered(team: TeamLedger, event: SpecUnregistered) -> None:
    team.registry.pop(event.name, None)


_NOTES: dict[type, Callable[[TeamLedger, Any], None]] = {
    SupervisorAdded: _supervisor_added,
    SupervisorRemoved: _supervisor_removed,
    SupervisorChanged: _supervisor_changed,
    SupervisorPaused: _supervisor_paused,
    SupervisorResumed: _supervisor_paused,
    SupervisorLeaving: _supervisor_leaving,
    SupervisorFailed: _supervisor_failed,
    SupervisorMended: _supervisor_mended,
    StrategySwitched: _strategy_switched,
    MemberMoved: _member_moved,
    MemberRenamed: _member_renamed,
    MembersOrdered: _members_ordered,
    AgentAdded: _agent_added,
    AgentRemoved: _agent_removed,
    AgentRemoving: _agent_removing,
    AgentSwapped: _agent_swapped,
    SwapRolledBack: _agent_swapped,
    SwapDrained: _swap_drained,
    CapabilitiesChanged: _capabilities_changed,
    AgentPaused: _agent_paused,
    AgentResumed: _agent_paused,
    AgentBroke: _agent_broke,
    AgentMended: _agent_mended,
    PoolResized: _pool_resized,
    ThreadReturned: _thread_returned,
    AgentsRestarted: _restarted,
    EngineStarted: _engine_started,
    QueueMade: _queue_made,
    BudgetExhausted: _exhausted,
    BudgetExtended: _extended,
    SpecRegistered: _registered,
    SpecUnregistered: _unregistered,
}
